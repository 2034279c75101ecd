import { randomBytes } from "node:crypto";
import type { FeedEvent } from "./event_pages.ts";
import type { Recorder } from "./recorder.ts";
import { cursorText, readCursor } from "./sse.ts";

/** What is kept for nodes that ask again. */
const MAX_KEPT = { events: 32_768, chars: 8 * 2 ** 20 };
/** The most that one answer has, in characters; small messages pass between its pieces. */
const MAX_ANSWER_CHARS = 2 ** 20;
/** How long an answer waits for an event. */
const WAIT_MS = 10_000;
/** How long events are recorded after the last question. */
const RECORD_MS = 30_000;

/** Events as another node gets them. */
export interface TakenEvents {
  /** Where it goes on. */
  readonly cursor: string;
  /** Whether there were events that it can get no more. */
  readonly missed: boolean;
  /** The events, oldest first. */
  readonly events: {
    readonly office?: string;
    readonly kind: string;
    readonly json: string;
  }[];
}

type Timer = ReturnType<typeof setTimeout>;

/** The events of this node, for the streams of other nodes: each asks for those after what it has. */
export class EventTap {
  readonly #recorder: Recorder;
  #recording = "";
  /** The number of the first event that is kept. */
  #first = 1;
  #events: FeedEvent[] = [];
  #chars = 0;
  #unrecord: (() => void) | undefined;
  #stopTimer: Timer | undefined;
  #isClosed = false;
  readonly #waiting = new Set<() => void>();

  constructor(recorder: Recorder) {
    this.#recorder = recorder;
  }

  /**
   * Returns the events after a cursor; waits a while for the next.
   *
   * @param asked where it goes on; from now on without
   * @returns `undefined` when nothing is recorded any more
   */
  async take(
    asked: string | undefined,
  ): Promise<TakenEvents | undefined> {
    if (this.#isClosed) return undefined;
    this.#record();
    const cursor = readCursor(asked);
    const next = () => this.#first + this.#events.length;
    const isKnown = cursor?.recording === this.#recording &&
      cursor.seq + 1 >= this.#first && cursor.seq < next();
    const seq = isKnown ? cursor.seq + 1 : next();
    // The first answer comes at once: what it says is where to go on.
    if (isKnown && seq === next()) await this.#wait();
    const from = Math.max(seq, this.#first);
    const events: FeedEvent[] = [];
    let chars = 0;
    for (const event of this.#events.slice(from - this.#first)) {
      if (events.length > 0 && chars >= MAX_ANSWER_CHARS) break;
      events.push(event);
      chars += event.json.length;
    }
    return {
      cursor: cursorText({
        recording: this.#recording,
        seq: from + events.length - 1,
      }),
      missed: (asked !== undefined && !isKnown) || from > seq,
      events: events.map(({ office, kind, json }) => ({
        ...(office !== undefined && { office }),
        kind,
        json,
      })),
    };
  }

  /** Records no more, and answers those who wait. */
  close(): void {
    this.#isClosed = true;
    this.#stop();
  }

  #record(): void {
    clearTimeout(this.#stopTimer);
    this.#stopTimer = setTimeout(() => this.#stop(), RECORD_MS);
    if (typeof this.#stopTimer === "object") this.#stopTimer.unref();
    if (this.#unrecord !== undefined) return;
    this.#recording = randomBytes(9).toString("base64url");
    this.#unrecord = this.#recorder.record({
      add: (events) => this.#add(events),
      flush: () => this.#wake(),
    });
  }

  #add(events: readonly FeedEvent[]): void {
    for (const event of events) {
      this.#events.push(event);
      this.#chars += event.json.length;
    }
    let dropped = 0;
    while (
      this.#events.length - dropped > MAX_KEPT.events ||
      (this.#chars > MAX_KEPT.chars && this.#events.length - dropped > 1)
    ) {
      this.#chars -= this.#events[dropped]?.json.length ?? 0;
      dropped++;
    }
    if (dropped === 0) return;
    this.#events = this.#events.slice(dropped);
    this.#first += dropped;
  }

  async #wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, WAIT_MS);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
  }

  #stop(): void {
    clearTimeout(this.#stopTimer);
    this.#unrecord?.();
    this.#unrecord = undefined;
    this.#recording = "";
    this.#first += this.#events.length;
    this.#events = [];
    this.#chars = 0;
    this.#wake();
  }
}
