import { builtin } from "./builtin.ts";

/** Characters that `btoa` gets at once: a multiple of three, within the limit for arguments. */
const SLICE_BYTES = 0x6000;

/** Encodes bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  const { Buffer } = builtin("node:buffer") ?? {};
  if (Buffer) {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      .toString("base64");
  }
  let text = "";
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    const slice = bytes.subarray(at, at + SLICE_BYTES);
    text += btoa(String.fromCharCode(...slice));
  }
  return text;
}

/** Decodes base64; `undefined` if the text is not. */
export function fromBase64(text: string): Uint8Array | undefined {
  const { Buffer } = builtin("node:buffer") ?? {};
  // It skips what it cannot read; the caller compares the SHA-256.
  if (Buffer) return Buffer.from(text, "base64");
  try {
    return Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
  } catch {
    return undefined;
  }
}
