/**
 * The authorizations of a Computer in files, which several Computers of one user may share.
 *
 * A registration and its tokens belong together and are written together. Whoever renews tokens
 * holds the lock of the file meanwhile: a refresh token may be valid once, and an authorization
 * server may take its second use for theft. What was refused is removed by comparison, so that
 * newer tokens stay even if the lock failed.
 *
 * @module
 */
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth";
import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import { join } from "node:path";
import { isRecord } from "../../../protocol/names.ts";
import { queue } from "../../../shared/async.ts";
import { replaceFile } from "../../../shared/bytes.ts";
import { withFileLock } from "../../../shared/file_lock.ts";

/** The stored authorization for one MCP server. */
export interface SavedAuthorization {
  /** The client that the tokens were issued to. */
  readonly client?: OAuthClientInformationMixed | undefined;
  /** The tokens; `scope` has what they are good for. */
  readonly tokens?: OAuthTokens | undefined;
}

/** The part that an authorization server no longer accepts. */
export type Refused = "tokens" | "client";

/**
 * Returns what stays of a file after the authorization server refused what was sent.
 *
 * @param saved what the file has now
 * @param sent what was sent
 * @returns `saved` itself if it has other tokens or another client by now
 */
export function afterRefusal(
  saved: SavedAuthorization,
  sent: SavedAuthorization,
  refused: Refused,
): SavedAuthorization {
  const isOther = saved.client?.client_id !== sent.client?.client_id ||
    saved.tokens?.refresh_token !== sent.tokens?.refresh_token;
  if (isOther) return saved;
  return refused === "client" || !saved.client ? {} : { client: saved.client };
}

/** Writes what the file has next. */
type Write = (next: SavedAuthorization) => Promise<void>;

/** Stores the authorization for one MCP server in a file that only its owner can read. */
export class TokenStore {
  readonly #directory: string;
  readonly #file: string;
  #saved: SavedAuthorization | undefined;
  /** Runs work in order, so that a read during a write is not stale. */
  readonly #inTurn = queue();

  /**
   * @param directory created with the first authorization, for its owner only
   * @param clientId of the configuration; each has its own tokens
   */
  constructor(directory: string, serverUrl: string, clientId?: string | null) {
    const key = clientId ? `${serverUrl}\n${clientId}` : serverUrl;
    const name = createHash("sha256").update(key).digest("hex");
    this.#directory = directory;
    this.#file = join(directory, `${name.slice(0, 32)}.json`);
  }

  /** Returns what was loaded or saved last; reads the file the first time. */
  async current(): Promise<SavedAuthorization> {
    return this.#saved ?? await this.load();
  }

  /** Reads the file; a missing or unreadable file means no authorization. */
  load(): Promise<SavedAuthorization> {
    return this.#inTurn(() => this.#read());
  }

  /**
   * Runs work that changes the file while nothing else does, in this process or another one.
   *
   * @param work gets what is stored, and what replaces it; without anything left the file is removed
   * @param signal stops waiting
   */
  async change<T>(
    work: (saved: SavedAuthorization, write: Write) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    await fs.mkdir(this.#directory, { recursive: true, mode: 0o700 });
    return await withFileLock(
      `${this.#file}.lock`,
      async () => await work(await this.load(), (next) => this.#write(next)),
      signal,
    );
  }

  #write(next: SavedAuthorization): Promise<void> {
    return this.#inTurn(async () => {
      this.#saved = next;
      if (next.client || next.tokens) {
        await replaceFile(fs, this.#file, JSON.stringify(next), 0o600);
      } else await fs.rm(this.#file, { force: true });
    });
  }

  async #read(): Promise<SavedAuthorization> {
    const data = await fs.readFile(this.#file, "utf8").then(JSON.parse)
      .catch(() => undefined);
    return this.#saved = isRecord(data) ? data : {};
  }

  /** The secrets known so far. */
  get secrets(): string[] {
    const { client, tokens } = this.#saved ?? {};
    return [client?.client_secret, tokens?.access_token, tokens?.refresh_token]
      .filter((secret) => typeof secret === "string");
  }
}
