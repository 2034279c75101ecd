import { Buffer } from "node:buffer";
import { release } from "../../../shared/bytes.ts";
import {
  FrameError,
  type Item,
  ITEM_HEADER_BYTES,
  type Piece,
  readItems,
  writeItem,
} from "./frame.ts";

/** What a queue costs for each message, above its bytes. */
const OVERHEAD_BYTES = 64;

/** Short messages still fit into a full queue: what says that another one did not is one of them. */
const SHORT_BYTES = 1024;

/** How many messages in pieces are on their way at once: the receiver has room for these only. */
export const MAX_OPEN_MESSAGES = 4;

interface Message {
  readonly parts: readonly Uint8Array[];
  readonly length: number;
  next: Message | undefined;
}

/** The messages of a stream that wait. */
interface Stream {
  first: Message;
  last: Message;
  /** How much of the first one has left. */
  sent: number;
  slot: number;
}

/**
 * The queue to a node.
 *
 * Streams take turns, with a message each; larger ones travel in pieces, a few at once, so that neither a
 * flood of small messages nor large ones keep the others waiting. Messages of one stream stay in order.
 */
export class Outbox {
  readonly #pieceBytes: number;
  readonly #maxBytes: number;
  /** In the order of their turns. */
  readonly #streams = new Map<string, Stream>();
  #bytes = 0;
  #open = 0;
  #slot = 0;

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
  push(name: string, parts: readonly Uint8Array[]): boolean {
    let length = 0;
    for (const part of parts) length += part.length;
    const bytes = length + OVERHEAD_BYTES;
    const most = length > SHORT_BYTES ? this.#maxBytes : 2 * this.#maxBytes;
    if (this.#bytes > 0 && this.#bytes + bytes > most) return false;
    this.#bytes += bytes;
    const message: Message = { parts, length, next: undefined };
    const stream = this.#streams.get(name);
    if (stream) stream.last = stream.last.next = message;
    else {
      const [first, last] = [message, message];
      this.#streams.set(name, { first, last, sent: 0, slot: 0 });
    }
    return true;
  }

  /**
   * Takes as much as one frame carries.
   *
   * @param reserve bytes that stay free in front
   * @returns the frame, or `undefined` when nothing waits
   */
  take(reserve: number): Buffer | undefined {
    if (this.#bytes === 0) return undefined;
    const pieces = this.#takePieces();
    let length = reserve;
    for (const piece of pieces) length += ITEM_HEADER_BYTES + piece.length;
    const frame = Buffer.allocUnsafe(length);
    let at = reserve;
    for (const piece of pieces) at = writeItem(frame, at, piece);
    return frame;
  }

  /** Removes all that waits. */
  clear(): void {
    this.#streams.clear();
    this.#bytes = this.#open = 0;
  }

  #takePieces(): readonly Piece[] {
    const pieces: Piece[] = [];
    const most = this.#streams.size > 1
      ? this.#pieceBytes / 2
      : this.#pieceBytes;
    let room = this.#pieceBytes;
    for (const [name, stream] of this.#streams) { // also those that come again
      const { first: { parts, length: total, next }, sent: start } = stream;
      const isLarge = total > this.#pieceBytes;
      const isNew = isLarge && start === 0;
      if (isNew && this.#open === MAX_OPEN_MESSAGES) continue;
      const left = total - start;
      const length = isLarge ? Math.min(left, room, most) : left;
      // Slivers are not worth their headers.
      const isSliver = length < left && length < this.#pieceBytes / 4;
      if (pieces.length > 0 && (length > room || isSliver)) break;
      if (isNew) {
        this.#open++;
        stream.slot = this.#slot = (this.#slot + 1) & 0xffff;
      }
      pieces.push({ parts, total, start, length, slot: stream.slot });
      room -= length;
      this.#bytes -= length;
      this.#streams.delete(name);
      stream.sent += length;
      if (length === left) {
        this.#bytes -= OVERHEAD_BYTES;
        if (isLarge) this.#open--;
        if (next === undefined) continue;
        stream.first = next;
        stream.sent = 0;
      }
      this.#streams.set(name, stream);
    }
    return pieces;
  }
}

interface Assembly {
  readonly message: Buffer;
  filled: number;
}

/** Puts the messages of a link together. */
export class Inbox {
  readonly #maxMessageBytes: number;
  readonly #partial = new Map<number, Assembly>();
  readonly #deliver: (message: Buffer) => void;
  #isClosed = false;

  /** @param deliver takes the messages; a small one is a part of its frame */
  constructor(maxMessageBytes: number, deliver: (message: Buffer) => void) {
    this.#maxMessageBytes = maxMessageBytes;
    this.#deliver = deliver;
  }

  /**
   * Takes the items of a frame, and the frame itself: it is freed if its messages are copies.
   *
   * @throws {FrameError} when one is cut off, too large, or of no message
   */
  take(frame: Buffer, start: number): void {
    let isCopied = true;
    for (const item of readItems(frame, start)) {
      const message = this.#assemble(item);
      isCopied &&= message !== item.content;
      if (message !== undefined) this.#deliver(message);
      if (this.#isClosed) return;
    }
    if (isCopied) release(frame);
  }

  /** Delivers nothing any more, not even the rest of a frame that is being taken. */
  close(): void {
    this.#isClosed = true;
    this.#partial.clear();
  }

  #assemble({ slot, content, total, isFirst, isLast }: Item) {
    if (total > this.#maxMessageBytes) {
      throw new FrameError(
        `a message has ${total} bytes, at most ${this.#maxMessageBytes} are taken`,
      );
    }
    if (isFirst && isLast && content.length === total) return content;
    if (isFirst) this.#open(slot, total);
    const partial = this.#partial.get(slot);
    if (partial === undefined) {
      throw new FrameError("a piece is of no message");
    }
    const { message, filled } = partial;
    partial.filled += content.length;
    if (
      partial.filled > message.length ||
      isLast !== (partial.filled === message.length)
    ) throw new FrameError("the pieces of a message are not of its length");
    message.set(content, filled);
    if (!isLast) return undefined;
    this.#partial.delete(slot);
    return message;
  }

  #open(slot: number, total: number): void {
    if (this.#partial.has(slot)) {
      throw new FrameError("a message begins twice");
    }
    if (this.#partial.size >= MAX_OPEN_MESSAGES) {
      throw new FrameError("too many messages come in pieces at once");
    }
    this.#partial.set(slot, { message: Buffer.allocUnsafe(total), filled: 0 });
  }
}
