import { Buffer } from "node:buffer";

/** The version of what nodes say to each other; they work with one that is older or newer by one. */
export const LINK_VERSION = 3;

/** Bytes in front of the items of a `data` frame. */
export const DATA_HEADER_BYTES = 23;

/** Exclusive bound of tokens: they are random, and have 48 bits. */
export const TOKEN_BOUND = 2 ** 48;

/** What one end has received of the other since the two nodes met, in bytes of `data` frames with items. */
export interface Counts {
  /** How much the sender has taken. */
  readonly taken: number;
  /** How much more may follow. */
  readonly room: number;
}

/** A frame of a link. */
export interface Numbered extends Counts {
  readonly link: number;
  readonly seq: number;
}

interface Greeting extends Counts {
  readonly version: number;
  readonly from: string;
  /** The token of the sender's end. */
  readonly token: number;
}

/**
 * What is sent to the channel of a node, as one message of Redis. A link is named by the random tokens of
 * both its ends (see {@linkcode linkOf}).
 */
export type Frame =
  /** Begins a link. */
  | Greeting & { readonly kind: "hello" }
  /** Answers a `hello`. */
  | Greeting & {
    readonly kind: "welcome";
    /** The token that the `hello` had. */
    readonly echo: number;
    /** The number of the sender's next frame on this link. */
    readonly next: number;
  }
  /** Has messages, or pieces of them, behind {@linkcode DATA_HEADER_BYTES}; or only counts. */
  | Numbered & { readonly kind: "data" }
  /** Says that the sender lives. */
  | Numbered & { readonly kind: "beat"; readonly from: string }
  /** Ends a link for good. */
  | Numbered & { readonly kind: "bye"; readonly from: string };

/** Returns the name of a link, which is the same at both ends. */
export const linkOf = (token: number, other: number): number =>
  (token + other) % TOKEN_BOUND;

const HELLO = 1;
const WELCOME = 2;
const DATA = 3;
const BEAT = 4;
const BYE = 5;

/** A frame that cannot be read. */
export class FrameError extends Error {
  override name = "FrameError";
}

/**
 * Reads a frame; what follows the last field of a greeting is of a later version, and is ignored.
 *
 * @throws {FrameError} when it is cut off, or not known
 */
export function decodeFrame(bytes: Buffer): Frame {
  switch (bytes[0]) {
    case DATA:
      return { kind: "data", ...numbersOf(bytes) };
    case BEAT:
      return { kind: "beat", ...numbersOf(bytes), from: nameAt(bytes, 23) };
    case BYE:
      return { kind: "bye", ...numbersOf(bytes), from: nameAt(bytes, 23) };
    case HELLO:
      need(bytes, 18);
      return { kind: "hello", ...greetingOf(bytes), from: nameAt(bytes, 18) };
    case WELCOME:
      need(bytes, 30);
      return {
        kind: "welcome",
        ...greetingOf(bytes),
        echo: bytes.readUIntBE(18, 6),
        next: bytes.readUIntBE(24, 6),
        from: nameAt(bytes, 30),
      };
    default:
      throw new FrameError(
        bytes.length === 0
          ? "it is empty"
          : `its kind ${bytes[0]} is not known`,
      );
  }
}

/** Writes the header of a `data` frame in front of its items. */
export function writeDataHeader(
  frame: Buffer,
  link: number,
  seq: number,
  counts: Counts,
): Buffer {
  return writeNumbers(frame, DATA, { link, seq, ...counts });
}

/** Encodes any other frame. */
export function encodeFrame(frame: Exclude<Frame, { kind: "data" }>): Buffer {
  const name = Buffer.from(frame.from);
  if (name.length < 1 || name.length > 255) {
    throw new TypeError("The id of a node has 1 to 255 bytes");
  }
  if (frame.kind === "beat" || frame.kind === "bye") {
    const bytes = Buffer.allocUnsafe(24 + name.length);
    writeNumbers(bytes, frame.kind === "beat" ? BEAT : BYE, frame);
    return writeName(bytes, 23, name);
  }
  const at = frame.kind === "hello" ? 18 : 30;
  const bytes = Buffer.allocUnsafe(at + 1 + name.length);
  bytes[0] = frame.kind === "hello" ? HELLO : WELCOME;
  bytes[1] = frame.version;
  bytes.writeUIntBE(frame.token, 2, 6);
  bytes.writeUIntBE(frame.taken, 8, 6);
  bytes.writeUInt32BE(frame.room, 14);
  if (frame.kind === "welcome") {
    bytes.writeUIntBE(frame.echo, 18, 6);
    bytes.writeUIntBE(frame.next, 24, 6);
  }
  return writeName(bytes, at, name);
}

function writeNumbers(
  bytes: Buffer,
  kind: number,
  { link, seq, taken, room }: Numbered,
): Buffer {
  bytes[0] = kind;
  bytes.writeUIntBE(link, 1, 6);
  bytes.writeUIntBE(seq, 7, 6);
  bytes.writeUIntBE(taken, 13, 6);
  bytes.writeUInt32BE(room, 19);
  return bytes;
}

function writeName(bytes: Buffer, at: number, name: Uint8Array): Buffer {
  bytes[at] = name.length;
  bytes.set(name, at + 1);
  return bytes;
}

function numbersOf(bytes: Buffer) {
  need(bytes, DATA_HEADER_BYTES);
  return {
    link: bytes.readUIntBE(1, 6),
    seq: bytes.readUIntBE(7, 6),
    taken: bytes.readUIntBE(13, 6),
    room: bytes.readUInt32BE(19),
  };
}

function greetingOf(bytes: Buffer) {
  return {
    version: bytes.readUInt8(1),
    token: bytes.readUIntBE(2, 6),
    taken: bytes.readUIntBE(8, 6),
    room: bytes.readUInt32BE(14),
  };
}

function nameAt(bytes: Buffer, at: number): string {
  need(bytes, at + 1);
  const length = bytes.readUInt8(at);
  if (length === 0) throw new FrameError("it has no name of a node");
  need(bytes, at + 1 + length);
  return bytes.toString("utf8", at + 1, at + 1 + length);
}

function need(bytes: Buffer, length: number): void {
  if (bytes.length < length) {
    throw new FrameError(`it ends after ${bytes.length} bytes`);
  }
}
