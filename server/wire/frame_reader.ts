import { Buffer } from "node:buffer";
import { unmask } from "./unmask.ts";

/** Bytes in front of a large message, where its next head and its next frame's header fit in. */
export const ROOM = 96;

/** What is collected in a buffer of its own; smaller messages wait for the rest of their chunk. */
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
   * @param room whether `bytes` hold nothing else, with {@linkcode ROOM} bytes before `start`
   */
  message(
    bytes: Buffer,
    start: number,
    end: number,
    isText: boolean,
    room: boolean,
  ): void;
  /** A close, ping or pong frame. */
  control(opcode: number, payload: Buffer): void;
}

/** A frame whose payload has not all arrived. */
interface Unfinished {
  readonly head: Head;
  bytes: Buffer;
  have: number;
}

interface Head {
  readonly fin: boolean;
  readonly opcode: number;
  readonly length: number;
  readonly mask: number;
}

const MAX_CONTROL = 125;

/** Empty ones cost memory too. */
const MAX_FRAGMENTS = 16_384;

/** What is set aside for a message on its mere announcement; more when so much has come. */
const FIRST_PART = 2 ** 20;

/** Reads a client's WebSocket frames from the chunks in which they arrive (RFC 6455 §5). */
export class FrameReader {
  readonly #maxPayload: number;
  readonly #listener: FrameListener;
  #rest: Buffer | undefined;
  #unfinished: Unfinished | undefined;
  #fragments: Buffer[] = [];
  #fragmented = 0;
  #opcode: number = Opcode.CONTINUATION;
  #stopped = false;

  /** @param maxPayload bytes of one message; more is refused with 1009 */
  constructor(maxPayload: number, listener: FrameListener) {
    this.#maxPayload = maxPayload;
    this.#listener = listener;
  }

  /** Reads nothing any more. */
  stop(): void {
    this.#stopped = true;
    this.#rest = this.#unfinished = undefined;
    this.#fragments = [];
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
    // Control frames may come between the fragments of a message, and are no part of it.
    if (
      length + this.#fragmented > this.#maxPayload && opcode < Opcode.CLOSE
    ) {
      throw new FrameError(1009, "Max payload size exceeded");
    }
    if (at + left < start) return undefined;
    const mask = chunk.readInt32LE(start - 4);
    const end = start + length;
    if (end <= chunk.length) {
      unmask(chunk, start, end, mask);
      this.#take(chunk, start, end, fin, opcode, false);
      return end;
    }
    if (length < LARGE) return undefined;
    const have = chunk.length - start;
    const bytes = Buffer.allocUnsafeSlow(
      ROOM + Math.min(length, Math.max(FIRST_PART, have)),
    );
    bytes.set(chunk.subarray(start), ROOM);
    this.#unfinished = { head: { fin, opcode, length, mask }, bytes, have };
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
    const { head, have } = unfinished;
    const missing = head.length - have;
    const taken = Math.min(chunk.length, missing);
    unfinished.have += taken;
    makeRoom(unfinished);
    const { bytes } = unfinished;
    bytes.set(
      taken === chunk.length ? chunk : chunk.subarray(0, taken),
      ROOM + have,
    );
    if (taken < missing) return taken;
    this.#unfinished = undefined;
    const end = ROOM + head.length;
    unmask(bytes, ROOM, end, head.mask);
    this.#take(bytes, ROOM, end, head.fin, head.opcode, true);
    return taken;
  }

  #take(
    bytes: Buffer,
    start: number,
    end: number,
    fin: boolean,
    opcode: number,
    room: boolean,
  ): void {
    if (opcode >= Opcode.CLOSE) {
      this.#listener.control(opcode, bytes.subarray(start, end));
    } else if (fin && opcode !== Opcode.CONTINUATION) {
      this.#listener.message(bytes, start, end, opcode === Opcode.TEXT, room);
    } else this.#takeFragment(bytes.subarray(start, end), fin, opcode);
  }

  #takeFragment(payload: Buffer, fin: boolean, opcode: number): void {
    if (opcode !== Opcode.CONTINUATION) this.#opcode = opcode;
    this.#fragments.push(payload);
    this.#fragmented += payload.length;
    if (this.#fragments.length > MAX_FRAGMENTS) {
      throw new FrameError(1009, "Too many fragments");
    }
    if (!fin) return;
    const bytes = Buffer.concat(this.#fragments);
    const isText = this.#opcode === Opcode.TEXT;
    this.#fragments = [];
    this.#fragmented = 0;
    this.#opcode = Opcode.CONTINUATION;
    this.#listener.message(bytes, 0, bytes.length, isText, false);
  }
}

/** Doubles the buffer when what has come does not fit in. */
function makeRoom(unfinished: Unfinished): void {
  const { head, bytes, have } = unfinished;
  if (ROOM + have <= bytes.length) return;
  const size = Math.min(head.length, Math.max(have, 2 * bytes.length));
  unfinished.bytes = Buffer.allocUnsafeSlow(ROOM + size);
  unfinished.bytes.set(bytes);
}
