import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { bytesFrame } from "./frame_writer.ts";
import { Opcode } from "./frame_reader.ts";

/** How many pongs wait to be sent before only the last ping is answered. */
const MAX_WAITING = 32;

/**
 * The answers to a peer's pings.
 *
 * A peer that sends many and reads none would have a queue of pongs that costs a hundred times what
 * it sent: of those that are too many only the last is answered, as RFC 6455 §5.5.3 allows.
 */
export class Pongs {
  readonly #socket: Duplex;
  #waiting = 0;
  #latest: Buffer | undefined;

  /** @param socket to send them on */
  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** Answers a ping. */
  send(payload: Uint8Array): void {
    const frame = bytesFrame(Opcode.PONG, payload);
    if (this.#waiting < MAX_WAITING) this.#write(frame);
    else this.#latest = frame;
  }

  #write(frame: Buffer): void {
    this.#waiting++;
    this.#socket.write(frame, () => {
      this.#waiting--;
      const latest = this.#latest;
      this.#latest = undefined;
      if (latest !== undefined && this.#socket.writable) this.#write(latest);
    });
  }
}
