/**
 * API keys: an authenticator for a list of them, and the parser of the JSON file that holds one. Keys
 * are compared by HMACs of their hashes, in a time that does not depend on them; an identity is found
 * again by the hash behind it, so that a recheck needs no key.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import {
  createHash,
  createHmac,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import * as z from "../../protocol/schema.ts";
import {
  checkOperatorPolicy,
  checkPatterns,
  type Identity,
  mayOperate,
  parseExpiry,
  type Policy,
} from "../shared/identity.ts";
import type {
  Authenticator,
  Credentials,
  KeptKey,
  Refused,
} from "./authenticator.ts";
import { nearestWord } from "../../shared/checks.ts";

/** An API key and its holder. */
export interface ApiKey extends Policy {
  /** Names the holder, in logs too; unique. */
  readonly id: string;
  /** The key itself, or `sha256:` and the 64 hexadecimal digits of its SHA-256. */
  readonly key: string;
  /**
   * When it expires, such as `2027-01-31T00:00:00Z`: it opens no session from then on, and its
   * sessions end. Absent: never.
   */
  readonly expires?: string;
}

/** The SHA-256 of the key behind each identity. */
const digests = new WeakMap<Identity, Uint8Array>();

/** The HTTP header that carries a client's key. */
export const API_KEY_HEADER = "x-api-key";

const HASHED = /^sha256:([0-9a-fA-F]{64})$/;

/**
 * Authenticates clients by API key: in the header `x-api-key`, as `auth.api_key`, or as
 * `auth.token`, where the Python SDK puts it (protocol §10). The first non-empty one counts.
 *
 * Hashed keys need no salt as long as keys are random, such as those of `openssl rand -hex 32`.
 * Comparison time does not depend on the keys.
 *
 * @throws {TypeError} for a misspelled field, an empty key, a duplicate `id`, an invalid time in `expires`,
 * names for an operator, and a pattern with a lone surrogate
 */
export function apiKeys(keys: readonly ApiKey[]): Authenticator {
  const isList = Array.isArray(keys) &&
    keys.every((entry) =>
      typeof entry?.id === "string" && typeof entry.key === "string"
    );
  if (!isList) {
    throw new TypeError(
      'Cannot use the API keys: expected a list such as [{ id: "ci", key: "…" }]',
    );
  }
  return new ApiKeyAuthenticator(keys);
}

/**
 * Makes a random key.
 *
 * @returns the key for its holder, and what a file keeps, from which it cannot be read back
 */
export function newApiKey(
  { id, ...rights }: Omit<ApiKey, "key">,
): { readonly text: string; readonly entry: ApiKey } {
  const text = randomBytes(32).toString("hex");
  const hash = hexOf(sha256(text));
  return { text, entry: { id, key: `sha256:${hash}`, ...rights } };
}

/** A key as it is compared. */
interface KnownKey {
  /** The HMAC of the SHA-256 of the key. */
  readonly digest: Uint8Array;
  readonly identity: Identity;
}

/** The authenticator of {@linkcode apiKeys}. */
class ApiKeyAuthenticator implements Authenticator {
  readonly #pepper = randomBytes(32);
  readonly #known: readonly KnownKey[];
  /** The principals that operators have revoked. */
  readonly #revoked = new Set<string>();

  constructor(keys: readonly ApiKey[]) {
    this.#known = keys.map((entry, at) => {
      if (keys.findIndex(({ id }) => id === entry.id) !== at) {
        throw new TypeError(
          `Cannot use two API keys with the id ${
            JSON.stringify(entry.id)
          }: give each holder an id of its own`,
        );
      }
      const identity = identityOf(entry);
      const mistake = misspellingIn(entry) ?? checkOperatorPolicy(entry) ??
        checkPatterns(entry);
      if (mistake !== undefined) throw unusable(entry, mistake);
      const digest = digestOf(entry);
      digests.set(identity, digest);
      return { digest: this.#blind(digest), identity };
    });
  }

  authenticate(credentials: Credentials): Identity | Refused {
    const sent = sentKey(credentials);
    if (sent === undefined) return { refused: "no API key" };
    const digest = this.#blind(sha256(sent));
    let found: Identity | undefined;
    for (const key of this.#known) { // no early exit: the time must not reveal the key's position
      if (timingSafeEqual(key.digest, digest)) found = key.identity;
    }
    return found ? this.#judge(found) : { refused: "unknown API key" };
  }

  refresh(identity: Identity): Identity | Refused | undefined {
    const held = digests.get(identity);
    if (held === undefined) return undefined;
    const digest = this.#blind(held);
    const same = this.#known.find((key) =>
      key.identity.principal === identity.principal &&
      timingSafeEqual(key.digest, digest)
    );
    return same
      ? this.#judge(same.identity)
      : { refused: "the API key was removed" };
  }

  find({ principal, sha256 }: KeptKey): Identity | Refused {
    for (const { identity } of this.#known) {
      // What is kept was a right key once, so that the time of this reveals nothing.
      const isSame = identity.principal === principal &&
        hexOf(digests.get(identity)) === sha256;
      if (isSame) return this.#judge(identity);
    }
    return { refused: "the API key was removed or replaced" };
  }

  hasOperators(): boolean {
    return this.#known.some(({ identity }) => mayOperate(identity.policy));
  }

  revoke(principal: string): boolean {
    const isKnown = this.#known.some(({ identity }) =>
      identity.principal === principal
    );
    if (isKnown) this.#revoked.add(principal);
    return isKnown;
  }

  /** Returns the HMAC of a key's digest, so that the time of a comparison reveals nothing of it. */
  #blind(digest: Uint8Array): Uint8Array {
    return createHmac("sha256", this.#pepper).update(digest).digest();
  }

  #judge(identity: Identity): Identity | Refused {
    const { principal, expiresAt = Infinity } = identity;
    if (this.#revoked.has(principal)) {
      return { refused: "the API key was revoked by an operator" };
    }
    if (Date.now() < expiresAt) return identity;
    const shown = `the API key expired at ${new Date(expiresAt).toISOString()}`;
    return { refused: shown, shown };
  }
}

function sentKey({ headers, auth }: Credentials): string | undefined {
  const places = [headers[API_KEY_HEADER], auth.api_key, auth.token];
  return places.filter((sent) => typeof sent === "string").find((sent) => sent);
}

const hexOf = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes).toString("hex");

const sha256 = (text: string): Uint8Array =>
  createHash("sha256").update(text).digest();

const unusable = ({ id }: ApiKey, why: string): TypeError =>
  new TypeError(`Cannot use the API key ${JSON.stringify(id)}: ${why}`);

/** Finds a misspelled field; a key may have unknown ones, as rows of a table do. */
function misspellingIn(entry: ApiKey): string | undefined {
  for (const name of Object.keys(entry)) {
    const meant = FIELDS.includes(name) ? undefined : meantBy(name);
    if (meant !== undefined) return `${name}: unknown field; ${meant}`;
  }
}

function meantBy(name: string): string | undefined {
  const meant = nearestWord(name, FIELDS);
  return meant && `did you mean ${JSON.stringify(meant)}?`;
}

function digestOf(entry: ApiKey): Uint8Array {
  const { key } = entry;
  const [, hex] = HASHED.exec(key) ?? [];
  if (hex !== undefined) return Buffer.from(hex, "hex");
  if (key !== "" && !key.startsWith("sha256:")) return sha256(key);
  throw unusable(
    entry,
    'expected the key, or "sha256:" and 64 hexadecimal digits',
  );
}

function identityOf(entry: ApiKey): Identity {
  const { id, roles, offices, names, expires } = entry;
  const identity = {
    principal: `key:${id}`,
    policy: {
      ...(roles && { roles }),
      ...(offices && { offices }),
      ...(names && { names }),
    },
  };
  if (expires === undefined) return identity;
  const expiresAt = parseExpiry(expires);
  if (expiresAt !== undefined) return { ...identity, expiresAt };
  throw unusable(
    entry,
    `expires is ${JSON.stringify(expires)}, expected ${AN_EXPIRY}`,
  );
}

const AN_EXPIRY = 'a time such as "2027-01-31T00:00:00Z"';

const text = z.string().check(z.minLength(1));
const patterns = z.exactOptional(z.readonly(z.array(text)));

// Strict: a misspelled restriction must not be ignored.
const entry = z.strictObject({
  id: text.check(z.maxLength(256)),
  key: text,
  roles: z.exactOptional(
    z.readonly(z.array(z.enum(["agent", "computer", "operator"]))),
  ),
  offices: patterns,
  names: patterns,
  expires: z.exactOptional(
    z.string().check(
      z.refine(
        (text) => parseExpiry(text) !== undefined,
        `Invalid input: expected ${AN_EXPIRY}`,
      ),
    ),
  ),
});

const schema: z.ZodMiniType<ApiKey[]> = z.array(entry);

const FIELDS = Object.keys(entry.shape);

/**
 * Parses a list of API keys from JSON: `[{"id": "ci", "key": "…", "offices": ["team-*"]}]`.
 *
 * @throws {TypeError} naming the invalid fields and the ids of their keys, never the other values
 */
export function parseApiKeys(text: string): ApiKey[] {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new TypeError(`Cannot read the API keys: not JSON${placeOf(error)}`);
  }
  const result = schema.safeParse(data, z.ENGLISH);
  if (result.success) return result.data;
  const faults = result.error.issues.map((issue) => describe(issue, data));
  throw new TypeError(`Cannot read the API keys: ${faults.join("; ")}`);
}

/** Finds line and column in an error of JSON.parse, whose message quotes the keys and must not be shown. */
const placeOf = (error: unknown): string =>
  /\(line \d+ column \d+\)/.exec(String(error))?.[0].replace(/^/, " ") ?? "";

function describe(issue: z.core.$ZodIssue, data: unknown): string {
  const [at, ...fields] = issue.path;
  if (typeof at !== "number") {
    return `the list: ${issue.message}; write it as [{"id": "ci", "key": "…"}]`;
  }
  const { id }: { id?: unknown } = Object(Object(data)[at]);
  const key = typeof id === "string"
    ? `the key ${JSON.stringify(id)}`
    : `the key at position ${at + 1}`;
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((name) => {
      const fix = meantBy(name) ??
        `remove it, or use one of ${FIELDS.join(", ")}`;
      return `${key}: ${name}: unknown field; ${fix}`;
    }).join("; ");
  }
  const problem = issue.code === "invalid_type" && issue.expected === "array"
    ? 'expected a list of texts, such as ["…"], also of one'
    : issue.message;
  return [key, fields.join("."), problem].filter(Boolean).join(": ");
}
