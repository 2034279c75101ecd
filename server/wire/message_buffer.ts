import { Buffer } from "node:buffer";

/** Bytes in front of a collected message, where its next head and its next frame's header fit in. */
export const PADDING = 96;

/** What a message of small fragments starts with. */
const SMALLEST = 1024;

/**
 * The payload of a message that has not all arrived, in one buffer: it never takes more than twice
 * what has come, however small the parts in which it came.
 */
export class MessageBuffer {
  /** The message, behind {@linkcode PADDING} bytes. */
  bytes: Buffer;
  /** Where the frames that are complete end. */
  end: number = PADDING;

  /** @param first bytes to set aside */
  constructor(first: number) {
    this.bytes = Buffer.allocUnsafeSlow(PADDING + Math.max(first, SMALLEST));
  }

  /** Bytes of the frames that are complete. */
  get length(): number {
    return this.end - PADDING;
  }

  /**
   * Writes bytes behind those that are there, for {@linkcode MessageBuffer.end} to pass over.
   *
   * @param offset from the end
   * @param most bytes that the message can have
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
