import type { EventPages, Piece } from "./event_pages.ts";
import { sseText } from "../../../shared/http/sse_text.ts";
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
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(parts: FeedReaderParts) {
    this.#parts = parts;
    this.#next = parts.seq;
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
      return controller.enqueue(this.#begin);
    }
    while (this.#next < pages.next) {
      const key = `${this.#next} ${view.key}`;
      const piece = made.get(key) ??
        pages.read(this.#next, (office) => view.sees(office));
      made.set(key, piece);
      this.#next = piece.next;
      if (piece.bytes.length > 0) return controller.enqueue(piece.bytes);
    }
  }

  /** Sends a comment, if the stream is read. */
  comment(text: string): void {
    if ((this.#controller?.desiredSize ?? 0) <= 0) return;
    this.#controller?.enqueue(encoder.encode(text));
  }

  /** Ends the stream, and says why in its last event. */
  end(reason: string): void {
    const controller = this.#controller;
    if (controller === undefined) return;
    const json = JSON.stringify({ reason });
    controller.enqueue(encoder.encode(sseText(this.#cursor(), "end", json)));
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

  #cursor(): string {
    const { recording } = this.#parts;
    return cursorText({ recording, seq: this.#next - 1 });
  }
}
