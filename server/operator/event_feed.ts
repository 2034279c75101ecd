/**
 * The streams of events for operators: one recording for all of them, a reader for each, which gets the
 * events that it may see as fast as it reads, as text or as gzip.
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
import {
  COMMENT_INTERVAL_MS,
  SSE_COMMENT,
  sseBytes,
} from "../../shared/page_api.ts";

/** How long events are recorded after the last stream has ended, for readers that reconnect. */
const RECORD_MS = 60_000;
/** The most streams at once. */
const MAX_STREAMS = 100;

/** Takes the events of other nodes. */
export interface OtherEvents {
  /** Takes events of a node. */
  add(node: string, events: readonly FeedEvent[]): void;
  /** Events of a node are missing. */
  missed(node: string): void;
}

/** Follows other nodes until the returned function is called. */
export type FollowOthers = (events: OtherEvents) => () => void;

/** Which events the reader of a stream may see. */
export interface FeedView {
  /** The same for all that see the same. */
  readonly key: string;
  /** @param office the office of an event; `undefined` for those of the whole server */
  readonly sees: (office: string | undefined) => boolean;
}

/**
 * Keeps events while streams are open, and sends each to the streams that may see it. While none is
 * open, nothing is recorded.
 */
export class EventFeed implements OtherEvents {
  readonly #readers = new Set<FeedReader>();
  readonly #recorder: Recorder;
  readonly #recording: Recording;
  #isClosed = false;

  /**
   * @param recorder has the events of this node
   * @param follow has those of others
   */
  constructor(recorder: Recorder, follow?: FollowOthers) {
    this.#recorder = recorder;
    this.#recording = new Recording(recorder, {
      keepMs: RECORD_MS,
      onEvents: () => this.#flush(),
      ...(follow && { follow: () => follow(this) }),
    });
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
   * @param view which events its reader may see
   * @param lastEventId the event after which it begins; the first event shows whether others were missed
   * @param isPacked whether it is sent as gzip
   * @param onEnd called once, when nothing follows any more, with whether the end may still have to be read
   */
  open(
    view: FeedView,
    lastEventId: string | undefined,
    isPacked: boolean,
    onEnd: (isUnread: boolean) => void,
  ): Pick<FeedReader, "stream" | "leave"> {
    this.#recording.begin();
    this.#recorder.seal(); // what follows is new to the stream
    const { pages } = this.#recording;
    const known = pages.find(lastEventId);
    const start = {
      pages,
      seq: known ?? pages.next,
      isMissed: lastEventId !== undefined && known === undefined,
    };
    const gzip = isPacked ? new Gzip() : undefined;
    const reader = new FeedReader(view, start, gzip, (isUnread) => {
      this.#readers.delete(reader);
      if (this.#readers.size === 0 && !this.#isClosed) this.#recording.rest();
      onEnd(isUnread);
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

  #flush(): void {
    // Readers with the same view get the same bytes, which are made once.
    const made = new Map<string, Piece>();
    for (const reader of [...this.#readers]) reader.flush(made);
  }

  #endAll(reason: string): void {
    for (const reader of [...this.#readers]) reader.end(reason);
  }

  add(node: string, events: readonly FeedEvent[]): void {
    if (events.length === 0) return;
    this.#recorder.seal();
    const head = `{"node":${JSON.stringify(node)},`;
    this.#recording.pages.add(
      events.map((event) => ({ ...event, json: head + event.json.slice(1) })),
    );
    this.#flush();
  }

  missed(node: string): void {
    // A reader that reconnects gets a sign that it missed events, and reads the lists again.
    this.#recording.renew();
    this.#endAll(`events of the node ${node} were missed`);
  }
}

/** Where a stream begins. */
interface FeedStart {
  readonly pages: EventPages;
  /** The first event to send. */
  readonly seq: number;
  /** Whether events before it are forgotten that the reader has not got. */
  readonly isMissed: boolean;
}

/** Sends events to one stream as fast as it is read, and ends it when its events are forgotten. */
class FeedReader {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #view: FeedView;
  readonly #pages: EventPages;
  readonly #gzip: Gzip | undefined;
  readonly #onEnd: (isUnread: boolean) => void;
  readonly #comments: ReturnType<typeof setInterval>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** The number of the next event. */
  #next: number;
  /** The event before all others, until it is sent. */
  #opening: Uint8Array | undefined;

  constructor(
    view: FeedView,
    { pages, seq, isMissed }: FeedStart,
    gzip: Gzip | undefined,
    onEnd: (isUnread: boolean) => void,
  ) {
    this.#view = view;
    this.#pages = pages;
    this.#next = seq;
    this.#gzip = gzip;
    this.#onEnd = onEnd;
    this.#opening = this.#event("open", { missed: isMissed });
    this.#comments = setInterval(() => {
      if (this.#isRead) this.#send(SSE_COMMENT);
    }, COMMENT_INTERVAL_MS);
    this.stream = new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      pull: () => this.flush(new Map()),
      cancel: () => this.leave(),
    });
  }

  /**
   * Sends the events that there are, if the stream is read.
   *
   * @param made the pieces that other streams have got in the same moment
   */
  flush(made: Map<string, Piece>): void {
    if (this.#controller === undefined) return;
    if (this.#next < this.#pages.first) {
      return this.end("too slow: events were forgotten before they were read");
    }
    if (!this.#isRead) return;
    if (this.#opening) {
      const opening = this.#opening;
      this.#opening = undefined; // before it is sent, which may pull at once
      return this.#send(opening);
    }
    while (this.#next < this.#pages.next) {
      const key = `${this.#next} ${this.#view.key}`;
      const piece = made.get(key) ??
        this.#pages.read(this.#next, this.#view.sees);
      made.set(key, piece);
      this.#next = piece.next;
      if (piece.bytes.length > 0) return this.#send(piece.bytes, piece);
    }
  }

  /** Ends the stream, with the reason in its last event. */
  end(reason: string): void {
    this.#send(this.#event("end", { reason }));
    if (this.#gzip) this.#controller?.enqueue(this.#gzip.tail());
    this.#controller?.close();
    this.leave(true);
  }

  /**
   * Stops sending, as nothing is read any more.
   *
   * @param isUnread whether the end may still have to be read
   */
  leave(isUnread = false): void {
    if (this.#controller === undefined) return;
    this.#controller = undefined;
    clearInterval(this.#comments);
    this.#onEnd(isUnread);
  }

  get #isRead(): boolean {
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  #event(kind: string, data: Readonly<Record<string, unknown>>): Uint8Array {
    return sseBytes(this.#pages.cursor(this.#next - 1), kind, data);
  }

  #send(bytes: Uint8Array, piece?: Piece): void {
    const parts = this.#gzip ? this.#gzip.wrap(bytes, piece) : [bytes];
    for (const part of parts) this.#controller?.enqueue(part);
  }
}

/** Returns whether a header `Accept-Encoding` accepts gzip. */
export const acceptsGzip = (header: string | undefined): boolean =>
  (header ?? "").split(",").some((part) => {
    const [name = "", ...parameters] = part.split(";");
    return name.trim().toLowerCase() === "gzip" &&
      !parameters.some((text) => /^\s*q\s*=\s*0(\.0*)?\s*$/i.test(text));
  });

/** The head of a gzip stream: no name, no time, of any system (RFC 1952). */
const GZIP_HEAD = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);

/** Writes one stream as gzip. */
class Gzip {
  #crc = 0;
  #size = 0;

  /** Compresses bytes, once for all streams that get the same piece. */
  wrap(bytes: Uint8Array, piece?: Piece): Uint8Array[] {
    const packed = piece ? piece.packed ??= pack(bytes) : pack(bytes);
    const parts = this.#size === 0 ? [GZIP_HEAD, packed] : [packed];
    this.#crc = crc32(bytes, this.#crc);
    this.#size += bytes.length;
    return parts;
  }

  /** Returns the end: the last block, which is empty, with the checksum and the size. */
  tail(): Uint8Array {
    const tail = new DataView(new ArrayBuffer(10));
    tail.setUint8(0, 3);
    tail.setUint32(2, this.#crc, true);
    tail.setUint32(6, this.#size, true);
    return new Uint8Array(tail.buffer);
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
