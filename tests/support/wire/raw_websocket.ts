import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import { upgradeHead } from "./raw_http.ts";

/** A frame as a server sent it. */
export interface ServerFrame {
  /** Whether it ends its message. */
  fin: boolean;
  /** The three reserved bits. */
  rsv: number;
  /** The opcode of RFC 6455 §11.8. */
  opcode: number;
  /** Whether it was masked. */
  masked: boolean;
  /** The payload. */
  payload: Buffer;
}

/** Options of a frame that differ from a plain, final one. */
export interface FrameOptions {
  /** Default true. */
  fin?: boolean;
  /** The three reserved bits; default 0. */
  rsv?: number;
  /** The bytes of the mask; `null` sends none. */
  mask?: readonly [number, number, number, number] | null;
  /** Bytes of the length: 0 for the 7 bits of the header, 2 or 8; default what fits. */
  lengthBytes?: 0 | 2 | 8;
}

/** Opcodes by their names. */
export const OP = {
  continuation: 0x0,
  text: 0x1,
  binary: 0x2,
  close: 0x8,
  ping: 0x9,
  pong: 0xa,
} as const;

const MASK = [0x37, 0xfa, 0x21, 0x3d] as const;

/** The header of a client's frame that says to have so many bytes. */
export function frameHeader(
  opcode: number,
  length: number,
  { fin = true, rsv = 0, mask = MASK, lengthBytes }: FrameOptions = {},
): Buffer {
  const bytes = lengthBytes ?? (length < 126 ? 0 : length < 65_536 ? 2 : 8);
  const head = Buffer.alloc(2 + bytes + (mask ? 4 : 0));
  head[0] = (fin ? 0x80 : 0) | rsv << 4 | opcode;
  head[1] = (mask ? 0x80 : 0) |
    (bytes === 0 ? length : bytes === 2 ? 126 : 127);
  if (bytes === 2) head.writeUInt16BE(length, 2);
  if (bytes === 8) head.writeBigUInt64BE(BigInt(length), 2);
  if (mask) head.set(mask, 2 + bytes);
  return head;
}

/** A frame as a client sends it. */
export function clientFrame(
  opcode: number,
  payload: string | Uint8Array,
  options: FrameOptions = {},
): Buffer {
  const { mask = MASK } = options;
  const bytes = Buffer.from(payload);
  const head = frameHeader(opcode, bytes.length, options);
  if (mask) bytes.forEach((byte, i) => bytes[i] = byte ^ mask[i & 3]!);
  return Buffer.concat([head, bytes]);
}

/** A close frame with a code, and what follows it. */
export function closeFrame(
  code?: number,
  reason: string | Uint8Array = "",
): Buffer {
  if (code === undefined) return clientFrame(OP.close, "");
  const head = Buffer.alloc(2);
  head.writeUInt16BE(code);
  return clientFrame(OP.close, Buffer.concat([head, Buffer.from(reason)]));
}

/** Options for opening a WebSocket. */
export interface OpenOptions {
  /** Default a new session of the current version. */
  target?: string;
  /** Bytes sent after the request, in the same segment. */
  early?: Uint8Array;
  /** Whether a close frame is answered by one, also the first frame of all; default true. */
  answersClose?: boolean;
}

/** The request target of Engine.IO's WebSocket, with what is added to its query. */
export const webSocketTarget = (query = ""): string =>
  `/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0${query}`;

/** A WebSocket over bare TCP: each byte that a client may or may not send can be sent. */
export class RawWebSocket implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #frames: ServerFrame[] = [];
  #bytes = Buffer.alloc(0);
  #upgraded = false;
  #changed = () => {};
  #over = false;
  /** Resolves with the code of the server's close frame once TCP is closed: 1005 without a code, 1006 without a frame. */
  readonly closed: Promise<number>;
  /** Whether the server sent a close frame. */
  closing = false;
  /** Whether a close frame is answered by one, as a client must. */
  answersClose = true;

  private constructor(port: number) {
    this.#socket = connect(port, "127.0.0.1");
    this.#socket.setNoDelay();
    let code = 1006;
    this.#socket.on("data", (chunk: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, chunk]);
      this.#readHead();
      for (let f = this.#readFrame(); f; f = this.#readFrame()) {
        if (f.opcode === OP.close) {
          code = f.payload.length < 2 ? 1005 : f.payload.readUInt16BE();
          this.closing = true;
          if (this.answersClose) this.write(clientFrame(OP.close, f.payload));
        }
        this.#frames.push(f);
      }
      this.#changed();
    });
    this.#socket.on("error", () => {}); // "close" follows
    this.closed = new Promise((resolve) =>
      this.#socket.on("close", () => {
        this.#over = true;
        resolve(code);
        this.#changed();
      })
    );
  }

  /** Sends a request to upgrade, and resolves when it is answered 101; rejects when it is not. */
  static async open(
    port: number,
    {
      target = webSocketTarget(),
      early = Buffer.alloc(0),
      answersClose = true,
    }: OpenOptions = {},
  ): Promise<RawWebSocket> {
    const raw = new RawWebSocket(port);
    raw.answersClose = answersClose;
    const head = [...upgradeHead(target), "", ""].join("\r\n");
    raw.write(Buffer.concat([Buffer.from(head), early]));
    while (!raw.#upgraded) {
      if (raw.#over) throw new Error(`Not upgraded: ${raw.#bytes}`);
      await raw.#change();
    }
    return raw;
  }

  /** Opens a session and connects it to the namespace. */
  static async connect(port: number): Promise<RawWebSocket> {
    const raw = await RawWebSocket.open(port);
    await raw.text("0{");
    raw.send("40/smcp,");
    await raw.text("40/smcp,{");
    return raw;
  }

  /** Sends bytes as they are, in one go. */
  write(...parts: Uint8Array[]): void {
    if (!this.#over) this.#socket.write(Buffer.concat(parts));
  }

  /** Resolves when bytes are given to the system. */
  written(bytes: Uint8Array): Promise<void> {
    if (this.#over) return Promise.resolve();
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()));
  }

  /** Sends a text or binary message of one frame. */
  send(message: string | Uint8Array): void {
    const opcode = typeof message === "string" ? OP.text : OP.binary;
    this.write(clientFrame(opcode, message));
  }

  /** Whether TCP is closed. */
  get over(): boolean {
    return this.#over;
  }

  /** Reads nothing any more, so that what the server sends waits there. */
  pause(): void {
    this.#socket.pause();
  }

  /** Reads again. */
  resume(): void {
    this.#socket.resume();
  }

  /** Resolves with the next frame; rejects when the connection ends before. */
  async frame(): Promise<ServerFrame> {
    while (true) {
      const frame = this.#frames.shift();
      if (frame) return frame;
      if (this.#over) throw new Error("Closed while waiting for a frame");
      await this.#change();
    }
  }

  /** Resolves with the next text message that starts like this; drops frames before it. */
  async text(start: string): Promise<string> {
    while (true) {
      const { opcode, payload } = await this.frame();
      const text = payload.toString();
      if (opcode === OP.text && text.startsWith(start)) return text;
    }
  }

  /** Sends an event that is answered, and waits for the answer: all that came before has been read by then. */
  async alive(id = 999): Promise<void> {
    this.send(`42/smcp,${id}["server:list_room",{}]`);
    await this.text(`43/smcp,${id}[`);
  }

  /** Ends this side of TCP. */
  end(): void {
    this.#socket.end();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#changed = resolve);
  }

  #readHead(): void {
    if (this.#upgraded) return;
    const end = this.#bytes.indexOf("\r\n\r\n");
    if (end === -1) return;
    this.#upgraded = this.#bytes.indexOf("HTTP/1.1 101 ") === 0;
    if (this.#upgraded) this.#bytes = this.#bytes.subarray(end + 4);
  }

  #readFrame(): ServerFrame | undefined {
    const bytes = this.#bytes;
    if (!this.#upgraded || bytes.length < 2) return undefined;
    const first = bytes[0]!;
    const masked = (bytes[1]! & 0x80) !== 0;
    const short = bytes[1]! & 0x7f;
    const start = 2 + (short < 126 ? 0 : short === 126 ? 2 : 8) +
      (masked ? 4 : 0);
    if (bytes.length < start) return undefined;
    const length = short < 126
      ? short
      : short === 126
      ? bytes.readUInt16BE(2)
      : Number(bytes.readBigUInt64BE(2));
    if (bytes.length < start + length) return undefined;
    this.#bytes = bytes.subarray(start + length);
    return {
      fin: (first & 0x80) !== 0,
      rsv: first >> 4 & 7,
      opcode: first & 0x0f,
      masked,
      payload: bytes.subarray(start, start + length),
    };
  }

  /** Breaks the connection off. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy();
    await this.closed;
  }
}
