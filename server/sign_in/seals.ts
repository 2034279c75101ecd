/**
 * Seals: texts that carry a MAC, so that nothing of them is kept. A seal is for one purpose, which its
 * prefix names and its MAC covers: a refresh token is no access token.
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

const MAC = /^[\w-]{43}$/;

/** Returns whether a text looks like a seal, of whatever purpose. */
export const isSeal = (text: string): boolean =>
  Object.values(PREFIXES).some((prefix) => text.startsWith(prefix));

const encoder = new TextEncoder();

/** Seals data, and opens what it sealed. */
export class Seals {
  readonly #key: CryptoKey;

  private constructor(key: CryptoKey) {
    this.#key = key;
  }

  /** @param secret 32 bytes */
  static async of(secret: Uint8Array<ArrayBuffer>): Promise<Seals> {
    const algorithm = { name: "HMAC", hash: "SHA-256" };
    return new Seals(
      await crypto.subtle.importKey("raw", secret, algorithm, false, [
        "sign",
        "verify",
      ]),
    );
  }

  /** Seals data for one purpose. */
  async seal<P extends Purpose>(purpose: P, data: Sealed[P]): Promise<string> {
    const json = Buffer.from(JSON.stringify(data)).toString("base64url");
    const body = `${PREFIXES[purpose]}${json}`;
    const mac = await crypto.subtle.sign(
      "HMAC",
      this.#key,
      encoder.encode(body),
    );
    return `${body}.${Buffer.from(mac).toString("base64url")}`;
  }

  /** Opens what was sealed for this purpose; `undefined` for anything else. */
  async open<P extends Purpose>(
    purpose: P,
    text: string,
  ): Promise<Sealed[P] | undefined> {
    const prefix = PREFIXES[purpose];
    const dot = text.lastIndexOf(".");
    const mac = text.slice(dot + 1);
    const isSealed = text.startsWith(prefix) && text.length <= MAX_LENGTH &&
      dot > 0 && MAC.test(mac);
    if (!isSealed) return undefined;
    const isValid = await crypto.subtle.verify(
      "HMAC",
      this.#key,
      Buffer.from(mac, "base64url"),
      encoder.encode(text.slice(0, dot)),
    );
    if (!isValid) return undefined;
    const json = text.slice(prefix.length, dot);
    return JSON.parse(Buffer.from(json, "base64url").toString());
  }
}

/** Makes a random text of letters and digits that cannot be guessed. */
export const randomText = (bytes = 32): string =>
  Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString(
    "base64url",
  );

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

/** What the cookies of pages have in common. */
interface CookieRules {
  readonly maxAgeMs: number;
  /** `Lax` where a page of another site leads back. */
  readonly sameSite: "Lax" | "Strict";
}

/** The cookies of pages. Each page has one of its own, so that two at once do not disturb each other. */
export class PageCookies {
  /** Has the issuer, once it is known. */
  readonly #server: { readonly issuer: string };
  readonly #rules: CookieRules;

  constructor(server: { readonly issuer: string }, rules: CookieRules) {
    this.#server = server;
    this.#rules = rules;
  }

  /** Makes the header that sets the cookie of a page. */
  make(page: Pick<Consent, "browser">, value: string): string {
    const { maxAgeMs, sameSite } = this.#rules;
    const { pathname } = new URL(`${this.#server.issuer}/authorize`);
    const attributes = [
      `${this.#nameOf(page)}=${value}`,
      this.#isSecure ? "Path=/; Secure" : `Path=${pathname}`,
      `HttpOnly; SameSite=${sameSite}; Max-Age=${maxAgeMs / 1000}`,
    ];
    return attributes.join("; ");
  }

  /** Finds the cookie of a page in a header; `undefined` for that of another. */
  async find(
    page: Pick<Consent, "browser">,
    header: string = "",
  ): Promise<string | undefined> {
    const name = `${this.#nameOf(page)}=`;
    const cookie = header.split(/;\s*/)
      .find((each) => each.startsWith(name))?.slice(name.length);
    const isIts = cookie !== undefined && await sha256(cookie) === page.browser;
    return isIts ? cookie : undefined;
  }

  #nameOf({ browser }: Pick<Consent, "browser">): string {
    const prefix = this.#isSecure ? "__Host-" : "";
    return `${prefix}smcp-consent-${browser.slice(0, 8)}`;
  }

  get #isSecure(): boolean {
    return this.#server.issuer.startsWith("https:");
  }
}
