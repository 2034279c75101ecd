const counted = new WeakMap<object, number>();
const encoder = new TextEncoder();

/**
 * Bytes of a message as JSON, counted once per object: the store of results, the limit of results
 * and that of messages all ask, and nobody changes a message after it was made.
 */
export function jsonBytes(message: object): number {
  const known = counted.get(message);
  if (known !== undefined) return known;
  const bytes = encoder.encode(JSON.stringify(message)).length;
  counted.set(message, bytes);
  return bytes;
}
