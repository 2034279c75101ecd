import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";

/** Is told which limit a peer is cut off for. */
export type CutOff = (limit: "queuedBytes" | "unfinishedBytes") => void;

/** Bytes that may wait for a peer without a session: there is nothing but pongs for it. */
const EARLY_QUEUE_BYTES = 65_536;

/** Bounds what waits for a peer that does not read. */
export class SendQueue {
  readonly #socket: Duplex;
  #maxBytes = EARLY_QUEUE_BYTES;
  #cutOff: CutOff | undefined = () => {};

  /** @param socket keeps what waits */
  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /**
   * Cuts the peer off when more than `maxBytes` wait; one message may be larger. Until this is
   * called it is 64 KiB.
   *
   * @param cutOff called once, just before
   */
  limit(maxBytes: number, cutOff: CutOff): void {
    this.#maxBytes = maxBytes;
    this.#cutOff = cutOff;
  }

  /** Reports that the peer is cut off for another reason than this queue. */
  tell(limit: Parameters<CutOff>[0]): void {
    this.#cutOff?.(limit);
  }

  /** Sends a frame, or drops it where nothing can be sent any more. */
  write(frame: Buffer): void {
    const socket = this.#socket;
    if (!socket.writable) return;
    const waiting = socket.writableLength;
    if (waiting > 0 && waiting + frame.length > this.#maxBytes) {
      return this.#overflow();
    }
    socket.write(frame);
  }

  #overflow(): void {
    const cutOff = this.#cutOff;
    if (cutOff === undefined) return;
    this.#cutOff = undefined;
    // Later: whoever is just sending does not expect the connection to close under it.
    queueMicrotask(() => {
      cutOff("queuedBytes");
      this.#socket.destroy();
    });
  }
}
