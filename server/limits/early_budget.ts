/** Bytes that a CONNECT may have unless the operator says otherwise. */
export const MAX_CONNECT_BYTES = 16 * 1024;

/** Packets that a connection may send before it has a session: the client needs one or two. */
export const EARLY_PACKETS = 32;

/** The bytes that it may send before, when a CONNECT may have so many: a few attempts. */
export const earlyBytes = (maxConnectBytes: number): number =>
  4 * maxConnectBytes;

/** What a connection may send before it has a session. */
export class EarlyBudget {
  readonly #maxBytes: number;
  #packets = 0;
  #bytes = 0;

  /** @param maxConnectBytes what a CONNECT may have */
  constructor(maxConnectBytes: number) {
    this.#maxBytes = earlyBytes(maxConnectBytes);
  }

  /** How many bytes are left. */
  get bytesLeft(): number {
    return this.#maxBytes - this.#bytes;
  }

  /**
   * Takes a packet from the budget.
   *
   * @returns why there is no more of it
   */
  take(bytes: number): string | undefined {
    this.#bytes += bytes;
    if (++this.#packets > EARLY_PACKETS) {
      return `more than ${EARLY_PACKETS} packets without a session`;
    }
    if (this.bytesLeft < 0) {
      return `more than ${this.#maxBytes} bytes without a session`;
    }
    return undefined;
  }
}
