/**
 * The frames of WebSockets (RFC 6455): read from the chunks in which they arrive, unmasked in place,
 * collected to messages; and written, where possible around the bytes of a message that came.
 *
 * @module
 */
import { Buffer, isUtf8 } from "node:buffer";
import type { ByteRange, JsonText } from "./json_text.ts";
import { unmaskBlocks } from "./scanner_memory.ts";
import { Char } from "./script_scanner.ts";
import { release } from "../../shared/bytes.ts";

/**
 * Incomplete frames of at least this size get a separate buffer; smaller ones wait for the next
 * chunk.
 */
const LARGE_FRAME_BYTES = 4096;

/** Opcodes of RFC 6455. */
export const Opcode = {
  CONTINUATION: 0x0,
  TEXT: 0x1,
  BINARY: 0x2,
  CLOSE: 0x8,
  PING: 0x9,
  PONG: 0xa,
} as const;

/** A violation of the WebSocket protocol; the connection is closed with `code`. */
export class FrameError extends Error {
  /** Always `"FrameError"`. */
  override readonly name = "FrameError";
  /** Close code of RFC 6455. */
  readonly code: number;

  /** @param code close code of RFC 6455 */
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Receives what a {@linkcode FrameReader} has read. */
export interface FrameListener {
  /** Maximum size of a message in bytes; more is refused with 1009. */
  readonly maxPayload: number;
  /**
   * Receives a complete message.
   *
   * @param message has `PADDING` bytes before it where it owns its buffer
   */
  message(message: ByteRange, isText: boolean): void;
  /** Receives a close, ping or pong frame. */
  control(opcode: number, payload: Buffer): void;
}

/** A large frame whose payload is incomplete. */
interface Unfinished {
  readonly fin: boolean;
  readonly length: number;
  readonly mask: number;
  readonly message: MessageBuffer;
  have: number;
}

const MAX_CONTROL = 125;

/**
 * Frames of at least this size are unmasked as their parts arrive: others would have to wait while one is
 * unmasked as a whole. Of smaller ones {@linkcode unmask} leaves the text where it is read next.
 */
const LONG_FRAME_BYTES = 524_288;

/** Maximum number of frames in a message, including control frames between them: each costs time. */
const MAX_FRAMES = 16_384;

/** Maximum bytes allocated for a frame before its payload arrives. */
const MAX_FIRST_BYTES = 2 ** 18;

/** Bytes allocated per byte that has arrived, up to the announced length. */
const GROWTH_FACTOR = 16;

/** Reads a client's WebSocket frames from the chunks in which they arrive (RFC 6455 §5). */
export class FrameReader {
  /** Number of complete messages so far. */
  messages = 0;
  readonly #listener: FrameListener;
  #rest: Buffer | undefined;
  #unfinished: Unfinished | undefined;
  /** The payload of a fragmented message so far. */
  #message: MessageBuffer | undefined;
  #stopped = false;

  constructor(listener: FrameListener) {
    this.#listener = listener;
  }

  /** Whether a message is unfinished. */
  get pending(): boolean {
    return this.#unfinished !== undefined || this.#rest !== undefined ||
      this.#message !== undefined;
  }

  /** Bytes of the unfinished message that have arrived. */
  get held(): number {
    const { length = 0 } = this.#message ?? {};
    return length + (this.#unfinished?.have ?? this.#rest?.length ?? 0);
  }

  /** Bytes allocated for the unfinished message. */
  get reserved(): number {
    return (this.#unfinished?.message ?? this.#message)?.bytes.length ?? 0;
  }

  /** Stops reading. */
  stop(): void {
    this.#stopped = true;
    this.#rest = this.#unfinished = this.#message = undefined;
  }

  /**
   * Reads a chunk, and takes ownership of its bytes.
   *
   * @throws {FrameError} when the client violates the protocol
   */
  push(chunk: Buffer): void {
    let at = this.#unfinished ? this.#fill(this.#unfinished, chunk) : 0;
    if (at === chunk.length) return release(chunk);
    if (this.#rest !== undefined) {
      chunk = Buffer.concat([this.#rest, chunk]);
      this.#rest = undefined;
    }
    while (at < chunk.length && !this.#stopped) {
      const next = this.#readFrame(chunk, at);
      if (next === undefined) {
        // A copy: the chunk may be much larger.
        if (!this.#unfinished) this.#rest = Buffer.from(chunk.subarray(at));
        // Complete messages before it may still be in use; the incomplete one was copied.
        if (at === 0) release(chunk);
        return;
      }
      at = next;
    }
  }

  /** @returns offset of the next frame; `undefined` when this one is incomplete */
  #readFrame(chunk: Buffer, at: number): number | undefined {
    const left = chunk.length - at;
    if (left < 2) return undefined;
    const first = chunk[at]!;
    const second = chunk[at + 1]!;
    const fin = (first & 0x80) !== 0;
    const opcode = first & 0x0f;
    // Control frames may come between the fragments of a message, and are not part of it.
    const isControl = opcode >= Opcode.CLOSE;
    const isOpen = this.#message !== undefined;
    let length = second & 0x7f;
    if ((first & 0x70) !== 0) throw new FrameError(1002, "RSV must be clear");
    if ((second & 0x80) === 0) throw new FrameError(1002, "MASK must be set");
    if (opcode > (isControl ? Opcode.PONG : Opcode.BINARY)) {
      throw new FrameError(1002, `Invalid opcode ${opcode}`);
    }
    if (isControl && (!fin || length > MAX_CONTROL)) {
      throw new FrameError(1002, "Invalid control frame");
    }
    if (!isControl && isOpen !== (opcode === Opcode.CONTINUATION)) {
      const fault = isOpen
        ? "A message within another one"
        : "Nothing to continue";
      throw new FrameError(1002, fault);
    }
    let start = at + 6;
    if (length === 126) {
      if (left < 8) return undefined;
      length = chunk.readUInt16BE(at + 2);
      start += 2;
    } else if (length === 127) {
      if (left < 14) return undefined;
      length = chunk.readUInt32BE(at + 2) * 2 ** 32 +
        chunk.readUInt32BE(at + 6);
      start += 8;
    }
    const before = this.#message?.length ?? 0;
    if (length + before > this.#listener.maxPayload && !isControl) {
      throw new FrameError(1009, "Max payload size exceeded");
    }
    if (at + left < start) return undefined;
    const mask = chunk.readInt32LE(start - 4);
    const end = start + length;
    if (end <= chunk.length) {
      unmask(chunk, start, end, mask);
      const range = { bytes: chunk, start, end, ownsBuffer: false };
      this.#take(range, fin, opcode);
      return end;
    }
    if (length < LARGE_FRAME_BYTES) return undefined;
    const have = chunk.length - start;
    const aside = Math.max(MAX_FIRST_BYTES, GROWTH_FACTOR * have);
    const message = this.#message ??
      new MessageBuffer(opcode, Math.min(length, aside));
    const unfinished: Unfinished = { fin, length, mask, message, have };
    message.write(chunk.subarray(start), 0, before + length);
    if (length >= LONG_FRAME_BYTES) unmaskPart(unfinished, 0, have);
    this.#unfinished = unfinished;
    return undefined;
  }

  /** @returns number of bytes of the chunk that belong to the frame */
  #fill(unfinished: Unfinished, chunk: Buffer): number {
    const { length, message, have, mask } = unfinished;
    const missing = length - have;
    const taken = Math.min(chunk.length, missing);
    const part = taken === chunk.length ? chunk : chunk.subarray(0, taken);
    message.write(part, have, message.length + length);
    unfinished.have += taken;
    const isLong = length >= LONG_FRAME_BYTES;
    if (isLong) unmaskPart(unfinished, have, unfinished.have);
    if (taken < missing) return taken;
    this.#unfinished = undefined;
    const end = message.end + length;
    if (!isLong) unmask(message.bytes, message.end, end, mask);
    message.end = end;
    this.#took(message, unfinished.fin);
    return taken;
  }

  #take(range: ByteRange, fin: boolean, opcode: number): void {
    const { bytes, start, end } = range;
    if (opcode >= Opcode.CLOSE) {
      this.#message?.countFrame();
      this.#listener.control(opcode, bytes.subarray(start, end));
    } else if (fin && opcode !== Opcode.CONTINUATION) {
      this.messages++;
      this.#listener.message(range, opcode === Opcode.TEXT);
    } else {
      const message = this.#message ?? new MessageBuffer(opcode, end - start);
      message.write(bytes.subarray(start, end), 0, this.#listener.maxPayload);
      message.end += end - start;
      this.#took(message, fin);
    }
  }

  /** Continues after a frame whose payload is in the message. */
  #took(message: MessageBuffer, fin: boolean): void {
    this.#message = fin ? undefined : message;
    if (!fin) return message.countFrame();
    this.messages++;
    const { bytes, end, isText } = message;
    const range = { bytes, start: PADDING, end, ownsBuffer: true };
    this.#listener.message(range, isText);
  }
}

/** Bytes reserved before a collected message for the head and the frame header of its relay. */
const PADDING = 96;

/** Minimum size of the buffer. */
const MIN_BUFFER_BYTES = 1024;

/**
 * Collects the payload of an unfinished message in one buffer, which never grows beyond twice the
 * bytes that have arrived, however small the parts.
 */
class MessageBuffer {
  /** The message, after {@linkcode PADDING} bytes. */
  bytes: Buffer;
  /** End of the complete frames. */
  end: number = PADDING;
  readonly isText: boolean;
  #frames = 0;

  /**
   * @param opcode of its first frame
   * @param first bytes to allocate at first
   */
  constructor(opcode: number, first: number) {
    this.isText = opcode === Opcode.TEXT;
    this.bytes = Buffer.allocUnsafeSlow(
      PADDING + Math.max(first, MIN_BUFFER_BYTES),
    );
  }

  /** Bytes of the complete frames. */
  get length(): number {
    return this.end - PADDING;
  }

  /** @throws {FrameError} when the message has too many frames */
  countFrame(): void {
    if (++this.#frames <= MAX_FRAMES) return;
    throw new FrameError(1008, "Too many frames in one message");
  }

  /**
   * Writes bytes after the complete frames; the caller moves {@linkcode MessageBuffer.end}.
   *
   * @param offset distance from {@linkcode MessageBuffer.end}
   * @param most maximum size of the message in bytes
   */
  write(part: Uint8Array, offset: number, most: number): void {
    const at = this.end + offset;
    const needed = at + part.length;
    if (needed > this.bytes.length) {
      const size = Math.min(PADDING + most, 2 * this.bytes.length);
      const bytes = Buffer.allocUnsafeSlow(Math.max(needed, size));
      bytes.set(this.bytes.subarray(0, at));
      this.bytes = bytes;
    }
    this.bytes.set(part, at);
  }
}

/** Minimum length at which unmasking by words pays for creating the view. */
const MIN_WORDS_LENGTH = 48;

/** Minimum length at which WebAssembly is faster. */
const MIN_BLOCKS_LENGTH = 4096;

/**
 * Removes a client's mask in place (RFC 6455 §5.3).
 *
 * @param mask the four bytes of the mask, little-endian
 */
export function unmask(
  bytes: Buffer,
  start: number,
  end: number,
  mask: number,
): void {
  if (end - start >= MIN_BLOCKS_LENGTH) {
    return unmaskBlocks(bytes, start, end, mask);
  }
  let at = start;
  if (end - start >= MIN_WORDS_LENGTH) {
    for (; (bytes.byteOffset + at & 3) !== 0; at++) {
      bytes[at]! ^= mask; // its first byte
      mask = mask >>> 8 | mask << 24;
    }
    const count = end - at >> 2;
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, count);
    for (let i = 0; i < count; i++) words[i]! ^= mask;
    at += count << 2;
  }
  for (; at < end; at++) {
    bytes[at]! ^= mask;
    mask = mask >>> 8 | mask << 24;
  }
}

/** Unmasks a part of a frame that has arrived. */
function unmaskPart(
  { message, mask }: Unfinished,
  from: number,
  to: number,
): void {
  const { bytes, end } = message;
  const bits = (from & 3) << 3; // the mask goes on where the part before ended
  unmask(bytes, end + from, end + to, mask >>> bits | mask << 32 - bits);
}

/**
 * Checks the payload of a close frame (RFC 6455 §7.4).
 *
 * @throws {FrameError} when the code or the reason is invalid
 */
export function checkClose(payload: Buffer): void {
  if (payload.length === 0) return;
  const code = payload.length === 1 ? 0 : payload.readUInt16BE();
  const known = code >= 1000 && code <= 1014 &&
    ![1004, 1005, 1006].includes(code);
  if (!known && !(code >= 3000 && code <= 4999)) {
    throw new FrameError(1002, `Invalid close code ${code}`);
  }
  if (!isUtf8(payload.subarray(2))) throw new FrameError(1007, "Invalid UTF-8");
}

/** Returns the length of a server frame's header. */
const headerLength = (length: number): number =>
  length < 126 ? 2 : length < 65_536 ? 4 : 10;

/** Writes the header of a final, unmasked frame. */
function writeHeader(frame: Buffer, opcode: number, length: number): void {
  frame[0] = 0x80 | opcode;
  if (length < 126) frame[1] = length;
  else if (length < 65_536) {
    frame[1] = 126;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = 127;
    frame.writeUInt32BE(Math.floor(length / 2 ** 32), 2);
    frame.writeUInt32BE(length % 2 ** 32, 6);
  }
}

/** Returns a text message as one frame. */
export const textFrame = (text: string): Buffer =>
  bytesFrame(Opcode.TEXT, Buffer.from(text));

/** Returns a message of bytes, or a control frame. */
export function bytesFrame(opcode: number, payload: Uint8Array): Buffer {
  const header = headerLength(payload.length);
  const frame = Buffer.allocUnsafe(header + payload.length);
  writeHeader(frame, opcode, payload.length);
  frame.set(payload, header);
  return frame;
}

/**
 * Returns a text message of `head`, `body` and `]` as one frame; does not copy the body if its buffer has
 * padding around it.
 *
 * @param head ASCII only
 */
export function jsonFrame(head: string, body: JsonText): Buffer {
  const length = head.length + body.size + 1;
  const header = headerLength(length);
  const before = header + head.length;
  const isInPlace = body.claimPadding(before, 1);
  const frame = isInPlace
    ? body.bytes.subarray(body.start - before, body.end + 1)
    : Buffer.allocUnsafe(header + length);
  writeHeader(frame, Opcode.TEXT, length);
  // A loop is faster than native methods for few characters.
  for (let i = 0; i < head.length; i++) frame[header + i] = head.charCodeAt(i);
  if (!isInPlace) body.bytes.copy(frame, before, body.start, body.end);
  frame[frame.length - 1] = Char.CLOSE_ARRAY;
  return frame;
}
