import { Buffer } from "node:buffer";

/** A smaller frame is cheap to allocate. */
const MIN_POOLED_BYTES = 32 * 1024;

/** What the headers of a frame and of its items take, unless it has very many small ones. */
const HEADERS_BYTES = 4 * 1024;

/** The most frames that are kept: 4 MiB with pieces of 256 KiB. */
const MAX_FREE_FRAMES = 16;

/** Keeps the memory of large frames for others: the garbage collector would spend more on new ones. */
export class FramePool {
  readonly #frameBytes: number;
  readonly #free: ArrayBufferLike[] = [];

  /** @param pieceBytes what a frame has besides headers */
  constructor(pieceBytes: number) {
    this.#frameBytes = pieceBytes + HEADERS_BYTES;
  }

  /** Returns memory for a frame, with any content. */
  take(length: number): Buffer {
    if (length < MIN_POOLED_BYTES || length > this.#frameBytes) {
      return Buffer.allocUnsafe(length);
    }
    const memory = this.#free.pop() ?? new ArrayBuffer(this.#frameBytes);
    return Buffer.from(memory, 0, length);
  }

  /** Takes the memory of a frame back; nobody may use that any more. */
  give(frame: Buffer): void {
    const isPooled = frame.length >= MIN_POOLED_BYTES &&
      frame.buffer.byteLength === this.#frameBytes;
    if (isPooled && this.#free.length < MAX_FREE_FRAMES) {
      this.#free.push(frame.buffer);
    }
  }
}
