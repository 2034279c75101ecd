/**
 * The private keys of one side as JSON, for a file of its own.
 *
 * @module
 */
import { SEALING } from "./hpke.ts";
import { type Keys, SIGNING } from "./message.ts";

const { subtle } = globalThis.crypto;

/** Keys as JWK, which are as secret as the keys. */
export interface SavedKeys {
  readonly sign: JsonWebKey;
  readonly seal: JsonWebKey;
}

/** Writes extractable keys. */
export const exportKeys = async ({ sign, seal }: Keys): Promise<SavedKeys> => ({
  sign: await subtle.exportKey("jwk", sign.privateKey),
  seal: await subtle.exportKey("jwk", seal.privateKey),
});

/**
 * Reads keys, which cannot be exported again.
 *
 * @param field where they are, for the error
 * @throws {Error} that names the key which is none
 */
export async function importKeys(data: unknown, field: string): Promise<Keys> {
  const { sign, seal } = Object(data);
  return {
    sign: await importPair(`${field}.sign`, sign, SIGNING, "sign"),
    seal: await importPair(`${field}.seal`, seal, SEALING, "deriveBits"),
  };
}

async function importPair(
  field: string,
  data: unknown,
  algorithm: EcKeyImportParams,
  use: "sign" | "deriveBits",
): Promise<CryptoKeyPair> {
  const verifies: KeyUsage[] = use === "sign" ? ["verify"] : [];
  try {
    const { kty, crv, x, y, d } = Object(data);
    if (typeof d !== "string") throw new TypeError();
    const pub: JsonWebKey = { kty, crv, x, y };
    const own = { ...pub, d };
    return {
      privateKey: await subtle.importKey("jwk", own, algorithm, false, [use]),
      publicKey: await subtle.importKey("jwk", pub, algorithm, true, verifies),
    };
  } catch {
    throw new Error(`${field}: expected a private key of P-256 as a JWK`);
  }
}
