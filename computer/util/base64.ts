import { Buffer } from "node:buffer";

/** Encodes bytes without a copy of them. */
export const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString("base64");

/** Tells whether a text is base64; a decoder would skip anything else, and give other bytes. */
export function isBase64(text: string): boolean {
  if (text.length % 4 !== 0) return false;
  const end = text.search(/[^A-Za-z0-9+/]/);
  return end === -1 ||
    end >= text.length - 2 && /^={1,2}$/.test(text.slice(end));
}
