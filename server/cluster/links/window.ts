/**
 * How many bytes may be on their way between two nodes, at one end of a link.
 *
 * Each end tells the other how many bytes it may send in all since the link began, which is what this
 * end has taken and the size of its window. Only frames with messages count.
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

  /** Bytes that were taken. */
  get taken(): number {
    return this.#taken;
  }

  /** Whether a frame may be sent; the last one may be longer than what is left. */
  get isOpen(): boolean {
    return this.#sent < this.#maySend;
  }

  /** A frame was sent. */
  send(bytes: number): void {
    this.#sent += bytes;
  }

  /** The peer says how many bytes may be sent in all. */
  allow(bytes: number): void {
    this.#maySend = Math.max(this.#maySend, bytes);
  }

  /** A frame was taken. */
  take(bytes: number): void {
    this.#taken += bytes;
  }

  /** Returns how many bytes the peer may send in all, to tell it; this never becomes less. */
  grant(size: number): number {
    return this.#granted = Math.max(this.#granted, this.#taken + size);
  }

  /** Whether the peer should be told that it may send more: else its window would close. */
  owes(size: number): boolean {
    return this.#taken + size - this.#granted >= size / 2;
  }
}
