/** Default of `SmcpServerOptions.maxConnectBytes`. */
export const MAX_CONNECT_BYTES = 16 * 1024;

/** Maximum number of packets that a connection may send before it has a session; clients need one or two. */
export const MAX_EARLY_PACKETS = 32;

/** Returns the maximum bytes that a connection may send before it has a session: enough for a few attempts. */
export const earlyBytes = (maxConnectBytes: number): number =>
  4 * maxConnectBytes;

/** The packets and bytes that a connection may send before it has a session. */
export class EarlyBudget {
  readonly #maxBytes: number;
  #packets = 0;
  #bytes = 0;

  /** @param maxConnectBytes maximum size of a CONNECT packet */
  constructor(maxConnectBytes: number) {
    this.#maxBytes = earlyBytes(maxConnectBytes);
  }

  /** The number of bytes left. */
  get bytesLeft(): number {
    return this.#maxBytes - this.#bytes;
  }

  /**
   * Counts a packet.
   *
   * @returns why the budget is exceeded, or `undefined` if it is not
   */
  take(bytes: number): string | undefined {
    this.#bytes += bytes;
    if (++this.#packets > MAX_EARLY_PACKETS) {
      return `more than ${MAX_EARLY_PACKETS} packets without a session`;
    }
    if (this.bytesLeft < 0) {
      return `more than ${this.#maxBytes} bytes without a session`;
    }
    return undefined;
  }
}
