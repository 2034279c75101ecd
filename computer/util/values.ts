import { Buffer } from "node:buffer";
import { reasonOf as wholeReasonOf } from "../../client/errors.ts";
import { redactUrl } from "./secrets.ts";

/** Returns the message of anything thrown; secrets in URLs are redacted, since `fetch` quotes URLs. */
export const reasonOf = (error: unknown): string =>
  wholeReasonOf(error).replaceAll(/https?:\/\/[^\s"'()<>]+/gi, redactUrl);

/** Sets a property, even one named `__proto__`. */
export const define = (object: object, name: string, value: unknown): void => {
  Object.defineProperty(object, name, {
    value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
};

/** Encodes bytes without a copy of them. */
export const toBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString("base64");

/** Returns whether a text is base64; a decoder would skip anything else, and give other bytes. */
export function isBase64(text: string): boolean {
  if (text.length % 4 !== 0) return false;
  const end = text.search(/[^A-Za-z0-9+/]/);
  return end === -1 ||
    end >= text.length - 2 && /^={1,2}$/.test(text.slice(end));
}
