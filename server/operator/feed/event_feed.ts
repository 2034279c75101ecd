import { randomBytes } from "node:crypto";
import type { ProtocolName } from "../../../protocol/mod.ts";
import type { SeenEvent, Window } from "../../shared/journal.ts";
import { TimeText } from "../../shared/time_text.ts";
import { EventPages, type FeedEvent, type Piece } from "./event_pages.ts";
import { FeedReader, type FeedView } from "./feed_reader.ts";
import { SSE_COMMENT } from "../../../shared/http/sse_text.ts";
import { showLog } from "./log_events.ts";
import { readCursor } from "./sse.ts";

/** What is kept for those who come back: some seconds at the highest rates, much longer otherwise. */
const PAGES_SIZE = { events: 32_768, bytes: 8 * 2 ** 20 };
/** The largest event that is kept with the contents of its call, in characters. */
const MAX_EVENT_CHARS = 65_536;
/** How long events are collected before they are sent together. */
const FLUSH_INTERVAL_MS = 100;
/** The most events that are collected. */
const MAX_COLLECTED_EVENTS = 512;
/** How often a stream says something; proxies close silent ones after a minute. */
const COMMENT_INTERVAL_MS = 15_000;
/** How long events are recorded after the last stream has ended, for those who come back. */
const RECORD_MS = 60_000;
/** The most streams at once. */
const MAX_STREAMS = 100;

/** An event that is not written yet. */
interface Collected {
  /** When it was heard, in milliseconds since 1970. */
  readonly at: number;
  readonly protocol: ProtocolName | undefined;
  readonly event: SeenEvent;
}

type Timer = ReturnType<typeof setTimeout>;

/**
 * Records events while streams are open, and sends them to those who may see them. While none is, it
 * hears of nothing.
 */
export class EventFeed {
  readonly #window: Window;
  readonly #readers = new Set<FeedReader>();
  #pages = new EventPages(PAGES_SIZE, "");
  #collected: Collected[] = [];
  readonly #times = new TimeText();
  #recording = "";
  #flushTimer: Timer | undefined;
  #commentTimer: Timer | undefined;
  #stopTimer: Timer | undefined;
  #unlisten: (() => void) | undefined;
  #isClosed = false;

  /** @param window where it looks in */
  constructor(window: Window) {
    this.#window = window;
  }

  /** The number of open streams. */
  get streams(): number {
    return this.#readers.size;
  }

  /** Whether no more streams can be opened. */
  get isFull(): boolean {
    return this.#isClosed || this.#readers.size >= MAX_STREAMS;
  }

  /**
   * Opens a stream.
   *
   * @param view what its reader may see
   * @param lastEventId where it goes on; what was missed for good is told in the first event
   * @param isPacked whether it is sent as gzip
   * @param ended called once, when nothing follows any more, with whether that may still have to be read
   */
  open(
    view: FeedView,
    lastEventId: string | undefined,
    isPacked: boolean,
    ended: (isUnread: boolean) => void,
  ): Pick<FeedReader, "stream" | "leave"> {
    this.#record();
    this.#seal(); // what follows is new to the stream
    const cursor = readCursor(lastEventId);
    const isKnown = cursor !== undefined &&
      cursor.recording === this.#recording &&
      cursor.seq + 1 >= this.#pages.first && cursor.seq < this.#pages.next;
    const reader: FeedReader = new FeedReader({
      view,
      pages: this.#pages,
      recording: this.#recording,
      seq: isKnown ? cursor.seq + 1 : this.#pages.next,
      isPacked,
      missed: lastEventId !== undefined && !isKnown,
      ended: (isUnread) => {
        this.#readers.delete(reader);
        if (this.#readers.size === 0) this.#rest();
        ended(isUnread);
      },
    });
    this.#readers.add(reader);
    return reader;
  }

  /** Ends all streams. */
  close(): void {
    this.#isClosed = true;
    this.#flush();
    for (const reader of [...this.#readers]) {
      reader.end("the server is shutting down");
    }
    this.#stop();
  }

  #record(): void {
    clearTimeout(this.#stopTimer);
    this.#commentTimer ??= setInterval(() => {
      for (const reader of this.#readers) reader.comment(SSE_COMMENT);
    }, COMMENT_INTERVAL_MS);
    if (this.#window.onlooker !== undefined) return;
    this.#recording = randomBytes(9).toString("base64url");
    this.#pages = new EventPages(PAGES_SIZE, this.#recording);
    this.#window.onlooker = (event, protocol) => this.#hear(event, protocol);
    this.#unlisten = showLog((event) => this.#hear(event, undefined));
  }

  #rest(): void {
    clearInterval(this.#commentTimer);
    this.#commentTimer = undefined;
    if (this.#isClosed) return;
    this.#stopTimer = setTimeout(() => this.#stop(), RECORD_MS);
    if (typeof this.#stopTimer === "object") this.#stopTimer.unref();
  }

  #stop(): void {
    for (const timer of [this.#stopTimer, this.#flushTimer]) {
      clearTimeout(timer);
    }
    clearInterval(this.#commentTimer);
    this.#commentTimer = this.#flushTimer = undefined;
    this.#window.onlooker = undefined;
    this.#unlisten?.();
    this.#unlisten = undefined;
    this.#pages = new EventPages(PAGES_SIZE, "");
    this.#collected = [];
  }

  /** Costs a call as little as can be: the rest is done for many events together. */
  #hear(event: SeenEvent, protocol: ProtocolName | undefined): void {
    this.#collected.push({ at: Date.now(), protocol, event });
    if (this.#collected.length >= MAX_COLLECTED_EVENTS) this.#seal();
    this.#flushTimer ??= setTimeout(() => {
      this.#flushTimer = undefined;
      this.#flush();
    }, FLUSH_INTERVAL_MS);
  }

  #seal(): void {
    if (this.#collected.length === 0) return;
    this.#pages.add(this.#collected.map((each) => this.#toText(each)));
    this.#collected = [];
  }

  #toText({ at, protocol, event }: Collected): FeedEvent {
    // Neither a Date nor a copy, with which JSON.stringify() takes several times as long.
    const head = `{"at":"${this.#times.of(at)}",${
      protocol === undefined ? "" : `"protocol":"${protocol}",`
    }`;
    let json = head + JSON.stringify(event).slice(1);
    if (json.length > MAX_EVENT_CHARS) {
      const small = { ...event, params: undefined, result: undefined };
      json = head + JSON.stringify(small).slice(1);
    }
    const office = "office" in event ? event.office : undefined;
    return { office, kind: event.event, json };
  }

  #flush(): void {
    this.#seal();
    // Those who see the same get the same bytes, which are made once.
    const made = new Map<string, Piece>();
    for (const reader of [...this.#readers]) reader.flush(made);
  }
}
