import { randomBytes } from "node:crypto";
import { EventPages, type FeedEvent, type Piece } from "./event_pages.ts";
import { FeedReader, type FeedView } from "./feed_reader.ts";
import type { Recorder } from "./recorder.ts";
import { SSE_COMMENT } from "../../../shared/http/sse_text.ts";
import { readCursor } from "./sse.ts";

/** What is kept for those who come back: some seconds at the highest rates, much longer otherwise. */
const PAGES_SIZE = { events: 32_768, bytes: 8 * 2 ** 20 };
/** How often a stream says something; proxies close silent ones after a minute. */
const COMMENT_INTERVAL_MS = 15_000;
/** How long events are recorded after the last stream has ended, for those who come back. */
const RECORD_MS = 60_000;
/** The most streams at once. */
const MAX_STREAMS = 100;

/** What other nodes tell. */
export interface OtherEvents {
  /** Takes events of a node. */
  add(node: string, events: readonly FeedEvent[]): void;
  /** Events of a node are missing. */
  missed(node: string): void;
}

/** Follows other nodes until the returned function is called. */
export type FollowOthers = (events: OtherEvents) => () => void;

type Timer = ReturnType<typeof setTimeout>;

/**
 * Keeps events while streams are open, and sends them to those who may see them. While none is, nothing
 * is recorded.
 */
export class EventFeed {
  readonly #recorder: Recorder;
  readonly #follow: FollowOthers;
  readonly #readers = new Set<FeedReader>();
  #pages = new EventPages(PAGES_SIZE, "");
  #recording = "";
  #commentTimer: Timer | undefined;
  #stopTimer: Timer | undefined;
  #end: (() => void) | undefined;
  #isClosed = false;

  /**
   * @param recorder has the events of this node
   * @param follow has those of others
   */
  constructor(recorder: Recorder, follow: FollowOthers = () => () => {}) {
    this.#recorder = recorder;
    this.#follow = follow;
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
    this.#recorder.seal(); // what follows is new to the stream
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
    this.#recorder.seal();
    this.#flush();
    this.#endAll("the server is shutting down");
    this.#stop();
  }

  #record(): void {
    clearTimeout(this.#stopTimer);
    this.#commentTimer ??= setInterval(() => {
      for (const reader of this.#readers) reader.comment(SSE_COMMENT);
    }, COMMENT_INTERVAL_MS);
    if (this.#end !== undefined) return;
    this.#renew();
    const unrecord = this.#recorder.record({
      add: (events) => this.#pages.add(events),
      flush: () => this.#flush(),
    });
    const unfollow = this.#follow({
      add: (node, events) => this.#addOf(node, events),
      missed: (node) => {
        // Those who come back hear that they missed events, and read the lists again.
        this.#renew();
        this.#endAll(`events of the node ${node} were missed`);
      },
    });
    this.#end = () => {
      unrecord();
      unfollow();
    };
  }

  /** Begins another recording: no cursor of the one before is known any more. */
  #renew(): void {
    this.#recording = randomBytes(9).toString("base64url");
    this.#pages = new EventPages(PAGES_SIZE, this.#recording);
  }

  #addOf(node: string, events: readonly FeedEvent[]): void {
    if (events.length === 0) return;
    this.#recorder.seal();
    const head = `{"node":${JSON.stringify(node)},`;
    this.#pages.add(
      events.map((event) => ({ ...event, json: head + event.json.slice(1) })),
    );
    this.#flush();
  }

  #rest(): void {
    clearInterval(this.#commentTimer);
    this.#commentTimer = undefined;
    if (this.#isClosed) return;
    this.#stopTimer = setTimeout(() => this.#stop(), RECORD_MS);
    if (typeof this.#stopTimer === "object") this.#stopTimer.unref();
  }

  #stop(): void {
    clearTimeout(this.#stopTimer);
    clearInterval(this.#commentTimer);
    this.#commentTimer = undefined;
    this.#end?.();
    this.#end = undefined;
    this.#pages = new EventPages(PAGES_SIZE, "");
  }

  #endAll(reason: string): void {
    for (const reader of [...this.#readers]) reader.end(reason);
  }

  #flush(): void {
    // Those who see the same get the same bytes, which are made once.
    const made = new Map<string, Piece>();
    for (const reader of [...this.#readers]) reader.flush(made);
  }
}
