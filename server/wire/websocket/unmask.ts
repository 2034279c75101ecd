import type { Buffer } from "node:buffer";
import { unmaskBlocks } from "../json/scan_json.ts";

/** Minimum length at which unmasking by words pays for creating the view. */
const MIN_WORDS_LENGTH = 48;

/** Minimum length at which WebAssembly is faster. */
const MIN_BLOCKS_LENGTH = 4096;

/**
 * Removes a client's mask in place (RFC 6455 §5.3).
 *
 * @param mask the four bytes of the mask, little-endian
 */
export function unmask(
  bytes: Buffer,
  start: number,
  end: number,
  mask: number,
): void {
  if (end - start >= MIN_BLOCKS_LENGTH) {
    return unmaskBlocks(bytes, start, end, mask);
  }
  let at = start;
  if (end - start >= MIN_WORDS_LENGTH) {
    while ((bytes.byteOffset + at & 3) !== 0) {
      bytes[at]! ^= mask >> ((at - start & 3) << 3);
      at++;
    }
    // The mask continues where the bytes before the first whole word ended.
    const turn = (at - start & 3) << 3;
    const word = turn === 0 ? mask : mask >>> turn | mask << 32 - turn;
    const count = end - at >> 2;
    const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, count);
    for (let i = 0; i < count; i++) words[i]! ^= word;
    at += count << 2;
  }
  for (; at < end; at++) bytes[at]! ^= mask >> ((at - start & 3) << 3);
}
