import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { sseText } from "../../../shared/http/sse_text.ts";
import type { Recorder } from "./recorder.ts";

/** An event, as it is sent to all who may see it. */
export interface FeedEvent {
  /** The office that it is about, if it is about one. */
  readonly office: string | undefined;
  /** The name of its kind. */
  readonly kind: string;
  /** Its fields as JSON. */
  readonly json: string;
}

/** The most that is kept. */
interface PagesSize {
  /** Number of events. */
  readonly events: number;
  /** Bytes of all of them. */
  readonly bytes: number;
}

/** Events that are sent together. */
export interface Piece {
  /** Those of them that may be seen. */
  readonly bytes: Uint8Array;
  /** The same, packed, once a stream wants that. */
  packed?: Uint8Array;
  /** The number of the event that follows. */
  readonly next: number;
}

/** Events that were added together: their bytes, and where each of them ends. */
interface Page {
  readonly first: number;
  readonly next: number;
  readonly offices: readonly (string | undefined)[];
  readonly ends: readonly number[];
  readonly bytes: Buffer;
  /** All of it, whose packed bytes are made once. */
  whole?: Piece;
}

/**
 * The latest events, numbered, as the bytes that are sent: they are made once for all who may see
 * them, and are no work for the garbage collector. The oldest are forgotten page by page.
 */
export class EventPages {
  readonly #size: PagesSize;
  readonly #recording: string;
  #pages: Page[] = [];
  #next = 1;
  #bytes = 0;

  /**
   * Keeps as much as `size` says, and the newest page in any case.
   *
   * @param recording names it in the ids of events
   */
  constructor(size: PagesSize, recording: string) {
    this.#size = size;
    this.#recording = recording;
  }

  /** The number of the oldest event that is kept. */
  get first(): number {
    return this.#pages[0]?.first ?? this.#next;
  }

  /** The number that the next event will have. */
  get next(): number {
    return this.#next;
  }

  /** Adds events, at least one. */
  add(events: readonly FeedEvent[]): void {
    const recording = this.#recording;
    const first = this.#next;
    const texts = events.map(({ kind, json }, index) =>
      sseText(cursorText({ recording, seq: first + index }), kind, json)
    );
    const bytes = Buffer.from(texts.join(""));
    this.#next += events.length;
    this.#pages.push({
      first,
      next: this.#next,
      offices: events.map(({ office }) => office),
      ends: endsOf(texts, bytes.length),
      bytes,
    });
    this.#bytes += bytes.length;
    this.#forget();
  }

  /**
   * Returns a piece of the events from a number on, which must be kept.
   *
   * @param sees tells whether events about an office may be seen
   */
  read(seq: number, sees: (office: string | undefined) => boolean): Piece {
    const page = this.#pageOf(seq);
    if (page === undefined) return { bytes: NOTHING, next: this.#next };
    const { first, next, offices, ends, bytes } = page;
    const parts: Uint8Array[] = [];
    const startOf = (index: number) => index === 0 ? 0 : ends[index - 1];
    // Neighbours that may be seen are one part; mostly that is all.
    let from: number | undefined;
    for (let index = seq - first; index <= offices.length; index++) {
      const isSeen = index < offices.length && sees(offices[index]);
      if (isSeen) from ??= startOf(index);
      else if (from !== undefined) {
        parts.push(bytes.subarray(from, startOf(index)));
        from = undefined;
      }
    }
    const [only = NOTHING, ...others] = parts;
    if (only.length === bytes.length) return page.whole ??= { bytes, next };
    return { bytes: others.length === 0 ? only : Buffer.concat(parts), next };
  }

  #pageOf(seq: number): Page | undefined {
    let low = 0;
    let high = this.#pages.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const page = this.#pages[middle];
      if (page === undefined) return undefined;
      if (seq < page.first) high = middle - 1;
      else if (seq >= page.next) low = middle + 1;
      else return page;
    }
    return undefined;
  }

  #forget(): void {
    const { events, bytes } = this.#size;
    let count = 0;
    for (const page of this.#pages.slice(0, -1)) {
      if (this.#next - page.first <= events && this.#bytes <= bytes) break;
      this.#bytes -= page.bytes.length;
      count++;
    }
    if (count > 0) this.#pages = this.#pages.slice(count);
  }
}

const NOTHING = Buffer.alloc(0);

/** Returns where each text ends in the bytes of all of them. */
function endsOf(texts: readonly string[], length: number): number[] {
  let characters = 0;
  const ends = texts.map((text) => characters += text.length);
  if (characters === length) return ends; // each character is a byte
  let end = 0;
  return texts.map((text) => end += Buffer.byteLength(text));
}

/** What is kept for nodes that ask again. */
const MAX_KEPT = { events: 32_768, chars: 8 * 2 ** 20 };
/** The most that one answer has, in characters; small messages pass between its pieces. */
const MAX_ANSWER_CHARS = 2 ** 20;
/** How long an answer waits for an event. */
const WAIT_MS = 10_000;
/** How long events are recorded after the last question. */
const RECORD_MS = 30_000;

/** Events as another node gets them. */
interface TakenEvents {
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

/** Where a stream of events goes on: which recording, and the number of the next event. */
interface Cursor {
  /** Names a recording; numbers begin again in another one. */
  readonly recording: string;
  /** The number of the last event that was seen. */
  readonly seq: number;
}

/** Reads the value of `Last-Event-ID`; `undefined` for what this server did not write. */
export function readCursor(text: string | undefined): Cursor | undefined {
  const [, recording, seq] = /^([\w-]{1,64})\.(\d{1,15})$/.exec(text ?? "") ??
    [];
  return recording === undefined ? undefined : { recording, seq: Number(seq) };
}

/** Writes a cursor as the `id` of an event. */
export const cursorText = ({ recording, seq }: Cursor): string =>
  `${recording}.${seq}`;
