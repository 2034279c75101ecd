import { SSE_COMMENT, sseText } from "../../../shared/http.ts";

/** How long changes are collected before they are sent together. */
const FLUSH_INTERVAL_MS = 100;
/** How often a stream says something, so that an end of the connection is noticed. */
const COMMENT_INTERVAL_MS = 15_000;
/** The most streams at once. */
const MAX_STREAMS = 16;

const encoder = new TextEncoder();

/** What is streamed. */
interface NewsSource {
  /** Returns what changed since. */
  since(version: number): unknown;
}

/** A page that reads. */
interface Reader {
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  /** The last change that was sent. */
  seen: number;
}

/**
 * Streams what changes to pages, from all there is at first. A page that reads slowly gets the later
 * state at once, so that nothing is kept for it.
 */
export class NewsFeed {
  readonly #state: NewsSource;
  readonly #changes: Changes;
  readonly #readers = new Set<Reader>();
  readonly #stopListening: () => void;
  #flushTimer: ReturnType<typeof setTimeout> | undefined;
  #commentTimer: ReturnType<typeof setInterval> | undefined;
  #isClosed = false;

  constructor(state: NewsSource, changes: Changes) {
    this.#state = state;
    this.#changes = changes;
    this.#stopListening = changes.listen(() => {
      if (this.#readers.size === 0) return;
      this.#flushTimer ??= setTimeout(() => {
        this.#flushTimer = undefined;
        for (const reader of this.#readers) this.#flush(reader);
      }, FLUSH_INTERVAL_MS);
    });
  }

  /** Whether no more streams can be opened. */
  get isFull(): boolean {
    return this.#isClosed || this.#readers.size >= MAX_STREAMS;
  }

  /** Opens a stream. */
  open(): ReadableStream<Uint8Array> {
    let reader: Reader;
    return new ReadableStream({
      start: (controller) => {
        reader = { controller, seen: 0 };
        this.#readers.add(reader);
        this.#commentTimer ??= setInterval(
          () => this.#comment(),
          COMMENT_INTERVAL_MS,
        );
      },
      pull: () => this.#flush(reader),
      cancel: () => this.#leave(reader),
    });
  }

  /** Ends all streams. */
  close(): void {
    this.#isClosed = true;
    this.#stopListening();
    clearTimeout(this.#flushTimer);
    for (const reader of [...this.#readers]) {
      this.#leave(reader);
      reader.controller.close();
    }
  }

  #leave(reader: Reader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    clearInterval(this.#commentTimer);
    this.#commentTimer = undefined;
  }

  #flush(reader: Reader): void {
    const { controller, seen } = reader;
    const { last } = this.#changes;
    if (seen === last || (controller.desiredSize ?? 0) <= 0) return;
    reader.seen = last;
    const json = JSON.stringify(this.#state.since(seen));
    controller.enqueue(encoder.encode(sseText(`${last}`, "news", json)));
  }

  #comment(): void {
    for (const { controller } of this.#readers) {
      if ((controller.desiredSize ?? 0) <= 0) continue;
      controller.enqueue(encoder.encode(SSE_COMMENT));
    }
  }
}

/** Numbers the changes of what a page shows, so that each reader gets what is new to it. */
export class Changes {
  readonly #listeners = new Set<() => void>();
  #last = 0;

  /** The number of the last change. */
  get last(): number {
    return this.#last;
  }

  /** Counts a change, and tells the listeners. */
  next(): number {
    const version = ++this.#last;
    for (const listener of this.#listeners) listener();
    return version;
  }

  /** Adds a listener; returns the function that removes it. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
