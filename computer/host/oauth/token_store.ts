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

/** The stored authorization for one MCP server. */
interface SavedAuthorization {
  /** The registration of the Computer. */
  readonly client?: OAuthClientInformationMixed | undefined;
  /** The tokens. */
  readonly tokens?: OAuthTokens | undefined;
}

/**
 * Stores the authorization for one MCP server in a file that only its owner can read.
 *
 * Several Computers of one user may share the directory: `load` also sees what another has written.
 */
export class TokenStore {
  readonly #directory: string;
  readonly #file: string;
  #saved: SavedAuthorization | undefined;
  /** Runs work in order, so that a read during a write is not stale. */
  readonly #inTurn = queue();

  /** @param directory created with the first authorization, for its owner only */
  constructor(directory: string, serverUrl: string) {
    const name = createHash("sha256").update(serverUrl).digest("hex");
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

  /** Changes the stored authorization atomically. */
  save(change: SavedAuthorization): Promise<void> {
    return this.#inTurn(async () => {
      const saved = { ...this.#saved ?? await this.#read(), ...change };
      this.#saved = saved;
      await fs.mkdir(this.#directory, { recursive: true, mode: 0o700 });
      await replaceFile(fs, this.#file, JSON.stringify(saved), 0o600);
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
