import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { bytesFrame } from "./frame_writer.ts";
import { Opcode } from "./frame_reader.ts";

/** Maximum number of queued pongs; beyond it only the last ping is answered. */
const MAX_QUEUED = 32;

/**
 * Answers a peer's pings.
 *
 * The pongs queued for a peer that does not read would need a hundred times the memory of its pings.
 * Beyond a limit only the last ping is answered, as RFC 6455 §5.5.3 allows.
 */
export class Pongs {
  readonly #socket: Duplex;
  #waiting = 0;
  #latest: Buffer | undefined;

  /** @param socket socket to send pongs on */
  constructor(socket: Duplex) {
    this.#socket = socket;
  }

  /** Answers a ping. */
  send(payload: Uint8Array): void {
    const frame = bytesFrame(Opcode.PONG, payload);
    if (this.#waiting < MAX_QUEUED) this.#write(frame);
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
