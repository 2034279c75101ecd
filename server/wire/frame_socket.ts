import { Buffer, isUtf8 } from "node:buffer";
import { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import { failure, log } from "../shared/log.ts";
import { TokenBucket } from "../shared/token_bucket.ts";
import { checkClose } from "./close_payload.ts";
import {
  FrameError,
  type FrameListener,
  FrameReader,
  Opcode,
} from "./frame_reader.ts";
import { bytesFrame, jsonFrame, textFrame } from "./frame_writer.ts";
import type { JsonText } from "./json_text.ts";
import { Pongs } from "./pongs.ts";
import { type CutOff, SendQueue } from "./send_queue.ts";
import { Upload, type UploadWatch } from "./upload_watch.ts";

/**
 * Takes a text message before anybody else; tells whether it did.
 *
 * @param ownsBuffer whether `bytes` hold nothing else
 */
export type Tap = (
  bytes: Buffer,
  start: number,
  end: number,
  ownsBuffer: boolean,
) => boolean;

/** Pings, pongs and closes of a peer; an honest one sends few a minute. */
const CONTROL_FRAMES_PER_SECOND = 100;

/** How long a peer may take to close its side, in milliseconds. */
const CLOSE_TIMEOUT = 10_000;

const NO_STATUS = Buffer.alloc(0);

/**
 * The server's end of a WebSocket, as Engine.IO wants it: what `ws` would be, but messages can be
 * taken and sent as bytes, and what waits for a reader that does not read is bounded.
 *
 * Events: `message` (`Buffer`, whether it is binary), `error`, and `close` (code, reason) once.
 */
export class FrameSocket extends EventEmitter implements FrameListener {
  /** Where Engine.IO looks for the peer's address. */
  readonly _socket: Duplex;
  /** Gets text messages first. */
  tap: Tap | undefined;
  /** Told when a part of a message came that is not whole yet. */
  progress: (() => void) | undefined;
  readonly #reader: FrameReader;
  readonly #maxPayload: number;
  readonly #uploads: UploadWatch | undefined;
  #upload: Upload | undefined;
  #pongs: Pongs | undefined;
  #controls: TokenBucket | undefined;
  #started = false;
  #closeSent = false;
  #closeCode = 1006;
  #closeReason: Buffer = NO_STATUS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #queue: SendQueue;

  /**
   * @param socket after the upgrade; the WebSocket's own from now on
   * @param maxPayload bytes of one message
   * @param uploads looks at messages that come slowly
   * @param earlyPayload bytes of one message before the peer is admitted
   */
  constructor(
    socket: Duplex,
    maxPayload: number,
    uploads?: UploadWatch,
    earlyPayload: number = maxPayload,
  ) {
    super();
    this._socket = socket;
    this.#queue = new SendQueue(socket);
    this.#maxPayload = maxPayload;
    this.#uploads = uploads;
    this.#reader = new FrameReader(Math.min(maxPayload, earlyPayload), this);
    // Engine.IO listens some time after it got the socket: what came before would be lost.
    this.on("newListener", listenLater);
    socket.on("end", end);
    socket.on("error", destroy);
    socket.on("close", () => {
      clearTimeout(this.#timer);
      this.#upload?.close();
      this.#reader.stop();
      this.emit("close", this.#closeCode, this.#closeReason);
    });
  }

  /** Begins to read, if it has not begun. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.off("newListener", listenLater);
    this._socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Reads what arrived; a peer that breaks the rules is closed. */
  #read(chunk: Buffer): void {
    try {
      this.#reader.push(chunk);
      if (this.#reader.pending) this.#unfinished();
      else this.#upload?.note();
    } catch (error) {
      // A throw out of here would end the process.
      if (!(error instanceof FrameError)) {
        log.error("Reading a WebSocket failed", failure(error));
      }
      this.#fail(
        error instanceof FrameError
          ? error
          : new FrameError(1011, "Internal error"),
      );
    }
  }

  #unfinished(): void {
    this.progress?.();
    if (this.#uploads === undefined) return;
    this.#upload ??= new Upload(
      this.#uploads,
      this.#reader,
      (error) => this.#failUpload(error),
    );
    this.#upload.note();
  }

  #failUpload(error: FrameError): void {
    if (error.code === 1013) this.#queue.tell("unfinishedBytes");
    this.#fail(error);
  }

  /** Takes messages of every allowed size from now on: the peer has a session. */
  admit(): void {
    this.#reader.limit(this.#maxPayload);
  }

  /** Bounds what waits to be sent, as {@linkcode SendQueue.limit} says. */
  limitQueue(maxBytes: number, cutOff: CutOff): void {
    this.#queue.limit(maxBytes, cutOff);
  }

  /**
   * Sends a message of text or bytes.
   *
   * @param done called at once: what waits is this socket's business
   */
  send(data: string | Uint8Array, done?: () => void): void {
    this.#write(
      typeof data === "string"
        ? textFrame(data)
        : bytesFrame(Opcode.BINARY, data),
    );
    done?.();
  }

  /** Where Engine.IO looks for {@linkcode FrameSocket.sendFrame}. */
  get _sender(): this {
    return this;
  }

  /**
   * Sends a frame that goes to many.
   *
   * @param parts of the frame; one part afterwards, so that the next peer's is ready
   * @param done called at once
   */
  sendFrame(parts: Buffer[], done?: () => void): void {
    if (parts.length > 1) parts.splice(0, parts.length, Buffer.concat(parts));
    const [frame] = parts;
    if (frame !== undefined) this.#write(frame);
    done?.();
  }

  /** Sends a text message that is `head`, which is ASCII, `body`, and `tail`. */
  sendJson(head: string, body: JsonText, tail: string): void {
    this.#write(jsonFrame(head, body, tail));
  }

  /** Says that it ends, and ends when the peer has said so too. */
  close(code?: number): void {
    if (this.#closeSent) return;
    const payload = Buffer.alloc(code === undefined ? 0 : 2);
    if (code !== undefined) payload.writeUInt16BE(code);
    this.#write(bytesFrame(Opcode.CLOSE, payload));
    this.#closeSent = true;
    this.start(); // or the peer's own close would never be read
    this.#timer = setTimeout(() => this.terminate(), CLOSE_TIMEOUT);
  }

  /** Reads nothing until {@linkcode FrameSocket.resume}, beside what it has read already. */
  pause(): void {
    this._socket.pause();
  }

  /** Reads again. */
  resume(): void {
    this._socket.resume();
  }

  /** Ends at once. */
  terminate(): void {
    this._socket.destroy();
  }

  /** For the reader of its frames. */
  message(
    bytes: Buffer,
    start: number,
    end: number,
    isText: boolean,
    ownsBuffer: boolean,
  ): void {
    if (this.#closeSent) return;
    if (isText && this.tap?.(bytes, start, end, ownsBuffer)) return;
    const message = bytes.subarray(start, end);
    if (isText && !isUtf8(message)) throw new FrameError(1007, "Invalid UTF-8");
    this.emit("message", message, !isText);
  }

  /** For the reader of its frames. */
  control(opcode: number, payload: Buffer): void {
    const now = performance.now();
    this.#controls ??= new TokenBucket(CONTROL_FRAMES_PER_SECOND, now);
    if (!this.#controls.take(now)) {
      throw new FrameError(1008, "Too many control frames");
    }
    if (opcode === Opcode.PING) {
      if (this.#closeSent || !this._socket.writable) return;
      (this.#pongs ??= new Pongs(this._socket)).send(payload);
    } else if (opcode === Opcode.CLOSE) {
      checkClose(payload);
      this.#closeCode = payload.length === 0 ? 1005 : payload.readUInt16BE();
      this.#closeReason = payload.subarray(2);
      this.#reader.stop();
      this.close(payload.length === 0 ? undefined : this.#closeCode);
      this._socket.end();
    }
  }

  /** What was read of it before has been carried out; nothing more is. */
  #fail(error: FrameError): void {
    this.#reader.stop();
    this.#upload?.note();
    this.close(error.code);
    this._socket.end();
    this.emit("error", error);
  }

  #write(frame: Buffer): void {
    if (!this.#closeSent) this.#queue.write(frame);
  }
}

// One of each for all: there are as many sockets as members.
function end(this: Duplex): void {
  this.end();
}
function listenLater(this: FrameSocket, event: string | symbol): void {
  if (event === "message") this.start(); // its first bytes come a moment later
}
function destroy(this: Duplex): void {
  this.destroy();
}
