import { type Contestant, CONTESTANTS, type Start } from "./mod.ts";
import type { Target } from "./start.ts";

/** The contestants of this machine; each is prepared once, on first use. */
export class Field {
  readonly #folder: string;
  readonly #contestants: Readonly<Record<string, Contestant>>;
  readonly #starts = new Map<string, Start>();
  /** Reasons why contestants could not be measured, by name. */
  readonly absent: Map<string, string> = new Map();

  /** @param folder a folder for temporary files */
  constructor(folder: string, contestants = CONTESTANTS) {
    this.#folder = folder;
    this.#contestants = contestants;
  }

  /**
   * Starts a contestant.
   *
   * @returns `undefined` when this machine cannot run it; `absent` has the reason
   */
  async start(name: string): Promise<(Target & AsyncDisposable) | undefined> {
    const start = this.#starts.get(name) ?? await this.#prepare(name);
    return await start?.();
  }

  async #prepare(name: string): Promise<Start | undefined> {
    if (this.absent.has(name)) return undefined;
    try {
      const contestant = this.#contestants[name];
      if (contestant === undefined) {
        const names = Object.keys(this.#contestants).join(", ");
        throw new RangeError(`Unknown server, expected one of ${names}`);
      }
      const start = await contestant.prepare(this.#folder);
      // A first run that does not count, for compilations and downloads.
      await using _server = await start();
      this.#starts.set(name, start);
      return start;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      console.error(`${name} cannot be measured: ${reason}`);
      this.absent.set(name, reason.split("\n")[0] ?? "");
      return undefined;
    }
  }
}
