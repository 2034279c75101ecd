import { Readable } from "node:stream";
import { crc32, createGunzip, createInflateRaw } from "node:zlib";

/**
 * Unpacks data piece by piece.
 *
 * @throws {Error} when it is damaged, or larger than the limit
 */
export async function* inflate(
  data: Uint8Array,
  format: "gzip" | "deflate",
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  const unpacking = format === "gzip" ? createGunzip() : createInflateRaw();
  const pieces: AsyncIterable<Uint8Array> = Readable.from([data])
    .pipe(unpacking);
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > maxBytes) {
      throw new Error(`it is larger than ${maxBytes} bytes`);
    }
    yield piece;
  }
}

/**
 * Passes pieces on, which have to be what was told of them.
 *
 * @throws {Error} when size or checksum are others
 */
export async function* verified(
  pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  expected: { readonly size: number; readonly crc: number },
): AsyncGenerator<Uint8Array> {
  let [size, crc] = [0, 0];
  for await (const piece of pieces) {
    size += piece.length;
    crc = crc32(piece, crc);
    if (size > expected.size) break;
    yield piece;
  }
  if (size !== expected.size || crc !== expected.crc) {
    throw new Error("it is damaged: size or checksum of a file are wrong");
  }
}
