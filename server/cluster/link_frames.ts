/**
 * What passes over a link, as bytes: frames, the items in them, and the two queues between messages and
 * items. An outbox cuts large messages into pieces and lets streams take turns; an inbox puts them
 * together again.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import * as z from "../../protocol/schema.ts";
import { release } from "../../shared/bytes.ts";

/** The version of the links: nodes of one cluster must have the same. */
export const LINK_VERSION = 1;

const whole = z.int().check(z.minimum(0));

/** The frames that are JSON; fields of a later version are ignored. */
const named = z.object({
  /** A sign of life, or the end of the link. */
  kind: z.enum(["beat", "bye"]),
  version: whole,
  from: z.string().check(z.minLength(1), z.maxLength(255)),
  /** Whether the receiver is to send again what the sender has not taken, and a beat after it. */
  asks: z.boolean(),
  /** How many bytes the sender has sent. */
  sent: whole,
  /** How many it has taken. */
  taken: whole,
  /** How many more it takes. */
  room: whole,
});

/**
 * What one end has taken of the other since the two nodes met, and what it may get, in bytes of `data`
 * frames with items.
 */
export interface Counts {
  /** How much the sender has taken. */
  readonly taken: number;
  /** How much more may follow. */
  readonly room: number;
}

/** A frame that is not of messages. */
export type NamedFrame = z.infer<typeof named>;

/** The header of a frame of messages, or pieces of them, behind {@linkcode DATA_HEADER_BYTES}; or only counts. */
interface DataHeader extends Counts {
  /** The sender, see {@linkcode shortOf}. */
  readonly sender: number;
  /** How many bytes were sent before it. */
  readonly start: number;
}

/** What is sent to the channel of a node, as one message of Redis. */
export type Frame = NamedFrame | DataHeader & { readonly kind: "data" };

/** Returns what a node is called in frames of messages: 48 bits. */
export const shortOf = (node: string): number =>
  createHash("sha256").update(node).digest().readUIntBE(0, 6);

/** A frame that cannot be read. */
export class FrameError extends Error {
  override name = "FrameError";
}

/** The first byte of a `data` frame. */
const DATA = 3;

/** Bytes in front of the items of a `data` frame. */
export const DATA_HEADER_BYTES = 23;

/**
 * Reads a frame.
 *
 * @throws {FrameError} when it is cut off, or not known
 */
export function decodeFrame(bytes: Buffer): Frame {
  if (bytes[0] !== DATA) {
    try {
      return named.parse(JSON.parse(bytes.toString()));
    } catch {
      throw new FrameError(`its ${bytes.length} bytes are no known frame`);
    }
  }
  if (bytes.length < DATA_HEADER_BYTES) {
    throw new FrameError(`it ends after ${bytes.length} bytes`);
  }
  return {
    kind: "data",
    sender: bytes.readUIntBE(1, 6),
    start: bytes.readUIntBE(7, 6),
    taken: bytes.readUIntBE(13, 6),
    room: bytes.readUInt32BE(19),
  };
}

/** Encodes a frame that is not of messages. */
export const encodeFrame = (frame: NamedFrame): Buffer =>
  Buffer.from(JSON.stringify(frame));

/** Writes the header of a `data` frame in front of its items. */
export function writeDataHeader(
  frame: Buffer,
  { sender, start, taken, room }: DataHeader,
): Buffer {
  frame[0] = DATA;
  frame.writeUIntBE(sender, 1, 6);
  frame.writeUIntBE(start, 7, 6);
  frame.writeUIntBE(taken, 13, 6);
  frame.writeUInt32BE(room, 19);
  return frame;
}

// ------------------------------------------------------------------ items

/** The item begins a message. */
const FIRST = 1;
/** The item ends a message. */
const LAST = 2;

/** Bytes in front of an item: flags, its length, its slot, and the length of the message. */
export const ITEM_HEADER_BYTES = 11;

/** A message in parts, or a piece of it. */
export interface Piece {
  readonly parts: readonly Uint8Array[];
  /** The length of the message. */
  readonly total: number;
  /** Where the piece begins in the message. */
  readonly start: number;
  /** The length of the piece. */
  readonly length: number;
  /** Distinguishes the pieces of messages that are in flight at a time. */
  readonly slot: number;
}

/** An item as the receiver reads it. */
export interface Item {
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly slot: number;
  /** The length of the message. */
  readonly total: number;
  /** A part of the frame. */
  readonly content: Buffer;
}

/**
 * Writes a piece into a frame.
 *
 * @returns where the next one begins
 */
function writeItem(frame: Buffer, at: number, piece: Piece): number {
  const { parts, start, length, total, slot } = piece;
  frame[at] = (start === 0 ? FIRST : 0) | (start + length === total ? LAST : 0);
  frame.writeUInt32BE(length, at + 1);
  frame.writeUInt16BE(slot, at + 5);
  frame.writeUInt32BE(total, at + 7);
  at += ITEM_HEADER_BYTES;
  let begin = 0; // of a part in the message
  for (const part of parts) {
    const first = Math.max(0, start - begin);
    const end = Math.min(part.length, start + length - begin);
    begin += part.length;
    if (first >= end) continue;
    frame.set(part.subarray(first, end), at);
    at += end - first;
  }
  return at;
}

/**
 * Reads the items of a frame.
 *
 * @throws {FrameError} at the first one that is cut off or wrong; those before it were taken
 */
export function* readItems(frame: Buffer, start: number): Generator<Item> {
  for (let at = start; at < frame.length;) {
    const left = frame.length - at - ITEM_HEADER_BYTES;
    const flags = frame.readUInt8(at);
    const length = left < 0 ? 0 : frame.readUInt32BE(at + 1);
    if (left < 0 || left < length) throw new FrameError("an item is cut off");
    if (flags > (FIRST | LAST)) {
      throw new FrameError(`an item has the flags ${flags}`);
    }
    const begin = at + ITEM_HEADER_BYTES;
    yield {
      isFirst: (flags & FIRST) !== 0,
      isLast: (flags & LAST) !== 0,
      slot: frame.readUInt16BE(at + 5),
      total: frame.readUInt32BE(at + 7),
      content: frame.subarray(begin, begin + length),
    };
    at = begin + length;
  }
}

/** What a queue costs for each message, above its bytes. */
const OVERHEAD_BYTES = 64;

/** Short messages still fit into a full queue: the refusal of another message is one of them. */
const SHORT_BYTES = 1024;

/** How many messages in pieces are in flight at a time: the receiver has room for these only. */
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
 * Streams take turns, with a message each; larger ones travel in pieces, a few at a time, so that neither a
 * flood of small messages nor large ones keep the others waiting. Messages of one stream stay in order.
 */
export class Outbox {
  /** Bytes that wait. */
  bytes = 0;
  readonly #pieceBytes: number;
  readonly #maxBytes: number;
  /** In the order of their turns. */
  readonly #streams = new Map<string, Stream>();
  #open = 0;
  #slot = 0;

  constructor(pieceBytes: number, maxBytes: number) {
    this.#pieceBytes = pieceBytes;
    this.#maxBytes = maxBytes;
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
    if (this.bytes > 0 && this.bytes + bytes > most) return false;
    this.bytes += bytes;
    const message: Message = { parts, length, next: undefined };
    const stream = this.#streams.get(name);
    if (stream) stream.last = stream.last.next = message;
    else {
      const first = message;
      const last = message;
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
    if (this.bytes === 0) return undefined;
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
    this.bytes = this.#open = 0;
  }

  #takePieces(): readonly Piece[] {
    const pieces: Piece[] = [];
    const most = this.#pieceBytes / (this.#streams.size > 1 ? 2 : 1);
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
      this.bytes -= length;
      this.#streams.delete(name);
      stream.sent += length;
      if (length === left) {
        this.bytes -= OVERHEAD_BYTES;
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

/** Puts the messages of a link together. */
export class Inbox {
  readonly #maxMessageBytes: number;
  readonly #partial = new Map<number, { message: Buffer; filled: number }>();
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
    if (!partial) throw new FrameError("a piece is of no message");
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
    if (this.#partial.has(slot)) throw new FrameError("a message begins twice");
    if (this.#partial.size >= MAX_OPEN_MESSAGES) {
      throw new FrameError("too many messages in pieces");
    }
    this.#partial.set(slot, { message: Buffer.allocUnsafe(total), filled: 0 });
  }
}
