import type { Buffer } from "node:buffer";
import { Fifo } from "./fifo.ts";
import { itemBytes, type Piece, writeItem } from "./items.ts";

/** What a queue costs for each message, above its bytes. */
const OVERHEAD_BYTES = 64;

/** Short messages still fit into a full queue: what says that another one did not is one of them. */
const SHORT_BYTES = 1024;

/** How many messages in pieces are on their way at once: the receiver has room for these only. */
export const MAX_OPEN_MESSAGES = 4;

interface Message {
  readonly parts: readonly Uint8Array[];
  readonly length: number;
}

/** A stream with a message that travels in pieces; what follows in it waits behind. */
interface Stream {
  readonly name: string;
  readonly queue: Fifo<Message>;
  /** How many small messages must have left before: some of them were of this stream. */
  readonly after: number;
  /** Of the message at the front: what has left. */
  sent: number;
  slot: number;
}

/**
 * The queue to a node.
 *
 * Small messages leave in the order in which they came. Larger ones travel in pieces, a few at once in
 * turn, with small ones of other streams between them. Messages of one stream stay in order.
 */
export class Outbox {
  readonly #pieceBytes: number;
  readonly #maxBytes: number;
  readonly #small = new Fifo<Message>();
  readonly #streams = new Map<string, Stream>();
  readonly #waiting = new Fifo<Stream>();
  readonly #open = new Fifo<Stream>();
  #bytes = 0;
  #smallPushed = 0;
  #smallTaken = 0;
  #slot = 0;
  #piecesGoFirst = false;

  constructor(pieceBytes: number, maxBytes: number) {
    this.#pieceBytes = pieceBytes;
    this.#maxBytes = maxBytes;
  }

  /** Bytes that wait. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether nothing waits. */
  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /**
   * Adds a message, unless the queue is full; one message always fits.
   *
   * @returns whether it was added
   */
  push(stream: string, parts: readonly Uint8Array[]): boolean {
    let length = 0;
    for (const part of parts) length += part.length;
    const bytes = length + OVERHEAD_BYTES;
    const most = length > SHORT_BYTES ? this.#maxBytes : 2 * this.#maxBytes;
    if (this.#bytes > 0 && this.#bytes + bytes > most) return false;
    this.#bytes += bytes;

    const message = { parts, length };
    const behind = this.#streams.size > 0
      ? this.#streams.get(stream)
      : undefined;
    if (behind) behind.queue.push(message);
    else if (length > this.#pieceBytes) this.#begin(stream, message);
    else {
      this.#smallPushed++;
      this.#small.push(message);
    }
    return true;
  }

  /**
   * Takes as much as one frame carries.
   *
   * @param allocate returns memory for the frame
   * @param reserve bytes that stay free in front
   * @returns the frame, or `undefined` when nothing waits
   */
  take(
    allocate: (length: number) => Buffer,
    reserve: number,
  ): Buffer | undefined {
    if (this.#bytes === 0) return undefined;
    this.#fillOpen();
    const pieces: Piece[] = [];
    const isShared = this.#small.size > 0 && this.#open.size > 0;
    const share = isShared ? this.#pieceBytes / 2 : this.#pieceBytes;
    // In turn, so that neither a flood of small messages nor large ones keep the others waiting.
    this.#piecesGoFirst = isShared && !this.#piecesGoFirst;
    if (this.#piecesGoFirst) {
      const used = this.#takePieces(pieces, share);
      this.#takeSmall(pieces, this.#pieceBytes - used);
    } else {
      const used = this.#takeSmall(pieces, share);
      this.#takePieces(pieces, this.#pieceBytes - used);
    }
    let length = reserve;
    for (const piece of pieces) length += itemBytes(piece);
    const frame = allocate(length);
    let at = reserve;
    for (const piece of pieces) at = writeItem(frame, at, piece);
    return frame;
  }

  /** Removes all that waits. */
  clear(): void {
    this.#small.clear();
    this.#streams.clear();
    this.#waiting.clear();
    this.#open.clear();
    this.#bytes = this.#smallPushed = this.#smallTaken = 0;
  }

  #begin(name: string, message: Message): void {
    const stream: Stream = {
      name,
      queue: new Fifo(),
      after: this.#smallPushed,
      sent: 0,
      slot: 0,
    };
    stream.queue.push(message);
    this.#streams.set(name, stream);
    this.#waiting.push(stream);
  }

  #fillOpen(): void {
    while (this.#open.size < MAX_OPEN_MESSAGES) {
      const next = this.#waiting.peek();
      if (next === undefined || next.after > this.#smallTaken) return;
      this.#waiting.shift();
      this.#slot = (this.#slot + 1) & 0xffff;
      next.slot = this.#slot;
      this.#open.push(next);
    }
  }

  /** Takes small messages; the first fits whatever the room is, when nothing else goes. */
  #takeSmall(pieces: Piece[], room: number): number {
    let used = 0;
    for (;;) {
      const message = this.#small.peek();
      if (message === undefined) return used;
      const { parts, length } = message;
      if (used + length > room && pieces.length > 0) return used;
      this.#small.shift();
      this.#smallTaken++;
      this.#bytes -= length + OVERHEAD_BYTES;
      pieces.push({ parts, total: length, start: 0, length, slot: 0 });
      used += length;
    }
  }

  #takePieces(pieces: Piece[], room: number): number {
    let used = 0;
    // Slivers are not worth their headers.
    while (room - used >= this.#pieceBytes / 4) {
      this.#fillOpen();
      const stream = this.#open.shift();
      const message = stream?.queue.peek();
      if (stream === undefined || message === undefined) return used;
      const { parts, length: total } = message;
      const start = stream.sent;
      const length = Math.min(room - used, total - start);
      pieces.push({ parts, total, start, length, slot: stream.slot });
      used += length;
      stream.sent += length;
      this.#bytes -= length;
      if (stream.sent < total) this.#open.push(stream);
      else this.#finish(stream);
    }
    return used;
  }

  #finish(stream: Stream): void {
    stream.queue.shift();
    stream.sent = 0;
    this.#bytes -= OVERHEAD_BYTES;
    if (stream.queue.size > 0) this.#waiting.push(stream);
    else this.#streams.delete(stream.name);
  }
}
