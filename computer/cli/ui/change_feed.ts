import { EventEmitter, once } from "node:events";
import { onAbort, sleep, withDeadline } from "../../../shared/async.ts";
import {
  COMMENT_INTERVAL_MS,
  SSE_COMMENT,
  sseBytes,
} from "../../../shared/page_api.ts";

/** How long changes are collected before they are sent together. */
const FLUSH_INTERVAL_MS = 100;
/** The most streams at once. */
const MAX_STREAMS = 16;

/**
 * Streams changes to pages, from the whole state at first. A page that reads slowly gets the later state
 * at once, so that nothing is kept for it.
 */
export class ChangeFeed {
  readonly #since: (version: number) => unknown;
  readonly #changes: Changes;
  readonly #closed = new AbortController();
  #streams = 0;

  /** @param since returns what changed since a change, given by its number */
  constructor(since: (version: number) => unknown, changes: Changes) {
    this.#since = since;
    this.#changes = changes;
  }

  /** Whether no more streams can be opened. */
  get isFull(): boolean {
    return this.#closed.signal.aborted || this.#streams >= MAX_STREAMS;
  }

  /** Opens a stream. */
  open(): ReadableStream<Uint8Array> {
    const closed = this.#closed.signal;
    const cancelled = new AbortController();
    const signal = AbortSignal.any([cancelled.signal, closed]);
    this.#streams++;
    onAbort(signal, () => this.#streams--);
    let seen = 0;
    return new ReadableStream({
      pull: async (controller) => {
        // Fails at the time for a comment, and at the end.
        if (seen > 0) await this.#changed(seen, signal).catch(() => {});
        if (closed.aborted) controller.close();
        if (signal.aborted) return;
        const before = seen;
        seen = this.#changes.last;
        controller.enqueue(
          seen === before
            ? SSE_COMMENT
            : sseBytes(`${seen}`, "news", this.#since(before)),
        );
      },
      cancel: () => cancelled.abort(),
    });
  }

  /** Ends all streams. */
  close(): void {
    this.#closed.abort();
  }

  /** Resolves when there are changes after `seen`, and more have had time to come. */
  async #changed(seen: number, signal: AbortSignal): Promise<void> {
    if (seen === this.#changes.last) {
      await withDeadline(
        COMMENT_INTERVAL_MS,
        (signal) => once(this.#changes, "change", { signal }),
        { signal },
      );
    }
    await sleep(FLUSH_INTERVAL_MS, signal);
  }
}

/**
 * Numbers the changes of a page's content, so that each reader gets those that are new to it; emits
 * `change` at each.
 */
export class Changes extends EventEmitter {
  /** The number of the last change. */
  last = 0;

  constructor() {
    super();
    this.setMaxListeners(MAX_STREAMS);
  }

  /** Counts a change. */
  next(): number {
    this.last++;
    this.emit("change");
    return this.last;
  }
}
