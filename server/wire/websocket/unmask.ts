import type { Buffer } from "node:buffer";
import { unmaskBlocks } from "../json/scan_json.ts";

/** Below this length a view of words costs more than it saves. */
const WORDS_FROM = 48;

/** From this length on, WebAssembly is faster. */
const BLOCKS_FROM = 4096;

/**
 * Removes a client's mask in place (RFC 6455 §5.3).
 *
 * @param mask its four bytes, little-endian
 */
export function unmask(
  bytes: Buffer,
  start: number,
  end: number,
  mask: number,
): void {
  if (end - start >= BLOCKS_FROM) return unmaskBlocks(bytes, start, end, mask);
  let at = start;
  if (end - start >= WORDS_FROM) {
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
