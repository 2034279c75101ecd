import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import * as z from "../../../protocol/schema.ts";

/** The version of what nodes say to each other; they work with one that is older or newer by one. */
export const LINK_VERSION = 6;

const whole = z.int().check(z.minimum(0));

/** The frames that are JSON; fields of a later version are ignored. */
const named = z.object({
  /** Says that the sender lives, or ends a link for good. */
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

/** The header of a frame of messages. */
export interface DataHeader extends Counts {
  /** The sender, see {@linkcode shortOf}. */
  readonly sender: number;
  /** How many bytes were sent before it. */
  readonly start: number;
}

/** What is sent to the channel of a node, as one message of Redis. */
export type Frame =
  | NamedFrame
  /** Has messages, or pieces of them, behind {@linkcode DATA_HEADER_BYTES}; or only counts. */
  | DataHeader & { readonly kind: "data" };

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
  /** Tells the pieces of messages apart that are on their way at once. */
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
export function writeItem(frame: Buffer, at: number, piece: Piece): number {
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
