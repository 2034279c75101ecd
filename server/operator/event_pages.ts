/**
 * Events of this node, from the journal to the bytes of streams: the recorder formats them in batches,
 * pages keep the latest of them, recordings last as long as there are readers, and the tap gives them to
 * other nodes.
 *
 * @module
 */
import type { Journal, SeenEvent } from "../shared/audit.ts";
import { listenToLog, type LogLine, plain, TimeText } from "../shared/log.ts";
import { TokenBucket } from "../../shared/async.ts";
import { joined } from "../../shared/bytes.ts";
import { sseText } from "../../shared/page_api.ts";

/** An event, as it is sent to all that may see it. */
export interface FeedEvent {
  /** The office that it is about, if it is about one. */
  readonly office?: string | undefined;
  /** The name of its kind. */
  readonly kind: string;
  /** Its fields as JSON. */
  readonly json: string;
}

/** Events that are sent together. */
export interface Piece {
  /** Those of them that may be seen. */
  readonly bytes: Uint8Array;
  /** The same, compressed, once a stream needs that. */
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
  readonly bytes: Uint8Array;
  /** All of it, whose packed bytes are made once. */
  whole?: Piece;
}

/**
 * The latest events, numbered, as the bytes that are sent: they are made once for all that may see
 * them, and are no work for the garbage collector. The oldest are forgotten page by page.
 */
export class EventPages {
  /** The number that the next event will have. */
  next = 1;
  readonly #size: typeof PAGES_SIZE;
  readonly #recording: string;
  #pages: Page[] = [];
  #bytes = 0;

  /**
   * @param size the most that is kept, besides the newest page, which is kept in any case
   * @param recording names it in the ids of events
   */
  constructor(size: typeof PAGES_SIZE, recording: string) {
    this.#size = size;
    this.#recording = recording;
  }

  /** The number of the oldest event that is kept. */
  get first(): number {
    return this.#pages[0]?.first ?? this.next;
  }

  /** Returns the `id` of an event, after which a stream goes on. */
  cursor(seq: number): string {
    return `${this.#recording}.${seq}`;
  }

  /**
   * Finds the event that follows one.
   *
   * @param cursor the `id` of the last event that was read; may be any text
   * @returns its number; `undefined` where not all that follow are kept
   */
  find(cursor: string | undefined): number | undefined {
    const [, recording, seq] = CURSOR.exec(cursor ?? "") ?? [];
    const next = Number(seq) + 1;
    const isKept = recording === this.#recording && next >= this.first &&
      next <= this.next;
    return isKept ? next : undefined;
  }

  /** Adds events, at least one. */
  add(events: readonly FeedEvent[]): void {
    const first = this.next;
    const texts = events.map(({ kind, json }, index) =>
      sseText(this.cursor(first + index), kind, json)
    );
    const bytes = encoder.encode(texts.join(""));
    this.next += events.length;
    this.#pages.push({
      first,
      next: this.next,
      offices: events.map(({ office }) => office),
      ends: byteEnds(texts, bytes.length),
      bytes,
    });
    this.#bytes += bytes.length;
    this.#forget();
  }

  /**
   * Returns a piece of the events from a number on, which must be kept.
   *
   * @param sees returns whether events about an office may be seen
   */
  read(seq: number, sees: (office: string | undefined) => boolean): Piece {
    // From the end, where readers are as a rule: each page is of a quarter of a second.
    const page = this.#pages.findLast(({ first }) => first <= seq);
    if (page === undefined || seq >= this.next) {
      return { bytes: NOTHING, next: this.next };
    }
    const { first, next, offices, bytes } = page;
    const parts: Uint8Array[] = [];
    const byteStart = (index: number) => page.ends[index - 1] ?? 0;
    // Neighbours that may be seen are one part; mostly that is all.
    let from: number | undefined;
    for (let index = seq - first; index <= offices.length; index++) {
      const isSeen = index < offices.length && sees(offices[index]);
      if (isSeen) from ??= byteStart(index);
      else if (from !== undefined) {
        parts.push(bytes.subarray(from, byteStart(index)));
        from = undefined;
      }
    }
    const [only = NOTHING, ...others] = parts;
    if (only.length === bytes.length) return page.whole ??= { bytes, next };
    return { bytes: others.length === 0 ? only : joined(parts), next };
  }

  /**
   * Returns the events from a number on, which must be kept.
   *
   * @param maxBytes after which no more follow
   */
  list(seq: number, maxBytes: number): FeedEvent[] {
    const events: FeedEvent[] = [];
    let left = maxBytes;
    const pages = this.#pages.filter(({ next }) => next > seq);
    for (const { first, offices, ends, bytes } of pages) {
      for (const [index, office] of offices.entries()) {
        if (first + index < seq || left <= 0) continue;
        const start = ends[index - 1] ?? 0;
        const end = ends[index] ?? 0;
        const text = decoder.decode(bytes.subarray(start, end));
        const [, kind = "", json = ""] = EVENT.exec(text) ?? [];
        events.push({ office, kind, json });
        left -= end - start;
      }
    }
    return events;
  }

  #forget(): void {
    const { events, bytes } = this.#size;
    let count = 0;
    for (const page of this.#pages.slice(0, -1)) {
      if (this.next - page.first <= events && this.#bytes <= bytes) break;
      this.#bytes -= page.bytes.length;
      count++;
    }
    if (count > 0) this.#pages = this.#pages.slice(count);
  }
}

const NOTHING = new Uint8Array();
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The format of {@linkcode EventPages.cursor}. */
const CURSOR = /^([\w-]{1,64})\.(\d{1,15})$/;

/** The format of `sseText`. */
const EVENT = /^id: [^\n]*\nevent: ([^\n]*)\ndata: ([^\n]*)\n\n$/;

/** Returns where each text ends in the bytes of all of them. */
function byteEnds(texts: readonly string[], length: number): number[] {
  let characters = 0;
  const ends = texts.map((text) => characters += text.length);
  if (characters === length) return ends; // each character is a byte
  let end = 0;
  return texts.map((text) => end += encoder.encode(text).length);
}

/** The most that is kept: some seconds at the highest rates, much longer otherwise. */
const PAGES_SIZE = { events: 32_768, bytes: 8 * 2 ** 20 };

/** The events of some time, as a recording keeps them. */
export interface RecordingOptions {
  /** How long events are recorded after the last reader, in milliseconds. */
  readonly keepMs: number;
  /** Called when there are events. */
  onEvents(): void;
  /** Begins to record the events of other nodes as well; returns a function that ends that. */
  follow?(): () => void;
}

/** Keeps events while they are read, and a while longer for readers that reconnect. */
export class Recording {
  readonly #recorder: Recorder;
  readonly #options: RecordingOptions;
  /** The events; others after each beginning, of which no cursor of those before is known. */
  pages = new EventPages(PAGES_SIZE, "");
  #stops: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param recorder has the events of this node */
  constructor(recorder: Recorder, options: RecordingOptions) {
    this.#recorder = recorder;
    this.#options = options;
  }

  /** Records until it ends. */
  begin(): void {
    clearTimeout(this.#timer);
    if (this.#stops.length > 0) return;
    this.renew();
    const { follow, onEvents } = this.#options;
    const stop = this.#recorder.record({
      add: (events) => this.pages.add(events),
      flush: onEvents,
    });
    this.#stops = follow ? [stop, follow()] : [stop];
  }

  /** Begins with no events again. */
  renew(): void {
    this.pages = new EventPages(PAGES_SIZE, crypto.randomUUID().slice(-12));
  }

  /** Ends after a while, unless it is begun again. */
  rest(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.end(), this.#options.keepMs);
    if (typeof this.#timer === "object") this.#timer.unref();
  }

  /** Stops recording, and forgets all events. */
  end(): void {
    clearTimeout(this.#timer);
    this.#stops.forEach((stop) => stop());
    this.#stops = [];
    this.pages = new EventPages(PAGES_SIZE, "");
  }
}

/** The most that one answer has, in bytes; small messages pass between its pieces. */
const MAX_ANSWER_BYTES = 2 ** 20;
/** How long an answer waits for an event. */
const WAIT_MS = 10_000;
/** How long events are recorded after the last request of a node. */
const TAP_MS = 30_000;

/** Gives the events of this node to the streams of others: each requests the events after those that it has. */
export class EventTap {
  readonly #waiting = new Set<() => void>();
  readonly #recording: Recording;
  #isClosed = false;

  constructor(recorder: Recorder) {
    this.#recording = new Recording(recorder, {
      keepMs: TAP_MS,
      onEvents: () => this.#wake(),
    });
  }

  /**
   * Returns the events after a cursor; waits a while for the next.
   *
   * @param after where it goes on; without, from now on
   * @returns `undefined` when nothing is recorded any more
   */
  async take(after: string | undefined) {
    if (this.#isClosed) return undefined;
    this.#recording.begin();
    this.#recording.rest();
    const { pages } = this.#recording;
    const known = pages.find(after);
    const seq = known ?? pages.next;
    // The first answer comes at once: it has the cursor to go on from.
    if (known === pages.next) await this.#next();
    const from = Math.max(seq, pages.first);
    const events = pages.list(from, MAX_ANSWER_BYTES);
    return {
      /** Where the next request goes on. */
      cursor: pages.cursor(from + events.length - 1),
      /** Whether there were events that are forgotten. */
      missed: (after !== undefined && known === undefined) || from > seq,
      events,
    };
  }

  /** Stops recording, and answers pending requests. */
  close(): void {
    this.#isClosed = true;
    this.#recording.end();
    this.#wake();
  }

  async #next(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, WAIT_MS);
    this.#waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    this.#waiting.delete(resolve);
  }

  #wake(): void {
    this.#waiting.forEach((resolve) => resolve());
  }
}

/** The largest event that is kept with the contents of its call, in characters. */
const MAX_EVENT_CHARS = 65_536;
/** How long events are collected before they are sent together; pages draw as often. */
const FLUSH_INTERVAL_MS = 250;
/** The most events that are collected, with the contents of their calls. */
const MAX_COLLECTED_EVENTS = 1024;

/** Keeps events, and sends those that it has. */
interface EventTaker {
  add(events: readonly FeedEvent[]): void;
  flush(): void;
}

/** Formats the events of this node while anything takes them; otherwise nothing is observed. */
export class Recorder {
  readonly #journal: Journal;
  readonly #takers = new Set<EventTaker>();
  readonly #times = new TimeText();
  /** Events that are not formatted yet, each with its time in milliseconds since 1970. */
  #collected: { readonly at: number; readonly event: SeenEvent }[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #unlisten = () => {};

  /** @param journal notifies it of events */
  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Passes the collected events on. */
  seal(): void {
    if (this.#collected.length === 0) return;
    const events = this.#collected.map(({ at, event }) =>
      toText(this.#times.of(at), event)
    );
    this.#collected = [];
    for (const taker of this.#takers) taker.add(events);
  }

  /** Passes events on to a taker from now on, until the returned function is called. */
  record(taker: EventTaker): () => void {
    this.seal(); // what follows is new to it
    if (this.#takers.size === 0) {
      const collect = (event: SeenEvent) => this.#collect(event);
      this.#journal.observer = collect;
      this.#unlisten = showLog(collect);
    }
    this.#takers.add(taker);
    return () => {
      if (this.#takers.delete(taker) && this.#takers.size === 0) this.#stop();
    };
  }

  /** Costs a call as little as can be: the rest is done for many events together. */
  #collect(event: SeenEvent): void {
    this.#collected.push({ at: Date.now(), event });
    if (this.#collected.length >= MAX_COLLECTED_EVENTS) this.seal();
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_INTERVAL_MS);
  }

  #flush(): void {
    this.#timer = undefined;
    this.seal();
    for (const taker of this.#takers) taker.flush();
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#journal.observer = undefined;
    this.#unlisten();
    this.#collected = [];
  }
}

/** Writes an event with neither a Date nor a copy, with which JSON.stringify() takes several times as long. */
function toText(at: string, event: SeenEvent): FeedEvent {
  const head = `{"at":"${at}",`;
  let json = head + JSON.stringify(event).slice(1);
  if (json.length > MAX_EVENT_CHARS) {
    const small = { ...event, params: undefined, result: undefined };
    json = head + JSON.stringify(small).slice(1);
  }
  const office = "office" in event ? event.office : undefined;
  return { office, kind: event.event, json };
}

/** Lines per second that are shown: those of a flood would push out all other events. */
const LINES_PER_SECOND = 50;
/** The longest message that is shown, in characters. */
const MAX_MESSAGE_CHARS = 2000;
/** The longest fields, as JSON. */
const MAX_FIELDS_CHARS = 8000;

type LogEvent = Extract<SeenEvent, { event: "log" }>;

/**
 * Shows the lines of the log as events, until the returned function is called. They belong to no
 * office: only operators of all offices see them.
 */
export function showLog(show: (event: LogEvent) => void): () => void {
  const bucket = new TokenBucket(LINES_PER_SECOND, performance.now());
  let omitted = 0;
  return listenToLog((line) => {
    if (!bucket.take(performance.now())) return void omitted++;
    show({ ...toLogEvent(line), ...(omitted > 0 && { omitted }) });
    omitted = 0;
  });
}

function toLogEvent({ level, message, fields }: LogLine): LogEvent {
  const text = toJson(fields);
  return {
    event: "log",
    level,
    message: message.replaceAll(
      /\{(\w+)\}/g,
      (place, name) =>
        Object.hasOwn(fields, name) ? toJson(fields[name]) ?? place : place,
    ).slice(0, MAX_MESSAGE_CHARS),
    ...(text !== undefined && text !== "{}" && text.length < MAX_FIELDS_CHARS &&
      { fields: JSON.parse(text) }),
  };
}

/** @returns `undefined` for a value without JSON */
function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, plain);
  } catch { // a circle, or a BigInt
    return undefined;
  }
}
