import { Buffer } from "node:buffer";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { ProtocolName } from "../../protocol/mod.ts";
import { PROTOCOL_VERSIONS } from "../../protocol/version.ts";

/** What came for an event: the beginning of its ack, or why there is none. */
export type Reply = { readonly ack: string } | { readonly closed: number };

/** The part of a message that is read; the rest is counted. */
const HEAD_BYTES = 1024;

const TEXT = 0x81;
const CLOSE = 0x8;
const NO_CODE = 1006;

/**
 * A client of one WebSocket with a minimal Socket.IO, that sends prepared bytes: their mask is zero, so
 * that they are neither masked nor encoded, and a large message that it gets is not decoded. What it
 * costs itself must not be taken for the Server's time.
 */
export class RawClient {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  readonly #opened = Promise.withResolvers<boolean>();
  readonly #reader = new FrameHeads((opcode, head) => this.#take(opcode, head));
  #ids = 0;
  #code = NO_CODE;
  /** Whether the connection is open. */
  isOpen = true;
  /** Called with the id and the event of each request of the Server. */
  onRequest: (id: string, event: string) => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay();
    socket.on("data", (chunk: Buffer) => this.#reader.push(chunk));
    socket.on("error", () => {}); // "close" follows
    socket.on("close", () => {
      this.isOpen = false;
      this.#opened.resolve(false);
      for (const end of this.#waiting.values()) end({ closed: this.#code });
      this.#waiting.clear();
    });
  }

  /** Connects to the namespace. @throws {Error} when the Server refuses */
  static async open(port: number, protocol: ProtocolName): Promise<RawClient> {
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    const query = `EIO=4&transport=websocket&a2c_version=${
      PROTOCOL_VERSIONS[protocol]
    }`;
    socket.write(
      `GET /smcp/?${query} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n` +
        "Connection: Upgrade\r\nUpgrade: websocket\r\n" +
        "Sec-WebSocket-Version: 13\r\n" +
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    );
    const client = new RawClient(socket);
    if (await client.#opened.promise) return client;
    throw new Error(`The Server refused a client of ${protocol}`);
  }

  /** Sends an event; resolves with its answer, or once the connection has closed without one. */
  ask(event: string, body: Uint8Array): Promise<Reply> {
    if (!this.isOpen) return Promise.resolve({ closed: this.#code });
    const id = this.#ids++;
    const { promise, resolve } = Promise.withResolvers<Reply>();
    this.#waiting.set(id, resolve);
    this.#write(`42/smcp,${id}["${event}",`, body, "]");
    return promise;
  }

  /** Sends an event without asking for an answer. */
  tell(event: string, body: Uint8Array): void {
    this.#write(`42/smcp,["${event}",`, body, "]");
  }

  /** Answers a request. */
  answer(id: string, body: Uint8Array): void {
    this.#write(`43/smcp,${id}[`, body, "]");
  }

  /** Closes the connection. */
  close(): void {
    this.#socket.destroy();
  }

  #write(before: string, body: Uint8Array, after: string): void {
    if (!this.isOpen) return;
    const socket = this.#socket;
    socket.cork();
    socket.write(frameHead(before.length + body.length + after.length));
    socket.write(before);
    socket.write(body);
    socket.write(after);
    socket.uncork();
  }

  #take(opcode: number, head: Buffer): void {
    if (opcode === CLOSE) {
      this.#code = head.length < 2 ? NO_CODE : head.readUInt16BE();
      return void this.#socket.end();
    }
    const text = head.toString();
    if (text === "2") return this.#write("3", NOTHING, "");
    if (text.startsWith("0{")) return this.#write("40/smcp,", NOTHING, "");
    if (text.startsWith("40/smcp,")) return this.#opened.resolve(true);
    if (text.startsWith("44/smcp,")) return this.#opened.resolve(false);
    const [, kind, id = "", rest = ""] = PACKET.exec(text) ?? [];
    if (kind === "3") {
      this.#waiting.get(Number(id))?.({ ack: rest });
      this.#waiting.delete(Number(id));
    } else if (kind === "2" && id !== "") {
      this.onRequest(id, /^\["([^"]*)"/.exec(rest)?.[1] ?? "");
    }
  }
}

const NOTHING = new Uint8Array();

/** An event or an ack of the namespace. */
const PACKET = /^4([23])\/smcp,(\d*)([^]*)/;

/** The head of a masked text frame, whose mask is zero. */
function frameHead(length: number): Buffer {
  const head = Buffer.alloc(14);
  head[0] = TEXT;
  if (length < 126) {
    head[1] = 0x80 | length;
    return head.subarray(0, 6);
  }
  if (length < 65_536) {
    head[1] = 0x80 | 126;
    head.writeUInt16BE(length, 2);
    return head.subarray(0, 8);
  }
  head[1] = 0x80 | 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

/** Reads the frames of a server after its answer to the upgrade, of each only the beginning. */
class FrameHeads {
  readonly #take: (opcode: number, head: Buffer) => void;
  #rest: Buffer = Buffer.alloc(0);
  #isUpgraded = false;
  /** Bytes of a large frame that are still to come. */
  #skipped = 0;

  constructor(take: (opcode: number, head: Buffer) => void) {
    this.#take = take;
  }

  push(chunk: Buffer): void {
    const dropped = Math.min(this.#skipped, chunk.length);
    this.#skipped -= dropped;
    const left = chunk.subarray(dropped);
    if (left.length === 0) return;
    this.#rest = this.#rest.length === 0
      ? left
      : Buffer.concat([this.#rest, left]);
    if (!this.#isUpgraded) {
      const end = this.#rest.indexOf("\r\n\r\n");
      if (end === -1) return;
      this.#isUpgraded = true;
      this.#rest = this.#rest.subarray(end + 4);
    }
    while (this.#frame());
  }

  /** Takes a frame; returns whether there may be another one. */
  #frame(): boolean {
    const bytes = this.#rest;
    const [first = 0, second = 0] = bytes;
    if (bytes.length < 2) return false;
    const start = second < 126 ? 2 : second === 126 ? 4 : 10;
    if (bytes.length < start) return false;
    const length = second < 126
      ? second
      : second === 126
      ? bytes.readUInt16BE(2)
      : Number(bytes.readBigUInt64BE(2));
    const headEnd = start + Math.min(length, HEAD_BYTES);
    if (bytes.length < headEnd) return false;
    const end = Math.min(start + length, bytes.length);
    this.#skipped = start + length - end;
    this.#rest = bytes.subarray(end);
    // Further frames of a message, with opcode 0, are of no interest.
    this.#take(first & 0x0f, bytes.subarray(start, headEnd));
    return this.#rest.length > 0;
  }
}
