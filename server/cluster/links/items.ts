import type { Buffer } from "node:buffer";
import { FrameError } from "./frame.ts";

/** The item begins a message. */
const FIRST = 1;
/** The item ends a message. */
const LAST = 2;

/** Bytes in front of a message that is not in pieces. */
export const WHOLE_HEADER_BYTES = 5;
const PIECE_HEADER_BYTES = 7;
const FIRST_HEADER_BYTES = 11;

/** The most bytes in front of an item. */
export const MAX_ITEM_HEADER_BYTES = FIRST_HEADER_BYTES;

/** A message in parts, or a piece of it. */
export interface Piece {
  readonly parts: readonly Uint8Array[];
  /** The length of the message. */
  readonly total: number;
  /** Where the piece begins in the message. */
  readonly start: number;
  /** The length of the piece. */
  readonly length: number;
  /** Tells the pieces of messages apart that are on their way at once; unused for a whole message. */
  readonly slot: number;
}

/** An item as the receiver reads it. */
export interface Item {
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly slot: number;
  /** The length of the message, on its first item. */
  readonly total: number;
  /** A part of the frame. */
  readonly content: Buffer;
}

/** Returns how many bytes a piece takes in a frame. */
export function itemBytes({ start, length, total }: Piece): number {
  if (start > 0) return PIECE_HEADER_BYTES + length;
  return (length === total ? WHOLE_HEADER_BYTES : FIRST_HEADER_BYTES) + length;
}

/**
 * Writes a piece into a frame.
 *
 * @returns where the next one begins
 */
export function writeItem(frame: Buffer, at: number, piece: Piece): number {
  const { start, length, total } = piece;
  const flags = (start === 0 ? FIRST : 0) |
    (start + length === total ? LAST : 0);
  frame[at] = flags;
  frame.writeUInt32BE(length, at + 1);
  if (flags === (FIRST | LAST)) {
    return copyParts(frame, at + WHOLE_HEADER_BYTES, piece);
  }
  frame.writeUInt16BE(piece.slot, at + 5);
  if (start > 0) return copyParts(frame, at + PIECE_HEADER_BYTES, piece);
  frame.writeUInt32BE(total, at + 7);
  return copyParts(frame, at + FIRST_HEADER_BYTES, piece);
}

function copyParts(
  frame: Buffer,
  at: number,
  { parts, start, length }: Piece,
): number {
  let skip = start;
  let left = length;
  for (const part of parts) {
    if (skip >= part.length) {
      skip -= part.length;
      continue;
    }
    if (left === 0) break;
    const end = Math.min(part.length, skip + left);
    const isAll = skip === 0 && end === part.length;
    frame.set(isAll ? part : part.subarray(skip, end), at);
    at += end - skip;
    left -= end - skip;
    skip = 0;
  }
  return at;
}

/**
 * Reads the items of a frame.
 *
 * @param take is called with each; returns whether the next one is wanted
 * @throws {FrameError} at the first one that is cut off or wrong; those before it were taken
 */
export function readItems(
  frame: Buffer,
  start: number,
  take: (item: Item) => boolean,
): void {
  let at = start;
  while (at < frame.length) {
    const flags = frame.readUInt8(at);
    if (flags > (FIRST | LAST)) {
      throw new FrameError(`an item has the flags ${flags}`);
    }
    const isFirst = (flags & FIRST) !== 0;
    const isLast = (flags & LAST) !== 0;
    const isWhole = isFirst && isLast;
    const header = isWhole
      ? WHOLE_HEADER_BYTES
      : isFirst
      ? FIRST_HEADER_BYTES
      : PIECE_HEADER_BYTES;
    if (frame.length - at < header) throw cutOff();
    const length = frame.readUInt32BE(at + 1);
    const slot = isWhole ? 0 : frame.readUInt16BE(at + 5);
    const total = isWhole ? length : isFirst ? frame.readUInt32BE(at + 7) : 0;
    at += header;
    if (frame.length - at < length) throw cutOff();
    const content = frame.subarray(at, at + length);
    at += length;
    if (!take({ isFirst, isLast, slot, total, content })) return;
  }
}

const cutOff = (): FrameError => new FrameError("an item is cut off");
