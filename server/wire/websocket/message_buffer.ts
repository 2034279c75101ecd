import { Buffer } from "node:buffer";

/** Bytes reserved before a collected message for the head and the frame header of its relay. */
export const PADDING = 96;

/** Minimum size of the buffer. */
const MIN_BUFFER_BYTES = 1024;

/**
 * Collects the payload of an unfinished message in one buffer, which never grows beyond twice the
 * bytes that have arrived, however small the parts.
 */
export class MessageBuffer {
  /** The message, after {@linkcode PADDING} bytes. */
  bytes: Buffer;
  /** End of the complete frames. */
  end: number = PADDING;

  /** @param first bytes to allocate at first */
  constructor(first: number) {
    this.bytes = Buffer.allocUnsafeSlow(
      PADDING + Math.max(first, MIN_BUFFER_BYTES),
    );
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
