/** Bytes that WebCrypto takes. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** Joins bytes. */
export function joinBytes(...parts: readonly Bytes[]): Bytes {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Writes a text in UTF-8. */
export const utf8 = (text: string): Bytes => new TextEncoder().encode(text);

/** Reads a text; @throws {TypeError} when it is not UTF-8 */
export const utf8Text = (bytes: Bytes): string =>
  new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

/** Writes bytes in base64url without padding. */
export const toBase64url = (bytes: Bytes): string =>
  btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

/**
 * Reads base64url without padding; each sequence of bytes has one text.
 *
 * @throws {TypeError} when it is something else
 */
export function fromBase64url(text: string): Bytes {
  if (/^[\w-]*$/.test(text) && text.length % 4 !== 1) {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (each) => each.charCodeAt(0));
    if (toBase64url(bytes) === text) return bytes; // else it has stray bits
  }
  throw new TypeError("Expected base64url without padding");
}

/** Makes random bytes. */
export const randomBytes = (count: number): Bytes =>
  crypto.getRandomValues(new Uint8Array(count));

/** Returns the SHA-256. */
export const sha256 = async (bytes: Bytes): Promise<Bytes> =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** Returns whether bytes are equal; takes equally long wherever they differ. */
export const sameBytes = (a: Bytes, b: Bytes): boolean =>
  a.length === b.length &&
  a.reduce((found, byte, i) => found | (byte ^ (b[i] ?? 0)), 0) === 0;
