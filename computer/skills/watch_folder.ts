import { existsSync, type FSWatcher, watch } from "node:fs";
import { dirname } from "node:path";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";

/** How far up a folder is looked for that exists, where the watched one does not yet. */
const MAX_LEVELS_UP = 3;

/**
 * Watches a folder and all below it, also one that is made later.
 *
 * @param changed called at each change of it, often several times
 */
export class FolderWatch implements Disposable {
  readonly #folder: string;
  readonly #changed: () => void;
  #watcher: FSWatcher | undefined;
  #watched: string | undefined;
  #closed = false;

  /** Begins to watch. */
  constructor(folder: string, changed: () => void) {
    this.#folder = folder;
    this.#changed = changed;
    this.#watch();
  }

  /** Stops watching. */
  [Symbol.dispose](): void {
    this.#closed = true;
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #watch(): void {
    try {
      const folder = this.#closed ? undefined : this.#nearest();
      if (folder === undefined || folder === this.#watched) return;
      this.#watcher?.close();
      this.#watcher = undefined;
      this.#watched = folder;
      const watcher = watch(folder, { recursive: folder === this.#folder });
      watcher.on("change", () => this.#seen());
      watcher.on("error", (error) => this.#cannot(error));
      this.#watcher = watcher;
    } catch (error) {
      this.#cannot(error);
    }
  }

  #seen(): void {
    const before = this.#watched;
    this.#watch();
    if (this.#watched === this.#folder || before === this.#folder) {
      this.#changed();
    }
  }

  /**
   * Finds the folder itself, or one above it that exists.
   *
   * @throws where the runtime forbids a look at one of them
   */
  #nearest(): string | undefined {
    let folder = this.#folder;
    for (let level = 0; level <= MAX_LEVELS_UP; level++) {
      if (existsSync(folder)) return folder;
      folder = dirname(folder);
    }
    return undefined;
  }

  #cannot(error: unknown): void {
    if (this.#closed) return;
    log.warn("Cannot watch {folder} for changes of skills: {reason}", {
      folder: this.#watched ?? this.#folder,
      reason: reasonOf(error),
    });
  }
}
