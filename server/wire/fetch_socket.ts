/**
 * WebSockets that a platform reads and writes, which hand over whole messages.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { failure, log } from "../shared/log.ts";
import { type SharedText, TapSocket } from "./wire_connection.ts";
import type { JsonText } from "./json_text.ts";

/** The part of a platform's WebSocket that is used. */
export interface PlatformSocket {
  /** How binary messages are handed over. */
  binaryType: string;
  /** 0 connecting, 1 open, 2 closing, 3 closed. */
  readonly readyState: number;
  /** Bytes that are queued; 0 once it is closing, whatever is queued then. */
  readonly bufferedAmount: number;
  /** Called when it is open. */
  onopen: (() => void) | null;
  /** Called with each message. */
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  /** Called when it failed; before it is open, no close follows. */
  onerror: (() => void) | null;
  /** Called when it is closed. */
  onclose: ((event: { readonly code: number }) => void) | null;
  /** Queues a message. */
  send(data: string | Uint8Array): void;
  /** Queues a close frame. */
  close(code?: number): void;
  /** Ends the connection immediately, where the platform can. */
  terminate?(): void;
}

/** Bytes of messages and bodies in both directions. */
export interface ByteCount {
  /** From clients. */
  received: number;
  /** To clients. */
  sent: number;
}

const CONNECTING = 0;
const OPEN = 1;

/**
 * The server's end of a platform's WebSocket.
 *
 * A platform collects a message of any size before it shows, and most give no way to destroy a
 * connection: closing puts a close frame behind all that is queued. So a peer that exceeds a limit is
 * asked to close, nothing is sent to it any more, and {@linkcode FetchSocket.whenGone} calls back when it has
 * gone.
 *
 * Events: `message` (text or `Buffer`, whether it is binary), `error`, and `close` (code, reason) once.
 */
export class FetchSocket extends TapSocket {
  readonly _socket: TapSocket["_socket"];
  readonly #ws: PlatformSocket;
  readonly #bytes: ByteCount;
  /** Messages that came before there was a listener. */
  #early: unknown[] | undefined = [];
  #isToldClosed = false;
  #isGone = false;

  /**
   * @param ws a WebSocket that is not open yet
   * @param maxPayload maximum size of a message in bytes
   * @param earlyPayload maximum size of a message in bytes before the peer is admitted
   * @param bytes counts those of messages
   */
  constructor(
    ws: PlatformSocket,
    maxPayload: number,
    earlyPayload: number,
    bytes: ByteCount,
  ) {
    super(maxPayload, earlyPayload);
    this.#ws = ws;
    this.#bytes = bytes;
    this._socket = {
      get writable() {
        return ws.readyState === OPEN;
      },
      get writableLength() {
        return ws.bufferedAmount;
      },
      write: (message) => ws.send(message),
      destroy: () => this.#destroy(),
    };
    ws.binaryType = "arraybuffer";
    ws.onmessage = ({ data }) => this.#receive(data);
    ws.onclose = ({ code }) => this.#end(code);
    ws.onerror = () => {
      if (ws.readyState === CONNECTING) this.#end(0);
    };
  }

  start(): void {
    queueMicrotask(() => {
      const early = this.#early ?? [];
      this.#early = undefined;
      for (const data of early) this.#receive(data);
    });
  }

  /** Sends a message of text or bytes. */
  send(data: string | Uint8Array): void {
    this.#write(data, Buffer.byteLength(data));
  }

  override sendJson(head: string, body: JsonText): void {
    this.#write(`${head}${body.text()}]`, head.length + body.size + 1);
  }

  override sendShared({ text }: SharedText): void {
    this.send(text);
  }

  /** Asks the peer to close, after all that is queued for it. */
  close(code?: number): void {
    if (this.isClosing) return;
    this.isClosing = true;
    this.#ws.close(code);
  }

  /** Calls back when the closed connection takes nothing of this process any more. */
  whenGone(gone: () => void): void {
    if (this.#isGone) gone();
    else this.once("gone", gone);
  }

  #receive(data: unknown): void {
    if (this.isClosing) return;
    if (this.#early) return void this.#early.push(data);
    try {
      this.#take(data);
    } catch (error) {
      // An uncaught error would end the process.
      log.error("Reading a WebSocket failed", failure(error));
      this.#fail(1011, "Internal error");
    }
  }

  #take(data: unknown): void {
    if (typeof data !== "string") {
      if (!(data instanceof ArrayBuffer)) return;
      if (this.#fits(data.byteLength)) {
        this.emit("message", Buffer.from(data), true);
      }
      return;
    }
    const length = Buffer.byteLength(data);
    if (
      !this.#fits(length) || this.tap?.({ text: data, start: 0, end: length })
    ) return;
    this.emit("message", data, false);
  }

  /** Counts a message; closes the connection when it is too large. */
  #fits(length: number): boolean {
    this.#bytes.received += length;
    if (length <= this.maxPayload) return true;
    this.#fail(1009, "Message too large");
    return false;
  }

  #write(message: string | Uint8Array, length: number): void {
    if (this.isClosing) return;
    this.#bytes.sent += length;
    this.write(message, length);
  }

  #fail(code: number, reason: string): void {
    this.close(code);
    this.emit("error", new Error(reason));
  }

  /** Ends a connection whose peer does not read: its session now, TCP now or when the peer reads. */
  #destroy(): void {
    if (this.#ws.terminate) this.#ws.terminate();
    else this.close(1008);
    this.isClosing = true;
    this.#tellClosed(1006);
  }

  /** @param code of the platform, 0 for a connection that broke off */
  #end(code: number): void {
    this.isClosing = this.#isGone = true;
    this.#tellClosed(code === 0 ? 1006 : code);
    this.emit("gone");
  }

  #tellClosed(code: number): void {
    if (this.#isToldClosed) return;
    this.#isToldClosed = true;
    this.emit("close", code, Buffer.alloc(0));
  }
}
