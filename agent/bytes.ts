import { nodeModule } from "../client/node_modules.ts";
import { joined } from "../shared/bytes.ts";

/** Characters that `btoa` gets at once: a multiple of three, within the limit for arguments. */
const SLICE_BYTES = 0x6000;

/** Encodes bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
  const { Buffer } = nodeModule("node:buffer") ?? {};
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
  const { Buffer } = nodeModule("node:buffer") ?? {};
  // It skips what it cannot read; the caller compares the SHA-256.
  if (Buffer) return Buffer.from(text, "base64");
  try {
    return Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Computes a SHA-256 from parts. */
interface Sha256 {
  /** Adds the next part. */
  update(part: Uint8Array): void;
  /** Returns the digest as lower-case hexadecimal digits; to be called once. */
  hex(): Promise<string>;
}

/** Starts a SHA-256. Browsers can only digest the whole, so that the parts stay in memory there. */
export function sha256(): Sha256 {
  const hash = nodeModule("node:crypto")?.createHash("sha256");
  if (hash) {
    return {
      update: (part) => void hash.update(part),
      hex: () => Promise.resolve(hash.digest("hex")),
    };
  }
  const parts: Uint8Array[] = [];
  return {
    update: (part) => void parts.push(part),
    hex: async () => {
      const digest = await crypto.subtle.digest("SHA-256", joined(parts));
      return [...new Uint8Array(digest)]
        .map((byte) => byte.toString(16).padStart(2, "0")).join("");
    },
  };
}
