import { EventEmitter, once } from "node:events";
import { onAbort, sleep, withDeadline } from "../../../shared/async.ts";
import { SSE_COMMENT, sseText } from "../../../shared/http.ts";

/** How long changes are collected before they are sent together. */
const FLUSH_INTERVAL_MS = 100;
/** How often a stream says something, so that an end of the connection is noticed. */
const COMMENT_INTERVAL_MS = 15_000;
/** The most streams at once. */
const MAX_STREAMS = 16;

const encoder = new TextEncoder();

/**
 * Streams what changes to pages, from all there is at first. A page that reads slowly gets the later
 * state at once, so that nothing is kept for it.
 *
 * @param since returns what changed since a change, given by its number
 */
export function newsFeed(
  since: (version: number) => unknown,
  changes: Changes,
) {
  const closed = new AbortController();
  let streams = 0;
  return {
    /** Returns whether no more streams can be opened. */
    isFull: () => closed.signal.aborted || streams >= MAX_STREAMS,

    /** Opens a stream. */
    open(): ReadableStream<Uint8Array> {
      const cancelled = new AbortController();
      const signal = AbortSignal.any([cancelled.signal, closed.signal]);
      streams++;
      onAbort(signal, () => streams--);
      let seen = 0;
      const changed = async () => {
        if (seen === changes.last) {
          await withDeadline(
            COMMENT_INTERVAL_MS,
            (signal) => once(changes, "change", { signal }),
            { signal },
          );
        }
        await sleep(FLUSH_INTERVAL_MS, signal);
      };
      return new ReadableStream({
        pull: async (controller) => {
          if (seen > 0) await changed().catch(() => {}); // time for a comment, or the end
          if (closed.signal.aborted) controller.close();
          if (signal.aborted) return;
          const before = seen;
          seen = changes.last;
          const text = seen === before
            ? SSE_COMMENT
            : sseText(`${seen}`, "news", JSON.stringify(since(before)));
          controller.enqueue(encoder.encode(text));
        },
        cancel: () => cancelled.abort(),
      });
    },

    /** Ends all streams. */
    close: () => closed.abort(),
  };
}

/**
 * Numbers the changes of what a page shows, so that each reader gets what is new to it; emits `change`
 * at each.
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
