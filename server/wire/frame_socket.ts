/**
 * The server's end of a WebSocket on a TCP or TLS connection: reads frames, offers messages to the tap of
 * a session and else to Engine.IO, answers pings and closes. An {@linkcode UploadWatch} ends peers whose
 * messages come too slowly, or hold too much memory together.
 *
 * @module
 */
import type { Duplex } from "node:stream";
import { Buffer, isUtf8 } from "node:buffer";
import { failure, log } from "../shared/log.ts";
import { type Deadline, Deadlines } from "../../shared/deadlines.ts";
import { TokenBucket } from "../../shared/async.ts";
import {
  bytesFrame,
  checkClose,
  FrameError,
  type FrameListener,
  FrameReader,
  jsonFrame,
  Opcode,
  textFrame,
} from "./frames.ts";
import type { ByteRange, JsonText } from "./json_text.ts";
import { type SharedText, TapSocket } from "./wire_connection.ts";
import { release } from "../../shared/bytes.ts";

/** Maximum number of pings, pongs and closes of a peer; regular clients send a few per minute. */
const MAX_CONTROL_FRAMES_PER_SECOND = 100;

/** How long a peer may take to close its side. */
const CLOSE_TIMEOUT_MS = 10_000;

/**
 * The frames that are freed as soon as they are sent. V8 would mark the whole heap again and again to find
 * them. A larger one goes back to the operating system, and getting the next one costs more than that.
 */
const FREED_FROM_BYTES = 32_768;
const FREED_UP_TO_BYTES = 524_288;

const NO_STATUS = Buffer.alloc(0);

/**
 * The server's end of a WebSocket, with the interface of `ws` that Engine.IO expects. Messages can
 * also be received and sent as bytes, and the queue for a slow reader is limited.
 *
 * Events: `message` (`Buffer`, whether it is binary), `error`, and `close` (code, reason) once.
 */
export class FrameSocket extends TapSocket implements FrameListener {
  readonly _socket: Duplex;
  readonly #reader: FrameReader;
  readonly #uploads: UploadWatch | undefined;
  #upload: Upload | undefined;
  #pongs: ((payload: Uint8Array) => void) | undefined;
  #controls: TokenBucket | undefined;
  #started = false;
  #closeCode = 1006;
  #closeReason: Buffer = NO_STATUS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Bytes that were read since {@linkcode FrameSocket.#turnSince}. */
  #turnBytes = 0;
  #turnSince = 0;
  /** Resumes reading after the turn of others. */
  #turn: ReturnType<typeof setTimeout> | undefined;
  #isPaused = false;

  /**
   * @param socket the socket after the upgrade; the WebSocket takes ownership
   * @param maxPayload maximum size of a message in bytes
   * @param uploads watches slow messages
   * @param earlyPayload maximum size of a message in bytes before the peer is admitted
   */
  constructor(
    socket: Duplex,
    maxPayload: number,
    uploads?: UploadWatch,
    earlyPayload: number = maxPayload,
  ) {
    super(maxPayload, earlyPayload);
    this._socket = socket;
    this.#uploads = uploads;
    this.#reader = new FrameReader(this);
    socket.on("end", end);
    socket.on("error", destroy);
    socket.on("close", () => {
      clearTimeout(this.#timer);
      clearTimeout(this.#turn);
      this.#upload?.close();
      this.#reader.stop();
      this.emit("close", this.#closeCode, this.#closeReason);
    });
  }

  /** Starts reading, once. */
  start(): void {
    if (this.#started) return;
    this.#started = true;
    this._socket.on("data", this.#read);
  }

  /** Reads a chunk; closes a peer that violates the protocol. */
  readonly #read = (chunk: Buffer): void => {
    this.#turnBytes += chunk.length;
    if (this.#turnBytes > MAX_BYTES_PER_TURN) this.#giveTurn();
    try {
      this.#reader.push(chunk);
      if (this.#reader.pending) this.#unfinished();
      else this.#upload?.note();
    } catch (error) {
      // An uncaught error would end the process.
      const isFault = error instanceof FrameError;
      if (!isFault) log.error("Reading a WebSocket failed", failure(error));
      this.#fail(isFault ? error : new FrameError(1011, "Internal error"));
    }
  };

  #unfinished(): void {
    this.progress?.();
    if (this.#uploads === undefined) return;
    this.#upload ??= new Upload(this.#uploads, this.#reader, (error) => {
      if (error.code === 1013) this.cutOff?.("unfinishedBytes");
      this.#fail(error);
    });
    this.#upload.note();
  }

  /**
   * Sends a message of text or bytes.
   *
   * @param done called immediately: the queue is kept here, not in Engine.IO
   */
  send(data: string | Uint8Array, done?: () => void): void {
    const isText = typeof data === "string";
    this.write(isText ? textFrame(data) : bytesFrame(Opcode.BINARY, data));
    done?.();
  }

  override sendJson(head: string, body: JsonText): void {
    const frame = jsonFrame(head, body);
    const { length } = frame;
    if (length < FREED_FROM_BYTES || length > FREED_UP_TO_BYTES) {
      return this.write(frame, length);
    }
    const isInPlace = frame.buffer === body.bytes.buffer;
    const free = () => isInPlace ? body.release() : release(frame);
    this.write(frame, length, free);
  }

  override sendShared(message: SharedText): void {
    this.write(message.frame ??= textFrame(message.text));
  }

  /** Sends a close frame; closes the connection when the peer has answered it. */
  close(code?: number): void {
    if (this.isClosing) return;
    const payload = Buffer.alloc(code === undefined ? 0 : 2);
    if (code !== undefined) payload.writeUInt16BE(code);
    this.write(bytesFrame(Opcode.CLOSE, payload));
    this.isClosing = true;
    this.start(); // needed to read the peer's close frame
    this.#timer = setTimeout(() => this.terminate(), CLOSE_TIMEOUT_MS);
  }

  /** Stops reading until {@linkcode FrameSocket.resume}. */
  pause(): void {
    this.#isPaused = true;
    this._socket.pause();
  }

  /** Continues reading. */
  resume(): void {
    this.#isPaused = false;
    if (this.#turn === undefined) this._socket.resume();
  }

  /**
   * Lets others be read before more of a peer that sends faster than others. A socket that has more is
   * read again before others, in Deno for as long as it has; only a timer lets them have their turn.
   */
  #giveTurn(): void {
    const now = performance.now();
    const isFast = now - this.#turnSince < TURN_MS;
    this.#turnBytes = 0;
    this.#turnSince = now;
    if (!isFast || this.#turn !== undefined) return;
    this._socket.pause();
    this.#turn = setTimeout(() => {
      this.#turn = undefined;
      if (!this.#isPaused) this._socket.resume();
    }, 0);
  }

  /** Destroys the connection immediately. */
  terminate(): void {
    this._socket.destroy();
  }

  /** Called by the frame reader. */
  message(range: ByteRange, isText: boolean): void {
    if (this.isClosing) return;
    if (isText && this.tap?.(range)) return;
    const message = range.bytes.subarray(range.start, range.end);
    if (isText && !isUtf8(message)) throw new FrameError(1007, "Invalid UTF-8");
    this.emit("message", message, !isText);
  }

  /** Called by the frame reader. */
  control(opcode: number, payload: Buffer): void {
    const now = performance.now();
    this.#controls ??= new TokenBucket(MAX_CONTROL_FRAMES_PER_SECOND, now);
    if (!this.#controls.take(now)) {
      throw new FrameError(1008, "Too many control frames");
    }
    if (opcode === Opcode.PING) {
      if (this.isClosing || !this._socket.writable) return;
      (this.#pongs ??= pongsOn(this._socket))(payload);
    } else if (opcode === Opcode.CLOSE) {
      checkClose(payload);
      this.#closeCode = payload.length === 0 ? 1005 : payload.readUInt16BE();
      this.#closeReason = payload.subarray(2);
      this.#reader.stop();
      this.close(payload.length === 0 ? undefined : this.#closeCode);
      this._socket.end();
    }
  }

  /** Closes the connection; messages read before have taken effect. */
  #fail(error: FrameError): void {
    this.#reader.stop();
    this.#upload?.note();
    this.close(error.code);
    this._socket.end();
    this.emit("error", error);
  }
}

// Shared functions instead of closures save memory for each of many sockets.
function end(this: Duplex): void {
  this.end();
}
function destroy(this: Duplex): void {
  this.destroy();
}

/** Maximum number of queued pongs; beyond it only the last ping is answered. */
const MAX_QUEUED = 32;

/**
 * Returns what answers a peer's pings.
 *
 * The pongs queued for a peer that does not read would need a hundred times the memory of its pings.
 * Beyond a limit only the last ping is answered, as RFC 6455 §5.5.3 allows.
 */
function pongsOn(socket: Duplex): (payload: Uint8Array) => void {
  let waiting = 0;
  let latest: Buffer | undefined;
  const write = (frame: Buffer) => {
    waiting++;
    socket.write(frame, () => {
      waiting--;
      const next = latest;
      latest = undefined;
      if (next !== undefined && socket.writable) write(next);
    });
  };
  return (payload) => {
    const frame = bytesFrame(Opcode.PONG, payload);
    if (waiting < MAX_QUEUED) write(frame);
    else latest = frame;
  };
}

/** Bytes of a peer that are read before others have a turn, if it sent them within {@linkcode TURN_MS}. */
const MAX_BYTES_PER_TURN = 524_288;
const TURN_MS = 10;

/** How long a message may be too slow before its sender is disconnected. */
export const UPLOAD_WINDOW_MS = 20_000;

/** Minimum time between two checks; all that are due run together. */
const CHECK_INTERVAL_MS = 1000;

/** Limits for unfinished messages. */
export interface UploadLimits {
  /** Minimum rate of an unfinished message in bytes per second. */
  readonly bytesPerSecond: number;
  /** Maximum memory of all unfinished messages together, in bytes. */
  readonly bytes: number;
}

/**
 * Limits the memory of unfinished messages: disconnects senders that are too slow, and when all
 * messages together hold too much, the sender of the largest one.
 *
 * Most messages end long before their first check, so there is one check per window and connection,
 * not per message, and one timer for all.
 */
export class UploadWatch {
  /** The next check of each connection with an unfinished message. */
  readonly checks = new Deadlines<Upload>();
  /** Minimum bytes of a message in one window. */
  readonly leastBytes: number;
  readonly #maxBytes: number;
  /** Bytes that all unfinished messages hold. */
  held = 0;

  /** @param limits limits of all connections together */
  constructor({ bytesPerSecond, bytes }: UploadLimits) {
    this.leastBytes = bytesPerSecond * UPLOAD_WINDOW_MS / 1000;
    this.#maxBytes = bytes;
  }

  /** Adds to the bytes held; closes the largest uploads while they exceed the limit. */
  hold(bytes: number): void {
    this.held += bytes;
    while (this.held > this.#maxBytes) {
      let largest: Upload | undefined;
      for (const upload of this.checks) {
        if (upload.holds > (largest?.holds ?? 0)) largest = upload;
      }
      if (largest === undefined) return;
      largest.end(
        new FrameError(1013, "Unfinished messages take too much memory"),
      );
    }
  }
}

/** The unfinished message of one connection, for {@linkcode UploadWatch}. */
export class Upload implements Deadline {
  /** When it is checked; 0 while it is not watched. */
  due = 0;
  /** See {@linkcode Deadlines}. */
  place?: number;
  /** Bytes of its unfinished message that the watch has counted. */
  holds = 0;
  readonly #watch: UploadWatch;
  readonly #reader: Omit<FrameReader, "push" | "stop">;
  readonly #fail: (error: FrameError) => void;
  #messages = 0;
  #seen = 0;

  /** @param fail closes the connection */
  constructor(
    watch: UploadWatch,
    reader: Omit<FrameReader, "push" | "stop">,
    fail: (error: FrameError) => void,
  ) {
    this.#watch = watch;
    this.#reader = reader;
    this.#fail = fail;
  }

  /** Updates the watch; called after each step of the reader. */
  note(): void {
    if (this.#reader.pending && this.due === 0) this.#check();
    const more = this.#reader.reserved - this.holds;
    if (more === 0) return;
    this.holds += more;
    this.#watch.hold(more);
  }

  /** Checks whether the message arrives fast enough. */
  expire(): void {
    const { pending, messages, held } = this.#reader;
    this.due = 0;
    if (!pending) return;
    const isSlow = messages === this.#messages &&
      held - this.#seen < this.#watch.leastBytes;
    if (isSlow) this.end(new FrameError(1008, "Message too slow"));
    else this.#check();
  }

  /** Closes the connection. */
  end(error: FrameError): void {
    this.#fail(error);
    this.close();
  }

  /** Releases what the connection held. */
  close(): void {
    const { holds } = this;
    this.holds = 0;
    this.#watch.hold(-holds);
    this.#watch.checks.remove(this);
  }

  /** Schedules a check, a window from now. */
  #check(): void {
    this.#messages = this.#reader.messages;
    this.#seen = this.#reader.held;
    const now = Math.floor(performance.now() / CHECK_INTERVAL_MS) *
      CHECK_INTERVAL_MS;
    this.due = now + UPLOAD_WINDOW_MS;
    this.#watch.checks.add(this, now);
  }
}
