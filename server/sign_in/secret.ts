/**
 * The secret of all seals, and what else stores of sign-in have in common.
 *
 * @module
 */
import { Buffer } from "node:buffer";

/** The variable that has the secret where no store keeps one. */
export const SECRET_VARIABLE = "SMCP_SIGN_IN_SECRET";

const SECRET_BYTES = 32;

/** Makes a secret, as stores keep it. */
export const newSecret = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)))
    .toString("base64url");

/**
 * Reads a secret that a person or a store keeps, in base64url or hexadecimal.
 *
 * @param name of what has it, for errors
 * @throws {TypeError} that never contains the secret
 */
export function readSecret(
  text: string,
  name: string = SECRET_VARIABLE,
): Uint8Array<ArrayBuffer> {
  const trimmed = text.trim();
  const encoding = HEX.test(trimmed)
    ? "hex"
    : BASE64URL.test(trimmed)
    ? "base64url"
    : undefined;
  const bytes = encoding && Buffer.from(trimmed, encoding);
  if (bytes && bytes.length >= SECRET_BYTES) return new Uint8Array(bytes);
  throw new TypeError(
    `Cannot use the secret in ${name}: expected at least ${SECRET_BYTES} random bytes in hexadecimal or base64url, such as of \`openssl rand -hex ${SECRET_BYTES}\``,
  );
}

const HEX = /^(?:[0-9a-f]{2})+$/i;
const BASE64URL = /^[\w-]+={0,2}$/;

/** For how long a store keeps which grant a code has made: so long its reuse ends the grant. */
export const CODE_KEPT_MS = 600_000;

/** Drops the first of a list that has more than it may. */
export function dropOldest<K>(
  list: Map<K, unknown> | Set<K>,
  most: number,
): void {
  const [oldest] = list.size > most ? list.keys() : [];
  if (oldest !== undefined) list.delete(oldest);
}

/** How much later the use of a grant is noted again. */
const TOUCH_INTERVAL_MS = 60_000;

/** Which uses of grants a process notes: one a minute, so that few requests wait for a disk. */
export class Touches {
  /** When each was noted last, the oldest first. */
  readonly #noted = new Map<string, number>();

  /** Returns whether a use is to be noted, and takes it for noted then. */
  isDue(id: string, at: number): boolean {
    const last = this.#noted.get(id) ?? -Infinity;
    if (at - last < TOUCH_INTERVAL_MS) return false;
    for (const [other, noted] of this.#noted) {
      if (at - noted < TOUCH_INTERVAL_MS) break;
      this.#noted.delete(other);
    }
    this.#noted.set(id, at);
    return true;
  }
}
