import { Buffer } from "node:buffer";
import { MessageBuffer, PADDING } from "./message_buffer.ts";
import { unmask } from "./unmask.ts";

/** What is collected in a buffer of its own; smaller frames wait for the rest of their chunk. */
const LARGE = 4096;

/** Opcodes of RFC 6455. */
export const Opcode = {
  CONTINUATION: 0x0,
  TEXT: 0x1,
  BINARY: 0x2,
  CLOSE: 0x8,
  PING: 0x9,
  PONG: 0xa,
} as const;

/** A client broke the rules of the protocol; `code` is what the connection is closed with. */
export class FrameError extends Error {
  /** Always `"FrameError"`. */
  override readonly name = "FrameError";
  /** As RFC 6455 lists it. */
  readonly code: number;

  /** Closes with `code`. */
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Who gets what was read. */
export interface FrameListener {
  /**
   * A whole message.
   *
   * @param ownsBuffer whether `bytes` hold nothing else, with `PADDING` bytes before `start`
   */
  message(
    bytes: Buffer,
    start: number,
    end: number,
    isText: boolean,
    ownsBuffer: boolean,
  ): void;
  /** A close, ping or pong frame. */
  control(opcode: number, payload: Buffer): void;
}

interface Head {
  readonly fin: boolean;
  readonly opcode: number;
  readonly length: number;
  readonly mask: number;
}

/** A large frame whose payload has not all arrived. */
interface Unfinished {
  readonly head: Head;
  readonly message: MessageBuffer;
  have: number;
}

const MAX_CONTROL = 125;

/** Frames of one message, with the control frames that come between them: each costs time. */
const MAX_FRAMES = 16_384;

/** What is set aside for a frame on its mere announcement. */
const FIRST_PART = 2 ** 18;

/** How many times as much as has come is set aside, up to what was announced. */
const FIRST_FACTOR = 16;

/** Reads a client's WebSocket frames from the chunks in which they arrive (RFC 6455 §5). */
export class FrameReader {
  /** How many messages were complete. */
  messages = 0;
  #maxPayload: number;
  readonly #listener: FrameListener;
  #rest: Buffer | undefined;
  #unfinished: Unfinished | undefined;
  /** Of the frames that came of a message in several. */
  #message: MessageBuffer | undefined;
  #frames = 0;
  #opcode: number = Opcode.CONTINUATION;
  #stopped = false;

  /** @param maxPayload bytes of one message; more is refused with 1009 */
  constructor(maxPayload: number, listener: FrameListener) {
    this.#maxPayload = maxPayload;
    this.#listener = listener;
  }

  /** Whether a message has begun and not ended. */
  get pending(): boolean {
    return this.#unfinished !== undefined || this.#rest !== undefined ||
      this.#message !== undefined;
  }

  /** Bytes that have come of the message that has not ended. */
  get held(): number {
    const { length = 0 } = this.#message ?? {};
    return length + (this.#unfinished?.have ?? this.#rest?.length ?? 0);
  }

  /** Bytes that are set aside for it, in a buffer of its own. */
  get reserved(): number {
    return (this.#unfinished?.message ?? this.#message)?.bytes.length ?? 0;
  }

  /** Takes messages of so many bytes from the next frame on. */
  limit(maxPayload: number): void {
    this.#maxPayload = maxPayload;
  }

  /** Reads nothing any more. */
  stop(): void {
    this.#stopped = true;
    this.#rest = this.#unfinished = this.#message = undefined;
  }

  /**
   * Reads what arrived; its bytes are the reader's own from now on.
   *
   * @throws {FrameError} for what no client may send
   */
  push(chunk: Buffer): void {
    let at = this.#unfinished ? this.#fill(this.#unfinished, chunk) : 0;
    if (this.#rest !== undefined) {
      chunk = Buffer.concat([this.#rest, chunk]);
      this.#rest = undefined;
    }
    while (at < chunk.length && !this.#stopped) {
      const next = this.#readFrame(chunk, at);
      if (next === undefined) {
        // A copy: the chunk may be much larger.
        if (!this.#unfinished) this.#rest = Buffer.from(chunk.subarray(at));
        return;
      }
      at = next;
    }
  }

  /** @returns where the next frame starts; `undefined` when the chunk ends before this one */
  #readFrame(chunk: Buffer, at: number): number | undefined {
    const left = chunk.length - at;
    if (left < 2) return undefined;
    const first = chunk[at]!;
    const second = chunk[at + 1]!;
    const fin = (first & 0x80) !== 0;
    const opcode = first & 0x0f;
    if ((first & 0x70) !== 0) throw new FrameError(1002, "RSV must be clear");
    if ((second & 0x80) === 0) throw new FrameError(1002, "MASK must be set");
    let length = second & 0x7f;
    this.#check(fin, opcode, length);
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
    // Control frames may come between the fragments of a message, and are no part of it.
    if (length + before > this.#maxPayload && opcode < Opcode.CLOSE) {
      throw new FrameError(1009, "Max payload size exceeded");
    }
    if (at + left < start) return undefined;
    const mask = chunk.readInt32LE(start - 4);
    const end = start + length;
    if (end <= chunk.length) {
      unmask(chunk, start, end, mask);
      this.#take(chunk, start, end, fin, opcode);
      return end;
    }
    if (length < LARGE) return undefined;
    const have = chunk.length - start;
    const aside = Math.max(FIRST_PART, FIRST_FACTOR * have);
    const message = this.#message ??
      new MessageBuffer(Math.min(length, aside));
    message.write(chunk.subarray(start), 0, before + length);
    const head = { fin, opcode, length, mask };
    this.#unfinished = { head, message, have };
    return undefined;
  }

  /** @throws {FrameError} when such a frame may not come now */
  #check(fin: boolean, opcode: number, length: number): void {
    const open = this.#opcode !== Opcode.CONTINUATION;
    if (opcode === Opcode.TEXT || opcode === Opcode.BINARY) {
      if (open) throw new FrameError(1002, "A message within another one");
    } else if (opcode === Opcode.CONTINUATION) {
      if (!open) throw new FrameError(1002, "Nothing to continue");
    } else if (opcode >= Opcode.CLOSE && opcode <= Opcode.PONG) {
      if (!fin || length > MAX_CONTROL) {
        throw new FrameError(1002, "Invalid control frame");
      }
    } else throw new FrameError(1002, `Invalid opcode ${opcode}`);
  }

  /** @returns how much of the chunk belonged to the frame */
  #fill(unfinished: Unfinished, chunk: Buffer): number {
    const { head, message, have } = unfinished;
    const missing = head.length - have;
    const taken = Math.min(chunk.length, missing);
    const part = taken === chunk.length ? chunk : chunk.subarray(0, taken);
    message.write(part, have, message.length + head.length);
    unfinished.have += taken;
    if (taken < missing) return taken;
    this.#unfinished = undefined;
    const end = message.end + head.length;
    unmask(message.bytes, message.end, end, head.mask);
    message.end = end;
    this.#took(message, head.fin, head.opcode);
    return taken;
  }

  #take(
    bytes: Buffer,
    start: number,
    end: number,
    fin: boolean,
    opcode: number,
  ): void {
    if (opcode >= Opcode.CLOSE) {
      if (this.#message !== undefined) this.#countFrame();
      this.#listener.control(opcode, bytes.subarray(start, end));
    } else if (fin && opcode !== Opcode.CONTINUATION) {
      this.messages++;
      this.#listener.message(bytes, start, end, opcode === Opcode.TEXT, false);
    } else {
      const message = this.#message ?? new MessageBuffer(end - start);
      message.write(bytes.subarray(start, end), 0, this.#maxPayload);
      message.end += end - start;
      this.#took(message, fin, opcode);
    }
  }

  /** Goes on behind a frame whose payload is in the message. */
  #took(message: MessageBuffer, fin: boolean, opcode: number): void {
    if (opcode !== Opcode.CONTINUATION) this.#opcode = opcode;
    if (!fin) {
      this.#message = message;
      this.#countFrame();
      return;
    }
    const isText = this.#opcode === Opcode.TEXT;
    this.#message = undefined;
    this.#frames = 0;
    this.#opcode = Opcode.CONTINUATION;
    this.messages++;
    const { bytes, end } = message;
    this.#listener.message(bytes, PADDING, end, isText, true);
  }

  /** @throws {FrameError} when the message has too many */
  #countFrame(): void {
    if (++this.#frames <= MAX_FRAMES) return;
    throw new FrameError(1008, "Too many frames in one message");
  }
}
