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
  newRecording,
  type Piece,
  type Recorder,
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

/** The streams of a server, and how many there are. */
export type EventFeed = ReturnType<typeof newEventFeed>;

/**
 * Keeps events while streams are open, and sends them to those who may see them. While none is, nothing
 * is recorded.
 *
 * @param recorder has the events of this node
 * @param follow has those of others
 */
export function newEventFeed(
  recorder: Recorder,
  follow: FollowOthers = () => () => {},
) {
  const readers = new Set<FeedReader>();
  let isClosed = false;
  const flush = () => {
    // Those who see the same get the same bytes, which are made once.
    const made = new Map<string, Piece>();
    for (const reader of [...readers]) reader.flush(made);
  };
  const endAll = (reason: string) => {
    for (const reader of [...readers]) reader.end(reason);
  };
  const recording = newRecording(recorder, RECORD_MS, flush, () =>
    follow({
      add: (node, events) => {
        if (events.length === 0) return;
        recorder.seal();
        const head = `{"node":${JSON.stringify(node)},`;
        recording.pages.add(
          events.map((event) => ({
            ...event,
            json: head + event.json.slice(1),
          })),
        );
        flush();
      },
      missed: (node) => {
        // Those who come back get a sign that they missed events, and read the lists again.
        recording.renew();
        endAll(`events of the node ${node} were missed`);
      },
    }));
  return {
    /** The number of open streams. */
    get streams(): number {
      return readers.size;
    },
    /** Whether no more streams can be opened. */
    get isFull(): boolean {
      return isClosed || readers.size >= MAX_STREAMS;
    },
    /**
     * Opens a stream.
     *
     * @param view what its reader may see
     * @param lastEventId where it goes on; what was missed for good is counted in the first event
     * @param isPacked whether it is sent as gzip
     * @param ended called once, when nothing follows any more, with whether that may still have to be read
     */
    open(
      view: FeedView,
      lastEventId: string | undefined,
      isPacked: boolean,
      ended: (isUnread: boolean) => void,
    ): Pick<FeedReader, "stream" | "leave"> {
      recording.begin();
      recorder.seal(); // what follows is new to the stream
      const { pages } = recording;
      const known = pages.find(lastEventId);
      const isMissed = lastEventId !== undefined && known === undefined;
      const at = { pages, seq: known ?? pages.next, isMissed };
      const reader = newReader(view, at, isPacked, (isUnread) => {
        readers.delete(reader);
        if (readers.size === 0 && !isClosed) recording.rest();
        ended(isUnread);
      });
      readers.add(reader);
      return reader;
    },
    /** Ends all streams. */
    close(): void {
      isClosed = true;
      recorder.seal();
      flush();
      endAll("the server is shutting down");
      recording.end();
    },
  };
}

const encoder = new TextEncoder();
const COMMENT = encoder.encode(SSE_COMMENT);

/** What the reader of a stream may see. */
interface FeedView {
  /** The same for all who see the same. */
  readonly key: string;
  /** @param office the office of an event; `undefined` for those of the whole server */
  readonly sees: (office: string | undefined) => boolean;
}

/** Sends events to one stream as fast as it is read, and ends it when its events are forgotten. */
interface FeedReader {
  readonly stream: ReadableStream<Uint8Array>;
  /**
   * Sends what there is, if the stream is read.
   *
   * @param made the pieces that other streams have got in the same moment
   */
  flush(made: Map<string, Piece>): void;
  /** Ends the stream, and says why in its last event. */
  end(reason: string): void;
  /**
   * Stops sending: nobody reads any more.
   *
   * @param isUnread whether the end may still have to be read
   */
  leave(isUnread?: boolean): void;
}

/** @param at the first event to send, and whether there were others that the reader can get no more */
function newReader(
  view: FeedView,
  { pages, seq, isMissed }: {
    pages: EventPages;
    seq: number;
    isMissed: boolean;
  },
  isPacked: boolean,
  ended: (isUnread: boolean) => void,
): FeedReader {
  const gzip = isPacked ? newGzip() : undefined;
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let next = seq;
  const said = (kind: string, about: Readonly<Record<string, unknown>>) =>
    encoder.encode(
      sseText(pages.cursor(next - 1), kind, JSON.stringify(about)),
    );
  const begin = said("open", { missed: isMissed });
  let hasBegun = false;
  const send = (bytes: Uint8Array, piece?: Piece) => {
    for (const part of gzip ? gzip.wrap(bytes, piece) : [bytes]) {
      controller?.enqueue(part);
    }
  };
  const isRead = () => (controller?.desiredSize ?? 0) > 0;
  const comments = setInterval(() => {
    if (isRead()) send(COMMENT);
  }, COMMENT_INTERVAL_MS);
  const leave = (isUnread = false) => {
    if (controller === undefined) return;
    controller = undefined;
    clearInterval(comments);
    ended(isUnread);
  };
  const end = (reason: string) => {
    send(said("end", { reason }));
    if (gzip) controller?.enqueue(gzip.tail());
    controller?.close();
    leave(true);
  };
  const flush = (made: Map<string, Piece>) => {
    if (controller === undefined) return;
    if (next < pages.first) {
      return end("too slow: events were forgotten before they were read");
    }
    if (!isRead()) return;
    if (!hasBegun) {
      hasBegun = true; // before it is sent, which may ask for more at once
      return send(begin);
    }
    while (next < pages.next) {
      const key = `${next} ${view.key}`;
      const piece = made.get(key) ?? pages.read(next, view.sees);
      made.set(key, piece);
      next = piece.next;
      if (piece.bytes.length > 0) return send(piece.bytes, piece);
    }
  };
  const stream = new ReadableStream<Uint8Array>({
    start: (opened) => void (controller = opened),
    pull: () => flush(new Map()),
    cancel: () => leave(),
  });
  return { stream, flush, end, leave };
}

/** Returns whether the sender of a request reads gzip. */
export const acceptsGzip = (header: string | undefined): boolean =>
  (header ?? "").split(",").some((part) => {
    const [name = "", ...parameters] = part.split(";");
    return name.trim().toLowerCase() === "gzip" &&
      !parameters.some((text) => /^\s*q\s*=\s*0(\.0*)?\s*$/i.test(text));
  });

/** What a stream of gzip begins with: no name, no time, of any system (RFC 1952). */
const GZIP_HEAD = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);

/** Makes what writes one stream as gzip. */
function newGzip() {
  let crc = 0;
  let size = 0;
  return {
    /** Returns what is sent for some bytes, which are packed once for all streams that get the same piece. */
    wrap(bytes: Uint8Array, piece?: Piece): Uint8Array[] {
      const packed = piece ? piece.packed ??= pack(bytes) : pack(bytes);
      const parts = size === 0 ? [GZIP_HEAD, packed] : [packed];
      crc = crc32(bytes, crc);
      size += bytes.length;
      return parts;
    },
    /** What it ends with: the last block, which is empty, and what was counted. */
    tail(): Uint8Array {
      const tail = new DataView(new ArrayBuffer(10));
      tail.setUint8(0, 3);
      tail.setUint32(2, crc, true);
      tail.setUint32(6, size, true);
      return new Uint8Array(tail.buffer);
    },
  };
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
