/**
 * Messages between a Computer and a person's device, of which the Server in between can read and change
 * nothing: each is signed by its sender, and then sealed to its receiver.
 *
 * | offset | bytes | content |
 * | --- | --- | --- |
 * | 0 | 1 | version, 1 |
 * | 1 | 1 | kind |
 * | 2 | 16 | sender |
 * | 18 | 16 | receiver |
 * | 34 | 65 | the sender's key of this message |
 * | 99 | n + 16 | sealed: 64 bytes of signature, then the payload: JSON, padded with spaces |
 *
 * @module
 */
import {
  type Bytes,
  joinBytes,
  sameBytes,
  sha256,
  utf8,
  utf8Text,
} from "./bytes.ts";
import {
  KEY_BYTES,
  openSealed,
  rawKey,
  SEAL_BYTES,
  SEALING,
  sealTo,
} from "./hpke.ts";

const { subtle } = globalThis.crypto;

/** The algorithm of the keys that sign. */
export const SIGNING: EcKeyImportParams = {
  name: "ECDSA",
  namedCurve: "P-256",
};
const ECDSA: EcdsaParams = { name: "ECDSA", hash: "SHA-256" };

/** The version of all messages. */
export const VERSION = 1;

/** The kinds of messages by name; `keys` and `refused` are neither signed nor sealed. */
export const KINDS = {
  /** Of a device, empty; then of the Computer, with its public keys. */
  keys: 1,
  /** Of a device that has opened a link. */
  hello: 2,
  /** Of the Computer: what the digits depend on. */
  code: 3,
  /** Of a device: asks whether the digits were typed. */
  wait: 4,
  /** Of the Computer: the device's token. */
  paired: 5,
  /** Of a device: asks for what is open. */
  poll: 6,
  /** Of the Computer: all that is open. */
  news: 7,
  /** Of a device: the answer to a question. */
  answer: 8,
  /** Of the Computer: whether the answer counted. */
  taken: 9,
  /** Of the Computer, empty: refused, for any reason. */
  refused: 10,
} as const;
/** The kind of a message. */
export type Kind = keyof typeof KINDS;

const ID_BYTES = 16;
const HEAD_BYTES = 2 + 2 * ID_BYTES;
const HEADER_BYTES = HEAD_BYTES + KEY_BYTES;
const SIGNATURE_BYTES = 64;
/** Payloads have this length, or it times a power of two. */
const LEAST_BYTES = 256;

/** The pairs of keys of one side. */
export interface Keys {
  readonly sign: CryptoKeyPair;
  readonly seal: CryptoKeyPair;
}

/** The public keys of one side, as uncompressed points. */
export interface PublicKeys {
  readonly sign: Bytes;
  readonly seal: Bytes;
}

/** A side whose messages can be verified. */
export interface Party {
  /** 16 bytes of a hash of its keys. */
  readonly id: Bytes;
  readonly pub: PublicKeys;
}

/** A side that can sign and open messages. */
export interface Self extends Party {
  readonly keys: Keys;
}

/** Returns the bytes that keep what is hashed, signed and sealed for one purpose from others. */
export const label = (purpose: string): Bytes =>
  joinBytes(utf8(`a2c-approve/1 ${purpose}`), Uint8Array.of(0));

/**
 * Makes the keys of one side.
 *
 * @param isExtractable whether a program may export the private keys, as it must to keep them in a file
 */
export async function newKeys(isExtractable: boolean): Promise<Keys> {
  return {
    sign: await subtle.generateKey(SIGNING, isExtractable, ["sign", "verify"]),
    seal: await subtle.generateKey(SEALING, isExtractable, ["deriveBits"]),
  };
}

/** Returns the public keys. */
export const publicKeys = async (
  { sign, seal }: Keys,
): Promise<PublicKeys> => ({
  sign: await rawKey(sign.publicKey),
  seal: await rawKey(seal.publicKey),
});

/** Returns a Computer's id. */
export const computerId = async ({ sign, seal }: PublicKeys): Promise<Bytes> =>
  (await sha256(joinBytes(label("computer"), sign, seal))).slice(0, ID_BYTES);

/** Returns the id of a device, which is for one Computer. */
export const deviceId = async (
  { sign, seal }: PublicKeys,
  computer: Bytes,
): Promise<Bytes> =>
  (await sha256(joinBytes(label("device"), sign, seal, computer)))
    .slice(0, ID_BYTES);

/** Signs a payload, and seals it to its receiver. */
export async function writeMessage(
  kind: Kind,
  payload: object,
  from: Self,
  to: Party,
): Promise<Bytes> {
  const head = joinBytes(
    Uint8Array.of(VERSION, KINDS[kind]),
    from.id,
    to.id,
  );
  const context = await sealTo(to.pub.seal, joinBytes(label("seal"), head));
  const header = joinBytes(head, context.enc);
  const body = padded(JSON.stringify(payload));
  const signed = joinBytes(label("message"), header, body);
  const signature = new Uint8Array(
    await subtle.sign(ECDSA, from.keys.sign.privateKey, signed),
  );
  const sealed = await context.seal(joinBytes(signature, body), header);
  return joinBytes(header, sealed);
}

/** Returns the kind of a message; undefined for an unknown one. */
export const kindOf = (message: Bytes): Kind | undefined =>
  (Object.keys(KINDS) as Kind[]).find((kind) => KINDS[kind] === message[1]);

/** Returns the id of the sender, as the message has it. */
export const senderOf = (message: Bytes): Bytes =>
  message.slice(2, 2 + ID_BYTES);

/** Writes a message without payload, or one with bytes that are not sealed. */
export const plainMessage = (
  kind: "keys" | "refused",
  ...parts: readonly Bytes[]
): Bytes => joinBytes(Uint8Array.of(VERSION, KINDS[kind]), ...parts);

/** A message that was opened. */
export interface Message {
  readonly kind: Kind;
  /** JSON, whose form its reader checks. */
  readonly payload: unknown;
}

/**
 * Opens and verifies a message.
 *
 * @param kinds that are expected
 * @param from its sender; or, where the payload has the sender's keys, what returns it after checking that
 * @throws {Error} of any kind: no answer to anybody but the log should quote it
 */
export async function readMessage(
  message: Bytes,
  kinds: readonly Kind[],
  to: Self,
  from: Party | ((payload: unknown) => Promise<Party>),
): Promise<Message> {
  const least = HEADER_BYTES + SEAL_BYTES + SIGNATURE_BYTES;
  if (message.length < least || message[0] !== VERSION) {
    throw new Error(`Not a message of version ${VERSION}`);
  }
  const kind = kindOf(message);
  if (kind === undefined || !kinds.includes(kind)) {
    throw new Error(`Unexpected kind of message: ${message[1]}`);
  }
  const header = message.slice(0, HEADER_BYTES);
  const head = message.slice(0, HEAD_BYTES);
  if (!sameBytes(head.slice(2 + ID_BYTES), to.id)) {
    throw new Error("The message is for another receiver");
  }
  const plain = await openSealed({
    keys: to.keys.seal,
    enc: header.slice(HEAD_BYTES),
    info: joinBytes(label("seal"), head),
    aad: header,
    sealed: message.slice(HEADER_BYTES),
  });
  const signature = plain.slice(0, SIGNATURE_BYTES);
  const body = plain.slice(SIGNATURE_BYTES);
  const payload: unknown = JSON.parse(utf8Text(body));
  const sender = typeof from === "function" ? await from(payload) : from;
  if (!sameBytes(senderOf(message), sender.id)) {
    throw new Error("The message is of another sender");
  }
  const key = await subtle.importKey("raw", sender.pub.sign, SIGNING, false, [
    "verify",
  ]);
  const signed = joinBytes(label("message"), header, body);
  if (!await subtle.verify(ECDSA, key, signature, signed)) {
    throw new Error("The message has a wrong signature");
  }
  return { kind, payload };
}

/** Pads JSON with spaces, so that its length reveals little. */
function padded(json: string): Bytes {
  const bytes = utf8(json);
  let size = LEAST_BYTES;
  while (size < bytes.length) size *= 2;
  return joinBytes(bytes, new Uint8Array(size - bytes.length).fill(0x20));
}
