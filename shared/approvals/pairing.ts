/**
 * How a device and a Computer come to know each other: a link with a secret, which the Server never sees,
 * and six digits, which the person types at the Computer.
 *
 * @module
 */
import {
  type Bytes,
  fromBase64url,
  joinBytes,
  sha256,
  toBase64url,
  utf8,
  utf8Text,
} from "./bytes.ts";
import { hmac } from "./hpke.ts";
import { label, type PublicKeys } from "./message.ts";

const { subtle } = globalThis.crypto;

/** The content of a link. */
export interface PairingLink {
  /** The address of the Server. */
  readonly url: string;
  readonly office: string;
  /** The Computer's name in the office. */
  readonly computer: string;
  /** The hash of the Computer's keys. */
  readonly id: Bytes;
  /** 16 random bytes, for one device. */
  readonly secret: Bytes;
}

/** Writes a link: all of it but the page's address is in the fragment, which no server gets. */
export const linkText = (
  page: string,
  { url, office, computer, id, secret }: PairingLink,
): string =>
  `${page}#1.${
    [utf8(url), utf8(office), utf8(computer), id, secret]
      .map(toBase64url).join(".")
  }`;

/**
 * Reads a link, or its fragment.
 *
 * @throws {TypeError} when it is something else
 */
export function readLink(text: string): PairingLink {
  const [version, ...parts] = text.slice(text.indexOf("#") + 1).split(".");
  const [address, officeName, computerName, id, secret] = parts
    .map((part) => fromBase64url(part));
  const [url = "", office = "", computer = ""] = [
    address,
    officeName,
    computerName,
  ].map((bytes) => bytes && utf8Text(bytes));
  if (
    version !== "1" || parts.length !== 5 || !/^https?:/.test(url) ||
    !URL.canParse(url) || office === "" || computer === "" ||
    id?.length !== 16 || secret?.length !== 16
  ) {
    throw new TypeError("Not a link of `smcp-computer pair`");
  }
  return { url, office, computer, id, secret };
}

/** Returns the token by which the Server lets a device in that has opened a link. */
export const rendezvousToken = (secret: Bytes): Promise<Bytes> =>
  derive(secret, "rendezvous");

/** Proves that a device has a link's secret, for its keys. */
export const helloMac = async (
  secret: Bytes,
  computer: Bytes,
  { sign, seal }: PublicKeys,
): Promise<Bytes> =>
  await hmac(
    await derive(secret, "hello"),
    joinBytes(label("hello"), computer, sign, seal),
  );

/**
 * Returns the six digits of a pairing.
 *
 * @param nonce what the Computer chose after it had the device's keys: digits of the keys alone could be
 * searched for
 */
export async function pairingDigits(
  secret: Bytes,
  computer: Bytes,
  { sign, seal }: PublicKeys,
  nonce: Bytes,
): Promise<string> {
  const bytes = await sha256(
    joinBytes(
      label("code"),
      await derive(secret, "code"),
      computer,
      sign,
      seal,
      nonce,
    ),
  );
  const number = new DataView(bytes.buffer).getUint32(0) % 1_000_000;
  return String(number).padStart(6, "0");
}

/** Reads six digits as a person types them, also with spaces or hyphens; undefined for anything else. */
export function typedDigits(text: string): string | undefined {
  const digits = text.replaceAll(/[\s-]/g, "");
  return /^\d{6}$/.test(digits) ? digits : undefined;
}

async function derive(secret: Bytes, purpose: string): Promise<Bytes> {
  const key = await subtle.importKey("raw", secret, "HKDF", false, [
    "deriveBits",
  ]);
  const algorithm = {
    name: "HKDF",
    hash: "SHA-256",
    salt: new Uint8Array(),
    info: label(purpose),
  };
  return new Uint8Array(await subtle.deriveBits(algorithm, key, 256));
}
