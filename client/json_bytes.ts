const counted = new WeakMap<object, number>();
const encoder = new TextEncoder();

/**
 * Returns the size of a message as JSON in bytes, computed once per object.
 * Several checks need it, and messages never change after their creation.
 */
export function jsonBytes(message: object): number {
  const known = counted.get(message);
  if (known !== undefined) return known;
  const bytes = encoder.encode(JSON.stringify(message)).length;
  counted.set(message, bytes);
  return bytes;
}
