import { Buffer } from "node:buffer";

/** Bytes in front of a collected message, where its next head and its next frame's header fit in. */
export const PADDING = 96;

/** Initial size for a message of small fragments. */
const SMALLEST = 1024;

/**
 * The payload of an unfinished message, in one buffer that never grows beyond twice the bytes that
 * have arrived, however small the parts.
 */
export class MessageBuffer {
  /** The message, behind {@linkcode PADDING} bytes. */
  bytes: Buffer;
  /** End of the complete frames. */
  end: number = PADDING;

  /** @param first bytes to allocate at first */
  constructor(first: number) {
    this.bytes = Buffer.allocUnsafeSlow(PADDING + Math.max(first, SMALLEST));
  }

  /** Bytes of the complete frames. */
  get length(): number {
    return this.end - PADDING;
  }

  /**
   * Writes bytes after the complete frames; the caller moves {@linkcode MessageBuffer.end}.
   *
   * @param offset distance from {@linkcode MessageBuffer.end}
   * @param most maximum size of the message in bytes
   */
  write(part: Uint8Array, offset: number, most: number): void {
    const at = this.end + offset;
    const needed = at + part.length;
    if (needed > this.bytes.length) {
      const size = Math.min(PADDING + most, 2 * this.bytes.length);
      const bytes = Buffer.allocUnsafeSlow(Math.max(needed, size));
      bytes.set(this.bytes.subarray(0, at));
      this.bytes = bytes;
    }
    this.bytes.set(part, at);
  }
}
