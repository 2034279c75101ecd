/**
 * The streams of events for operators: one recording for all of them, a reader for each, which gets what
 * it may see as fast as it reads, as text or as gzip.
 *
 * @module
 */
import { constants, crc32, deflateRawSync } from "node:zlib";
import {
  type EventPages,
  type FeedEvent,
  type Piece,
  type Recorder,
  Recording,
} from "./event_pages.ts";
import { SSE_COMMENT, sseText } from "../../shared/http.ts";

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

/**
 * Keeps events while streams are open, and sends them to those who may see them. While none is, nothing
 * is recorded.
 */
export class EventFeed {
  readonly #recorder: Recorder;
  readonly #follow: FollowOthers;
  readonly #readers = new Set<FeedReader>();
  readonly #recording: Recording;
  #commentTimer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  /**
   * @param recorder has the events of this node
   * @param follow has those of others
   */
  constructor(recorder: Recorder, follow: FollowOthers = () => () => {}) {
    this.#recorder = recorder;
    this.#follow = follow;
    this.#recording = new Recording(recorder, RECORD_MS, () => this.#flush());
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
    const { pages } = this.#recording;
    const known = pages.find(lastEventId);
    const isMissed = lastEventId !== undefined && known === undefined;
    const at = { pages, seq: known ?? pages.next, isMissed };
    const frame = isPacked ? new GzipFrame() : undefined;
    const reader: FeedReader = new FeedReader(view, at, frame, (isUnread) => {
      this.#readers.delete(reader);
      if (this.#readers.size === 0) this.#rest();
      ended(isUnread);
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
    this.#recording.end();
  }

  #record(): void {
    this.#commentTimer ??= setInterval(() => {
      for (const reader of this.#readers) reader.comment(SSE_COMMENT);
    }, COMMENT_INTERVAL_MS);
    this.#recording.begin(() =>
      this.#follow({
        add: (node, events) => this.#addOf(node, events),
        missed: (node) => {
          // Those who come back hear that they missed events, and read the lists again.
          this.#recording.renew();
          this.#endAll(`events of the node ${node} were missed`);
        },
      })
    );
  }

  #addOf(node: string, events: readonly FeedEvent[]): void {
    if (events.length === 0) return;
    this.#recorder.seal();
    const head = `{"node":${JSON.stringify(node)},`;
    this.#recording.pages.add(
      events.map((event) => ({ ...event, json: head + event.json.slice(1) })),
    );
    this.#flush();
  }

  #rest(): void {
    clearInterval(this.#commentTimer);
    this.#commentTimer = undefined;
    if (!this.#isClosed) this.#recording.rest();
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

const encoder = new TextEncoder();

/** What the reader of a stream may see. */
interface FeedView {
  /** The same for all who see the same. */
  readonly key: string;
  /** @param office the office of an event; `undefined` for those of the whole server */
  sees(office: string | undefined): boolean;
}

/** Sends events to one stream as fast as it is read, and ends it when its events are forgotten. */
class FeedReader {
  /** The stream. */
  readonly stream: ReadableStream<Uint8Array>;
  readonly #view: FeedView;
  readonly #pages: EventPages;
  readonly #ended: (isUnread: boolean) => void;
  /** Set if the stream is sent as gzip. */
  readonly #frame: GzipFrame | undefined;
  readonly #begin: Uint8Array;
  #next: number;
  #hasBegun = false;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  /** @param at the first event to send, and whether there were others that the reader can get no more */
  constructor(
    view: FeedView,
    at: { pages: EventPages; seq: number; isMissed: boolean },
    frame: GzipFrame | undefined,
    ended: (isUnread: boolean) => void,
  ) {
    this.#view = view;
    this.#pages = at.pages;
    this.#next = at.seq;
    this.#frame = frame;
    this.#ended = ended;
    const json = JSON.stringify({ missed: at.isMissed });
    this.#begin = encoder.encode(sseText(this.#cursor(), "open", json));
    this.stream = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => this.flush(),
      cancel: () => this.leave(),
    });
  }

  /**
   * Sends what there is, if the stream is read.
   *
   * @param made the pieces that other streams have got in the same moment
   */
  flush(made: Map<string, Piece> = new Map()): void {
    const controller = this.#controller;
    const [pages, view] = [this.#pages, this.#view];
    if (controller === undefined) return;
    if (this.#next < pages.first) {
      return this.end("too slow: events were forgotten before they were read");
    }
    if ((controller.desiredSize ?? 0) <= 0) return;
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      return this.#send(this.#begin);
    }
    while (this.#next < pages.next) {
      const key = `${this.#next} ${view.key}`;
      const piece = made.get(key) ??
        pages.read(this.#next, (office) => view.sees(office));
      made.set(key, piece);
      this.#next = piece.next;
      if (piece.bytes.length === 0) continue;
      if (this.#frame === undefined) return this.#send(piece.bytes);
      return this.#send(piece.bytes, piece.packed ??= pack(piece.bytes));
    }
  }

  /** Sends a comment, if the stream is read. */
  comment(text: string): void {
    if ((this.#controller?.desiredSize ?? 0) <= 0) return;
    this.#send(encoder.encode(text));
  }

  /** Ends the stream, and says why in its last event. */
  end(reason: string): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    const json = JSON.stringify({ reason });
    this.#send(encoder.encode(sseText(this.#cursor(), "end", json)));
    if (this.#frame) controller.enqueue(this.#frame.tail());
    controller.close();
    this.leave(true);
  }

  /**
   * Stops sending: nobody reads any more.
   *
   * @param isUnread whether the end may still have to be read
   */
  leave(isUnread = false): void {
    if (this.#controller === undefined) return;
    this.#controller = undefined;
    this.#ended(isUnread);
  }

  #send(bytes: Uint8Array, packed?: Uint8Array): void {
    const controller = this.#controller;
    const frame = this.#frame;
    if (frame === undefined) return controller?.enqueue(bytes);
    if (frame.size === 0) controller?.enqueue(GzipFrame.HEAD);
    frame.add(bytes);
    controller?.enqueue(packed ?? pack(bytes));
  }

  #cursor(): string {
    return this.#pages.cursor(this.#next - 1);
  }
}

/**
 * Compresses bytes so that they can follow any others of a gzip stream: they refer to nothing before
 * them, and end with a whole byte. So all streams can get the same ones.
 */
const pack = (bytes: Uint8Array): Uint8Array =>
  deflateRawSync(bytes, {
    level: 1, // a fifth of a millisecond for 100 KB
    finishFlush: constants.Z_SYNC_FLUSH,
  });

/** Returns whether the sender of a request reads gzip. */
export const acceptsGzip = (header: string | undefined): boolean =>
  (header ?? "").split(",").some((part) => {
    const [name = "", ...parameters] = part.split(";");
    return name.trim().toLowerCase() === "gzip" &&
      !parameters.some((text) => /^\s*q\s*=\s*0(\.0*)?\s*$/i.test(text));
  });

/** What stands before and after the packed pieces of a stream (RFC 1952). */
class GzipFrame {
  #crc = 0;
  #size = 0;

  /** What a stream begins with: no name, no time, of any system. */
  static readonly HEAD: Uint8Array = Uint8Array.of(
    ...[0x1f, 0x8b, 8, 0],
    ...[0, 0, 0, 0],
    ...[0, 0xff],
  );

  /** How many bytes were counted. */
  get size(): number {
    return this.#size;
  }

  /** Counts bytes, before they are packed. */
  add(bytes: Uint8Array): void {
    this.#crc = crc32(bytes, this.#crc);
    this.#size += bytes.length;
  }

  /** What a stream ends with: the last block, which is empty, and what was counted. */
  tail(): Uint8Array {
    const tail = new DataView(new ArrayBuffer(10));
    tail.setUint8(0, 3);
    tail.setUint32(2, this.#crc, true);
    tail.setUint32(6, this.#size, true);
    return new Uint8Array(tail.buffer);
  }
}
