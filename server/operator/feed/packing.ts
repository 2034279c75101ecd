import { Buffer } from "node:buffer";
import { constants, crc32, deflateRawSync } from "node:zlib";

/**
 * Compresses bytes so that they can follow any others of a gzip stream: they refer to nothing before
 * them, and end with a whole byte. So all streams can get the same ones.
 */
export const pack = (bytes: Uint8Array): Uint8Array =>
  deflateRawSync(bytes, {
    level: 1, // a fifth of a millisecond for 100 KB
    finishFlush: constants.Z_SYNC_FLUSH,
  });

/** Returns whether the sender of a request reads gzip. */
export const acceptsGzip = (header: string | undefined): boolean =>
  (header ?? "").split(",").some((part) => {
    const [name = "", ...parameters] = part.split(";");
    return name.trim().toLowerCase() === "gzip" &&
      !parameters.some((text) => /^\s*q\s*=\s*0(\.0*)?\s*$/i.test(text));
  });

/** What stands before and after the packed pieces of a stream (RFC 1952). */
export class GzipFrame {
  #crc = 0;
  #size = 0;

  /** What a stream begins with: no name, no time, of any system. */
  static readonly HEAD: Uint8Array = Uint8Array.of(
    ...[0x1f, 0x8b, 8, 0],
    ...[0, 0, 0, 0],
    ...[0, 0xff],
  );

  /** How many bytes were counted. */
  get size(): number {
    return this.#size;
  }

  /** Counts bytes, before they are packed. */
  add(bytes: Uint8Array): void {
    this.#crc = crc32(bytes, this.#crc);
    this.#size += bytes.length;
  }

  /** What a stream ends with: the last block, which is empty, and what was counted. */
  tail(): Uint8Array {
    const tail = Buffer.alloc(10);
    tail[0] = 3;
    tail.writeUInt32LE(this.#crc, 2);
    tail.writeUInt32LE(this.#size >>> 0, 6);
    return tail;
  }
}
