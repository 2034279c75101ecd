import {
  createHash,
  createHmac,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import type { Identity } from "../shared/identity.ts";
import type { Authenticator, Credentials, Refused } from "./authenticator.ts";
import { parseExpiry } from "./parse_expiry.ts";
import { checkOperatorPolicy, mayOperate } from "../shared/identity.ts";
import type { Policy } from "../shared/identity.ts";

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

const REVOKED: Refused = { refused: "the API key was revoked by an operator" };

/** The refusal of a key that has expired. */
function expired(expiresAt: number): Refused {
  const shown = `the API key expired at ${new Date(expiresAt).toISOString()}`;
  return { refused: shown, shown };
}

const HASHED = /^sha256:([0-9a-fA-F]{64})$/;

/**
 * Authenticates clients by API key: in the header `x-api-key`, as `auth.api_key`, or as
 * `auth.token`, where the Python SDK puts it (spec §10). The first non-empty one counts.
 *
 * Hashed keys need no salt as long as keys are random, such as those of `openssl rand -hex 32`.
 * Comparison time does not depend on the keys.
 *
 * @throws {TypeError} for an empty key, a duplicate `id`, no time in `expires`, and names for an operator
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
  const pepper = randomBytes(32);
  const blind = (digest: Uint8Array) =>
    createHmac("sha256", pepper).update(digest).digest();
  const known = keys.map((entry, at) => {
    if (keys.findIndex(({ id }) => id === entry.id) !== at) {
      throw new TypeError(
        `Cannot use two API keys with the id ${
          JSON.stringify(entry.id)
        }: give each holder an id of its own`,
      );
    }
    const identity = identityOf(entry);
    const mistake = checkOperatorPolicy(entry);
    if (mistake !== undefined) {
      throw new TypeError(
        `Cannot use the API key ${JSON.stringify(entry.id)}: ${mistake}`,
      );
    }
    const digest = digestOf(entry);
    digests.set(identity, digest);
    return { digest: blind(digest), identity };
  });
  const revoked = new Set<string>();
  const judge = (identity: Identity): Identity | Refused => {
    const { principal, expiresAt = Infinity } = identity;
    if (revoked.has(principal)) return REVOKED;
    return Date.now() < expiresAt ? identity : expired(expiresAt);
  };
  return {
    authenticate(credentials) {
      const sent = sentKey(credentials);
      if (sent === undefined) return { refused: "no API key" };
      const digest = blind(sha256(sent));
      let found: Identity | undefined;
      for (const key of known) { // no early exit: the time must not reveal the key's position
        if (timingSafeEqual(key.digest, digest)) found = key.identity;
      }
      return found === undefined
        ? { refused: "unknown API key" }
        : judge(found);
    },
    refresh(identity) {
      const held = digests.get(identity);
      if (held === undefined) return undefined;
      const digest = blind(held);
      const same = known.find((key) =>
        key.identity.principal === identity.principal &&
        timingSafeEqual(key.digest, digest)
      );
      return same === undefined
        ? { refused: "the API key is gone" }
        : judge(same.identity);
    },
    hasOperators: () =>
      known.some(({ identity }) => mayOperate(identity.policy)),
    revoke(principal) {
      const isKnown = known.some(({ identity }) =>
        identity.principal === principal
      );
      if (isKnown) revoked.add(principal);
      return isKnown;
    },
  };
}

function sentKey({ headers, auth }: Credentials): string | undefined {
  const places: unknown[] = [
    headers[API_KEY_HEADER],
    auth.api_key,
    auth.token,
  ];
  return places.filter((sent) => typeof sent === "string").find((sent) => sent);
}

const sha256 = (text: string): Uint8Array =>
  createHash("sha256").update(text).digest();

function digestOf({ id, key }: ApiKey): Uint8Array {
  const [, hex] = HASHED.exec(key) ?? [];
  if (hex !== undefined) return Uint8Array.from(hex.match(/../g) ?? [], byte);
  if (key === "" || key.startsWith("sha256:")) {
    throw new TypeError(
      `Cannot use the API key ${
        JSON.stringify(id)
      }: expected the key, or "sha256:" and 64 hexadecimal digits`,
    );
  }
  return sha256(key);
}

const byte = (hex: string): number => parseInt(hex, 16);

function identityOf(
  { id, roles, offices, names, expires }: ApiKey,
): Identity {
  const expiresAt = expires === undefined ? undefined : parseExpiry(expires);
  if (expires !== undefined && expiresAt === undefined) {
    throw new TypeError(
      `Cannot use the API key ${JSON.stringify(id)}: expires is ${
        JSON.stringify(expires)
      }, expected ${AN_EXPIRY}`,
    );
  }
  return {
    principal: `key:${id}`,
    policy: {
      ...(roles && { roles }),
      ...(offices && { offices }),
      ...(names && { names }),
    },
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

const AN_EXPIRY = 'a time such as "2027-01-31T00:00:00Z"';
