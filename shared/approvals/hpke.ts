/**
 * Seals bytes to the holder of a key: HPKE (RFC 9180) in base mode, with DHKEM(P-256, HKDF-SHA256),
 * HKDF-SHA256 and AES-128-GCM, by WebCrypto alone. Each context seals one message, so that its nonce is the
 * base nonce.
 *
 * A seal does not prove its sender: what is sealed must be signed.
 *
 * @module
 */
import { type Bytes, joinBytes, utf8 } from "./bytes.ts";

const { subtle } = globalThis.crypto;

/** The algorithm of the keys that seals are made to. */
export const SEALING: EcKeyImportParams = { name: "ECDH", namedCurve: "P-256" };
/** Bytes of a public key, an uncompressed point. */
export const KEY_BYTES = 65;
/** Bytes that a seal adds. */
export const SEAL_BYTES = 16;

const VERSION = utf8("HPKE-v1");
const KEM = joinBytes(utf8("KEM"), Uint8Array.of(0, 0x10));
const SUITE = joinBytes(utf8("HPKE"), Uint8Array.of(0, 0x10, 0, 1, 0, 1));
const NOTHING: Bytes = new Uint8Array();

/** What a message is sealed with. */
export interface SealContext {
  /** The sender's key of this message, for the receiver. */
  readonly enc: Bytes;
  /** Seals the one message. */
  seal(plain: Bytes, aad: Bytes): Promise<Bytes>;
}

/**
 * Begins a message to the holder of a public key.
 *
 * @param recipient the raw public key
 * @param info what both sides know of the message
 * @param ephemeral for test vectors alone; default is a new pair of keys
 * @throws {DOMException} when `recipient` is no point of the curve
 */
export async function sealTo(
  recipient: Bytes,
  info: Bytes,
  ephemeral?: CryptoKeyPair,
): Promise<SealContext> {
  const own = ephemeral ??
    await subtle.generateKey(SEALING, false, ["deriveBits"]);
  const enc = await rawKey(own.publicKey);
  const { key, iv } = await contextOf(
    own.privateKey,
    recipient,
    { enc, recipient, info },
  );
  return {
    enc,
    seal: async (plain, additionalData) =>
      new Uint8Array(
        await subtle.encrypt(
          { name: "AES-GCM", iv, additionalData },
          key,
          plain,
        ),
      ),
  };
}

/** A sealed message, and who it is for. */
export interface Sealed {
  /** The receiver's pair of keys. */
  readonly keys: CryptoKeyPair;
  /** The sender's key of this message. */
  readonly enc: Bytes;
  readonly info: Bytes;
  readonly aad: Bytes;
  readonly sealed: Bytes;
}

/**
 * Opens a sealed message.
 *
 * @throws {DOMException} when it was changed, or is for another receiver
 */
export async function openSealed(
  { keys, enc, info, aad, sealed }: Sealed,
): Promise<Bytes> {
  const recipient = await rawKey(keys.publicKey);
  const { key, iv } = await contextOf(
    keys.privateKey,
    enc,
    { enc, recipient, info },
  );
  const algorithm = { name: "AES-GCM", iv, additionalData: aad };
  return new Uint8Array(await subtle.decrypt(algorithm, key, sealed));
}

/** Returns the raw form of a public key. */
export const rawKey = async (key: CryptoKey): Promise<Bytes> =>
  new Uint8Array(await subtle.exportKey("raw", key));

/** Derives the key and the nonce of a message (RFC 9180 §4.1 and §5.1). */
async function contextOf(
  own: CryptoKey,
  other: Bytes,
  { enc, recipient, info }: Readonly<
    Record<"enc" | "recipient" | "info", Bytes>
  >,
): Promise<{ key: CryptoKey; iv: Bytes }> {
  const point = await subtle.importKey("raw", other, SEALING, true, []);
  const dh = new Uint8Array(
    await subtle.deriveBits({ name: "ECDH", public: point }, own, 256),
  );
  const prk = await extract(KEM, NOTHING, "eae_prk", dh);
  const kem = joinBytes(enc, recipient);
  const shared = await expand(KEM, prk, ["shared_secret", kem], 32);
  const context = joinBytes(
    Uint8Array.of(0),
    await extract(SUITE, NOTHING, "psk_id_hash", NOTHING),
    await extract(SUITE, NOTHING, "info_hash", info),
  );
  const secret = await extract(SUITE, shared, "secret", NOTHING);
  const raw = await expand(SUITE, secret, ["key", context], 16);
  const iv = await expand(SUITE, secret, ["base_nonce", context], 12);
  const uses: KeyUsage[] = ["encrypt", "decrypt"];
  return {
    key: await subtle.importKey("raw", raw, "AES-GCM", false, uses),
    iv,
  };
}

const extract = (
  suite: Bytes,
  salt: Bytes,
  label: string,
  material: Bytes,
): Promise<Bytes> =>
  hmac(salt, joinBytes(VERSION, suite, utf8(label), material));

/** Expands to at most 32 bytes, which is all that this suite needs: one block of HKDF-Expand. */
async function expand(
  suite: Bytes,
  prk: Bytes,
  [label, info]: readonly [string, Bytes],
  length: number,
): Promise<Bytes> {
  const block = await hmac(
    prk,
    joinBytes(
      Uint8Array.of(0, length),
      VERSION,
      suite,
      utf8(label),
      info,
      Uint8Array.of(1),
    ),
  );
  return block.slice(0, length);
}

/** Returns the HMAC-SHA-256; WebCrypto refuses an empty key, which HMAC fills up with zeros. */
export async function hmac(key: Bytes, data: Bytes): Promise<Bytes> {
  const raw = key.length === 0 ? new Uint8Array(64) : key;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await subtle.importKey("raw", raw, algorithm, false, [
    "sign",
  ]);
  return new Uint8Array(await subtle.sign("HMAC", imported, data));
}
