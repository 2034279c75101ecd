import { Buffer } from "node:buffer";
import { sseText } from "../../../shared/http/sse_text.ts";
import { cursorText } from "./sse.ts";

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
export interface PagesSize {
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
