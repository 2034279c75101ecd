/**
 * Events of this node, from the journal to the bytes of streams: the recorder writes them down in
 * batches, pages keep the latest of them, recordings last as long as somebody reads, and the tap gives
 * them to other nodes.
 *
 * @module
 */
import type { Journal, SeenEvent } from "../shared/audit.ts";
import { listenToLog, type LogLine, plain, TimeText } from "../shared/log.ts";
import { TokenBucket } from "../shared/pending.ts";
import { joined } from "../../shared/bytes.ts";
import { sseText } from "../../shared/http.ts";

/** An event, as it is sent to all who may see it. */
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
  readonly bytes: Uint8Array;
  /** All of it, whose packed bytes are made once. */
  whole?: Piece;
}

/**
 * The latest events, numbered, as the bytes that are sent: they are made once for all who may see
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
   * Keeps as much as `size` says, and the newest page in any case.
   *
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
   * @param cursor the `id` of the last event that was read, of whatever text
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
    // From the end, where readers are as a rule: each page is of a quarter of a second.
    const page = this.#pages.findLast(({ first }) => first <= seq);
    if (page === undefined || seq >= this.next) {
      return { bytes: NOTHING, next: this.next };
    }
    const { first, next, offices, bytes } = page;
    const parts: Uint8Array[] = [];
    const startOf = (index: number) => page.ends[index - 1] ?? 0;
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

/** What {@linkcode EventPages.cursor} writes. */
const CURSOR = /^([\w-]{1,64})\.(\d{1,15})$/;

/** What `sseText` writes. */
const EVENT = /^id: [^\n]*\nevent: ([^\n]*)\ndata: ([^\n]*)\n\n$/;

/** Returns where each text ends in the bytes of all of them. */
function endsOf(texts: readonly string[], length: number): number[] {
  let characters = 0;
  const ends = texts.map((text) => characters += text.length);
  if (characters === length) return ends; // each character is a byte
  let end = 0;
  return texts.map((text) => end += encoder.encode(text).length);
}

/** The most that is kept: some seconds at the highest rates, much longer otherwise. */
const PAGES_SIZE = { events: 32_768, bytes: 8 * 2 ** 20 };

/**
 * Makes a recording: the events that are kept while somebody reads them, and a while longer for those who
 * come back.
 *
 * @param recorder has the events of this node
 * @param keepMs how long they are recorded after the last reader
 * @param flush called when there are events
 * @param follow begins to record those of others as well; returns what ends that
 */
export function newRecording(
  recorder: Recorder,
  keepMs: number,
  flush: () => void,
  follow: () => () => void = () => () => {},
) {
  let pages = new EventPages(PAGES_SIZE, "");
  let stops: (() => void)[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const renew = () => {
    pages = new EventPages(PAGES_SIZE, crypto.randomUUID().slice(-12));
  };
  const end = () => {
    clearTimeout(timer);
    stops.forEach((stop) => stop());
    stops = [];
    pages = new EventPages(PAGES_SIZE, "");
  };
  return {
    /** The events; others after each beginning, of which no cursor of those before is known. */
    get pages(): EventPages {
      return pages;
    },
    /** Begins with no events again. */
    renew,
    /** Records no more, and forgets all. */
    end,
    /** Records until it ends. */
    begin(): void {
      clearTimeout(timer);
      if (stops.length > 0) return;
      renew();
      const add = (events: readonly FeedEvent[]) => pages.add(events);
      stops = [recorder.record({ add, flush }), follow()];
    },
    /** Ends after a while, unless it is begun again. */
    rest(): void {
      clearTimeout(timer);
      timer = setTimeout(end, keepMs);
      if (typeof timer === "object") timer.unref();
    },
  };
}

/** The most that one answer has, in bytes; small messages pass between its pieces. */
const MAX_ANSWER_BYTES = 2 ** 20;
/** How long an answer waits for an event. */
const WAIT_MS = 10_000;
/** How long events are recorded after the last question of a node. */
const TAP_MS = 30_000;

/** The events of this node for other nodes. */
export type EventTap = ReturnType<typeof newEventTap>;

/** Makes what gives the events of this node to the streams of others: each asks for those after what it has. */
export function newEventTap(recorder: Recorder) {
  const waiting = new Set<() => void>();
  const wake = () => waiting.forEach((resolve) => resolve());
  const recording = newRecording(recorder, TAP_MS, wake);
  let isClosed = false;
  const next = async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, WAIT_MS);
    waiting.add(resolve);
    await promise;
    clearTimeout(timer);
    waiting.delete(resolve);
  };
  return {
    /**
     * Returns the events after a cursor; waits a while for the next.
     *
     * @param asked where it goes on; from now on without
     * @returns where it goes on afterwards, whether there were events that it can get no more, and events,
     *   oldest first; `undefined` when nothing is recorded any more
     */
    async take(asked: string | undefined) {
      if (isClosed) return undefined;
      recording.begin();
      recording.rest();
      const { pages } = recording;
      const known = pages.find(asked);
      const seq = known ?? pages.next;
      // The first answer comes at once: what it says is where to go on.
      if (known === pages.next) await next();
      const from = Math.max(seq, pages.first);
      const events = pages.list(from, MAX_ANSWER_BYTES);
      return {
        cursor: pages.cursor(from + events.length - 1),
        missed: (asked !== undefined && known === undefined) || from > seq,
        events,
      };
    },
    /** Records no more, and answers those who wait. */
    close(): void {
      isClosed = true;
      recording.end();
      wake();
    },
  };
}

/** The largest event that is kept with the contents of its call, in characters. */
const MAX_EVENT_CHARS = 65_536;
/** How long events are collected before they are sent together; pages draw as often. */
const FLUSH_INTERVAL_MS = 250;
/** The most events that are collected, with the contents of their calls. */
const MAX_COLLECTED_EVENTS = 1024;

/** Keeps events, and sends what was kept. */
interface EventTaker {
  add(events: readonly FeedEvent[]): void;
  flush(): void;
}

/** What happens on this node, written down. */
export type Recorder = ReturnType<typeof newRecorder>;

/**
 * Makes what writes down what happens on this node while anybody takes it; otherwise nothing is observed.
 *
 * @param journal tells it of events
 */
export function newRecorder(journal: Journal) {
  const takers = new Set<EventTaker>();
  const times = new TimeText();
  /** Events that are not written yet, each with its time in milliseconds since 1970. */
  let collected: { readonly at: number; readonly event: SeenEvent }[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let unlisten = () => {};
  const seal = () => {
    if (collected.length === 0) return;
    const events = collected.map(({ at, event }) =>
      toText(times.of(at), event)
    );
    collected = [];
    for (const taker of takers) taker.add(events);
  };
  /** Costs a call as little as can be: the rest is done for many events together. */
  const take = (event: SeenEvent) => {
    collected.push({ at: Date.now(), event });
    if (collected.length >= MAX_COLLECTED_EVENTS) seal();
    timer ??= setTimeout(() => {
      timer = undefined;
      seal();
      for (const taker of takers) taker.flush();
    }, FLUSH_INTERVAL_MS);
  };
  return {
    /** Has what was collected kept. */
    seal,
    /** Gives events to a taker from now on, until the returned function is called. */
    record(taker: EventTaker): () => void {
      seal(); // what follows is new to it
      if (takers.size === 0) {
        journal.observer = take;
        unlisten = showLog(take);
      }
      takers.add(taker);
      return () => {
        if (!takers.delete(taker) || takers.size > 0) return;
        clearTimeout(timer);
        timer = undefined;
        journal.observer = undefined;
        unlisten();
        collected = [];
      };
    },
  };
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
export function showLog(tell: (event: LogEvent) => void): () => void {
  const bucket = new TokenBucket(LINES_PER_SECOND, performance.now());
  let omitted = 0;
  return listenToLog((line) => {
    if (!bucket.take(performance.now())) return void omitted++;
    tell({ ...eventOf(line), ...(omitted > 0 && { omitted }) });
    omitted = 0;
  });
}

function eventOf({ level, message, fields }: LogLine): LogEvent {
  const text = jsonOf(fields);
  return {
    event: "log",
    level,
    message: message.replaceAll(
      /\{(\w+)\}/g,
      (place, name) =>
        Object.hasOwn(fields, name) ? jsonOf(fields[name]) ?? place : place,
    ).slice(0, MAX_MESSAGE_CHARS),
    ...(text !== undefined && text !== "{}" && text.length < MAX_FIELDS_CHARS &&
      { fields: JSON.parse(text) }),
  };
}

/** @returns `undefined` for what has no JSON */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, plain);
  } catch { // a circle, or a BigInt
    return undefined;
  }
}
