/**
 * Seals: texts that prove that this Server made them, so that nothing of them is kept. A seal is for one
 * purpose, which its prefix names and its proof covers: a refresh token is no access token. Those in pages
 * are encrypted, too: a page names Computers, and the hash of a key.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { Allower, ClientFacts } from "./grant.ts";

/** What an access token carries. */
export interface AccessClaims {
  /** The id of the grant. */
  readonly grant: string;
  /** The office of the grant. */
  readonly office: string;
  /** The path of the resource, as in the grant. */
  readonly resource: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** What a refresh token carries. */
export interface RefreshClaims {
  /** The id of the grant. */
  readonly grant: string;
  /** Which of the grant's refresh tokens it is. */
  readonly number: number;
}

/** What a program asks for: a page carries it to the next. */
export interface Consent {
  readonly client: Pick<ClientFacts, "id" | "name" | "host">;
  /** Where the answer goes. */
  readonly redirect: string;
  /** The S256 challenge of PKCE. */
  readonly challenge: string;
  /** Goes back as it came. */
  readonly state?: string;
  /** The office that the resource names; absent where the person chooses it. */
  readonly office?: string;
  /** The SHA-256 of the cookie that belongs to the page. */
  readonly browser: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** Who the person is, once that is known. */
  readonly known?: KnownPerson;
}

/** A person who may allow a program to use an office, and what the page showed of it. */
export interface KnownPerson {
  readonly by: Allower;
  /** Until when the person's credentials are valid; absent for no end. */
  readonly expiresAt?: number;
  readonly office: string;
  /** The Computers among which the person chooses; absent where they are too many. */
  readonly computers?: readonly string[];
}

/** What comes back with a person from the provider: the request, and a mark of this visit alone. */
export interface Trip {
  readonly consent: Consent;
  readonly office: string;
  /** Random. */
  readonly visit: string;
}

/** What is sealed, by its purpose. */
interface Sealed {
  consent: Consent;
  trip: Trip;
  access: AccessClaims;
  refresh: RefreshClaims;
}

type Purpose = keyof Sealed;

/** What a seal begins with; also recognized by programs that look for leaked secrets. */
const PREFIX = "smcp_";
const PREFIXES: Readonly<Record<Purpose, string>> = {
  consent: `${PREFIX}consent_`,
  trip: `${PREFIX}trip_`,
  access: `${PREFIX}at_`,
  refresh: `${PREFIX}rt_`,
};

/** No seal is longer: a consent names Computers and has the program's state. */
const MAX_LENGTH = 64 * 1024;

/** In its one spelling: the last character has two bits that mean nothing. */
const MAC = /^[\w-]{42}[AEIMQUYcgkosw048]$/;

/** What only this Server can read. */
const ENCRYPTED: ReadonlySet<Purpose> = new Set(["consent", "trip"]);
const NONCE_BYTES = 12;

/** Returns whether a text looks like a seal, of whatever purpose. */
export const isSeal = (text: string): boolean =>
  Object.values(PREFIXES).some((prefix) => text.startsWith(prefix));

const encoder = new TextEncoder();

/** Seals data, and opens what it sealed. */
export class Seals {
  readonly #mac: CryptoKey;
  readonly #cipher: CryptoKey;

  private constructor(mac: CryptoKey, cipher: CryptoKey) {
    this.#mac = mac;
    this.#cipher = cipher;
  }

  /** @param secret 32 bytes */
  static async of(secret: Uint8Array<ArrayBuffer>): Promise<Seals> {
    const { subtle } = crypto;
    const hmac = { name: "HMAC", hash: "SHA-256" };
    const mac = await subtle
      .importKey("raw", secret, hmac, false, ["sign", "verify"]);
    // No seal is this text: each begins with a prefix.
    const key = await subtle.sign("HMAC", mac, encoder.encode("encryption"));
    const cipher = await subtle
      .importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]);
    return new Seals(mac, cipher);
  }

  /** Seals data for one purpose. */
  async seal<P extends Purpose>(purpose: P, data: Sealed[P]): Promise<string> {
    const prefix = PREFIXES[purpose];
    const json = Buffer.from(JSON.stringify(data));
    if (ENCRYPTED.has(purpose)) {
      const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
      const hidden = await crypto.subtle
        .encrypt(gcm(prefix, iv), this.#cipher, json);
      return prefix + toBase64Url(Buffer.concat([iv, new Uint8Array(hidden)]));
    }
    const body = prefix + toBase64Url(json);
    const mac = await crypto.subtle
      .sign("HMAC", this.#mac, encoder.encode(body));
    return `${body}.${toBase64Url(new Uint8Array(mac))}`;
  }

  /** Opens what was sealed for this purpose; `undefined` for anything else. */
  async open<P extends Purpose>(
    purpose: P,
    text: string,
  ): Promise<Sealed[P] | undefined> {
    const prefix = PREFIXES[purpose];
    if (!text.startsWith(prefix) || text.length > MAX_LENGTH) return undefined;
    const json = ENCRYPTED.has(purpose)
      ? await this.#decrypt(prefix, text.slice(prefix.length))
      : await this.#verify(prefix, text);
    return json && JSON.parse(json.toString());
  }

  async #decrypt(prefix: string, sealed: string): Promise<Buffer | undefined> {
    const bytes = Buffer.from(sealed, "base64url");
    const iv = bytes.subarray(0, NONCE_BYTES);
    const hidden = bytes.subarray(NONCE_BYTES);
    try {
      return Buffer.from(
        await crypto.subtle.decrypt(gcm(prefix, iv), this.#cipher, hidden),
      );
    } catch {
      return undefined;
    }
  }

  async #verify(prefix: string, text: string): Promise<Buffer | undefined> {
    const dot = text.lastIndexOf(".");
    const mac = text.slice(dot + 1);
    const isValid = MAC.test(mac) && await crypto.subtle.verify(
      "HMAC",
      this.#mac,
      Buffer.from(mac, "base64url"),
      encoder.encode(text.slice(0, dot)),
    );
    if (!isValid) return undefined;
    return Buffer.from(text.slice(prefix.length, dot), "base64url");
  }
}

const gcm = (prefix: string, iv: Uint8Array<ArrayBuffer>) => ({
  name: "AES-GCM",
  iv,
  additionalData: encoder.encode(prefix),
});

const toBase64Url = (bytes: Uint8Array): string =>
  Buffer.from(bytes).toString("base64url");

/** Makes a random text of letters and digits that cannot be guessed. */
export const randomText = (bytes = 32): string =>
  toBase64Url(crypto.getRandomValues(new Uint8Array(bytes)));

/** Makes the random id of a grant, which people type: in base64url it could begin with a dash, as an option does. */
export const randomId = (): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(10))).toString("hex");

/** Returns the SHA-256 of a text. */
export async function sha256(
  text: string,
  encoding: "base64url" | "hex" = "base64url",
): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(text));
  return Buffer.from(digest).toString(encoding);
}
