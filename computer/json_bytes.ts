import { Buffer } from "node:buffer";

const counted = new WeakMap<object, number>();

/**
 * Bytes of an answer as JSON, counted once: the store of results, the limit of results and that
 * of answers all ask, and nobody changes an answer that was made.
 */
export function jsonBytes(answer: object): number {
  const known = counted.get(answer);
  if (known !== undefined) return known;
  const bytes = Buffer.byteLength(JSON.stringify(answer));
  counted.set(answer, bytes);
  return bytes;
}
