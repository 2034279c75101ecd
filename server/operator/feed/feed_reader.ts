import type { EventPages, Piece } from "./event_pages.ts";
import { sseText } from "../../../shared/http/sse_text.ts";
import { GzipFrame, pack } from "./packing.ts";
import { cursorText } from "./sse.ts";

const encoder = new TextEncoder();

/** What the reader of a stream may see. */
export interface FeedView {
  /** The same for all who see the same. */
  readonly key: string;
  /** @param office the office of an event; `undefined` for those of the whole server */
  sees(office: string | undefined): boolean;
}

/** The parts of a {@linkcode FeedReader}. */
export interface FeedReaderParts {
  /** What it may see. */
  readonly view: FeedView;
  /** Has the events. */
  readonly pages: EventPages;
  /** Names the recording in cursors. */
  readonly recording: string;
  /** The number of the first event to send. */
  readonly seq: number;
  /** Whether it is sent as gzip. */
  readonly isPacked: boolean;
  /** Whether there were events that the reader can get no more. */
  readonly missed: boolean;
  /**
   * Called once, when nothing follows any more.
   *
   * @param isUnread whether its end may still have to be read
   */
  ended(isUnread: boolean): void;
}

/** Sends events to one stream as fast as it is read, and ends it when its events are forgotten. */
export class FeedReader {
  /** The stream. */
  readonly stream: ReadableStream<Uint8Array>;
  readonly #parts: FeedReaderParts;
  readonly #begin: Uint8Array;
  #next: number;
  #hasBegun = false;
  readonly #frame: GzipFrame | undefined;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(parts: FeedReaderParts) {
    this.#parts = parts;
    this.#next = parts.seq;
    this.#frame = parts.isPacked ? new GzipFrame() : undefined;
    const { missed } = parts;
    this.#begin = encoder.encode(
      sseText(this.#cursor(), "open", JSON.stringify({ missed })),
    );
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
    const { pages, view } = this.#parts;
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
    this.#parts.ended(isUnread);
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
    const { recording } = this.#parts;
    return cursorText({ recording, seq: this.#next - 1 });
  }
}
