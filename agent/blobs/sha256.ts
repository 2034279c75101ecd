import { builtin } from "./builtin.ts";
import { joined } from "../../shared/bytes.ts";

/** Computes a SHA-256 from parts. */
export interface Sha256 {
  /** Adds the next part. */
  update(part: Uint8Array): void;
  /** Returns the digest as lower-case hexadecimal digits; to be called once. */
  hex(): Promise<string>;
}

/** Starts a SHA-256. Browsers can only digest the whole, so that the parts stay in memory there. */
export function sha256(): Sha256 {
  const hash = builtin("node:crypto")?.createHash("sha256");
  if (hash) {
    return {
      update: (part) => {
        hash.update(part);
      },
      hex: () => Promise.resolve(hash.digest("hex")),
    };
  }
  const parts: Uint8Array[] = [];
  return {
    update: (part) => {
      parts.push(part);
    },
    hex: async () => {
      const digest = await crypto.subtle.digest("SHA-256", joined(parts));
      return [...new Uint8Array(digest)]
        .map((byte) => byte.toString(16).padStart(2, "0")).join("");
    },
  };
}
