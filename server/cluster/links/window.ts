import type { Counts } from "./frame.ts";

/**
 * How many bytes may be on their way between two nodes, at one end of a link.
 *
 * Each end tells the other how many bytes it has taken since the two met, and how many more may follow.
 * Only frames with messages count.
 */
export class Window {
  #sent = 0;
  #maySend = 0;
  #taken = 0;
  #granted = 0;

  /** Bytes that were sent. */
  get sent(): number {
    return this.#sent;
  }

  /** Whether a frame may be sent; the last one may be longer than what is left. */
  get isOpen(): boolean {
    return this.#sent < this.#maySend;
  }

  /** A frame is sent; returns how many bytes were sent with it, in all. */
  send(bytes: number): number {
    return this.#sent += bytes;
  }

  /** The peer says how many bytes may be sent in all. */
  allow(bytes: number): void {
    this.#maySend = Math.max(this.#maySend, bytes);
  }

  /** A frame was taken. */
  take(bytes: number): void {
    this.#taken += bytes;
  }

  /** Returns what was taken and may follow, to tell the peer; their sum never becomes less. */
  grant(size: number): Counts {
    const taken = this.#taken;
    this.#granted = Math.max(this.#granted, taken + size);
    return { taken, room: this.#granted - taken };
  }

  /** Whether the peer should be told that it may send more: else its window would close. */
  owes(size: number): boolean {
    return this.#taken + size - this.#granted >= size / 2;
  }
}
