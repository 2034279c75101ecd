import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from "@modelcontextprotocol/sdk/shared/auth";
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isRecord } from "../../util/values.ts";

/** What is kept of the authorization for one MCP server. */
export interface SavedAuthorization {
  /** How the Computer is registered. */
  readonly client?: OAuthClientInformationMixed | undefined;
  /** What it may use. */
  readonly tokens?: OAuthTokens | undefined;
}

/**
 * The authorization for one MCP server, in a file that nobody but its owner can read.
 *
 * Several Computers of one person may share the directory: what another has written is seen with
 * the next `load`.
 */
export class TokenStore {
  readonly #directory: string;
  readonly #file: string;
  #saved: SavedAuthorization | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @param directory created with the first authorization, for its owner alone */
  constructor(directory: string, serverUrl: string) {
    const name = createHash("sha256").update(serverUrl).digest("hex");
    this.#directory = directory;
    this.#file = join(directory, `${name.slice(0, 32)}.json`);
  }

  /** What was loaded or saved last; read from the file the first time. */
  async current(): Promise<SavedAuthorization> {
    return this.#saved ?? await this.load();
  }

  /** Reads the file; one that is not there, or cannot be read, is no authorization. */
  load(): Promise<SavedAuthorization> {
    return this.#inTurn(() => this.#read());
  }

  /** Changes what is kept; the file is whole at every moment. */
  save(change: SavedAuthorization): Promise<void> {
    return this.#inTurn(async () => {
      const saved = { ...this.#saved ?? await this.#read(), ...change };
      this.#saved = saved;
      await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      const draft = `${this.#file}.${randomUUID()}`;
      await writeFile(draft, JSON.stringify(saved), {
        mode: 0o600,
        flag: "wx",
      });
      await rename(draft, this.#file);
    });
  }

  async #read(): Promise<SavedAuthorization> {
    const data = await readFile(this.#file, "utf8").then(JSON.parse)
      .catch(() => undefined);
    return this.#saved = isRecord(data) ? data : {};
  }

  /** What is read while something is written would be the old state. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** Every secret that is known by now. */
  get secrets(): string[] {
    const { client, tokens } = this.#saved ?? {};
    return [client?.client_secret, tokens?.access_token, tokens?.refresh_token]
      .filter((secret) => typeof secret === "string");
  }
}
