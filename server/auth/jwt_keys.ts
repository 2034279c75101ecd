import { createHash, createPublicKey } from "node:crypto";
import type { JSONWebKeySet, JWK, JWTVerifyGetKey, ResolvedKey } from "jose";

/** The key or keys that verify JWTs. */
export type JwtKey =
  /** A secret of at least 32 bytes that the issuer shares with this server. */
  | { readonly secret: string }
  /** Public keys as text: PEM, a JWK, or a JWK set. */
  | { readonly publicKey: string }
  /** The URL of the issuer's JWK set; fetched when needed, and again for an unknown key. */
  | { readonly jwksUrl: string };

/** The used part of the package `jose`, which is loaded with the first token. */
export type Jose = typeof import("./jose.ts");

/** The key that verified a token. */
export type VerifyingKey = ResolvedKey["key"];

/** Keys in the form that `jose` expects, with names to identify them later. */
export interface KeySource {
  /** Finds the key of a token. */
  readonly find: JWTVerifyGetKey;
  /** Names a key, without showing a secret. */
  nameOf(key: VerifyingKey): Promise<string>;
  /** Returns the names of all accepted keys; fetches a remote set again. */
  names(): Promise<ReadonlySet<string>>;
}

/**
 * Checks a key immediately, and defers the rest until `jose` is loaded.
 *
 * @throws {TypeError} when the key is invalid; the message contains no part of it
 */
export function keyLoader(key: JwtKey): (jose: Jose) => KeySource {
  if ("secret" in key) return secretSource(key.secret);
  if ("jwksUrl" in key) {
    if (!URL.canParse(key.jwksUrl)) {
      throw new TypeError("Cannot fetch JWT keys: the JWKS URL is no URL");
    }
    const url = new URL(key.jwksUrl);
    return (jose) => remoteSource(jose, url);
  }
  const set = readPublicKeys(key.publicKey);
  return (jose) => ({
    find: jose.createLocalJWKSet(set),
    nameOf: thumbprints(jose),
    names: () => namesOf(jose, set),
  });
}

function secretSource(secret: string): () => KeySource {
  const bytes = new TextEncoder().encode(secret);
  if (bytes.length < 32) {
    throw new TypeError(
      `Cannot use a JWT secret of ${bytes.length} bytes: expected at least 32`,
    );
  }
  const name = createHash("sha256").update(bytes).digest("hex");
  return () => ({
    find: () => Promise.resolve(bytes),
    nameOf: () => Promise.resolve(name),
    names: () => Promise.resolve(new Set([name])),
  });
}

function remoteSource(jose: Jose, url: URL): KeySource {
  const find = jose.createRemoteJWKSet(url, { [jose.customFetch]: tidyFetch });
  let fetching: Promise<void> | undefined;
  return {
    find,
    nameOf: thumbprints(jose),
    async names() {
      // One request for all sessions that are rechecked at the same time.
      fetching ??= find.reload().finally(() => fetching = undefined);
      await fetching;
      return await namesOf(jose, find.jwks() ?? { keys: [] });
    },
  };
}

/** Names keys by their thumbprints (RFC 7638); `jose` creates one object per key. */
function thumbprints(jose: Jose): KeySource["nameOf"] {
  const known = new WeakMap<object, string>();
  return async (key) => {
    let name = known.get(key);
    if (name === undefined) {
      name = await jose.calculateJwkThumbprint(await jose.exportJWK(key));
      known.set(key, name);
    }
    return name;
  };
}

async function namesOf(
  jose: Jose,
  { keys }: JSONWebKeySet,
): Promise<ReadonlySet<string>> {
  const names = keys.map((key) =>
    // A set may contain keys of unsupported types.
    jose.calculateJwkThumbprint(key).catch(() => "")
  );
  return new Set(await Promise.all(names));
}

/** Fetches and cancels the body of an error, which `jose` leaves unread: that would hold the connection open. */
async function tidyFetch(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (!response.ok) await response.body?.cancel();
  return response;
}

/** @throws {TypeError} whose message contains no part of the text */
function readPublicKeys(text: string): JSONWebKeySet {
  if (PRIVATE_PEM.test(text)) throw privateKey();
  let keys: JWK[];
  try {
    keys = text.includes("-----BEGIN")
      ? [createPublicKey(text).export({ format: "jwk" }) as JWK]
      : keysOf(JSON.parse(text));
  } catch {
    throw notPublicKey();
  }
  if (keys.some((key) => typeof key === "object" && key && "d" in key)) {
    throw privateKey();
  }
  try {
    for (const key of keys) createPublicKey({ key, format: "jwk" });
  } catch {
    throw notPublicKey();
  }
  return { keys };
}

const PRIVATE_PEM = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** @throws when it is neither a key nor a set of keys */
const keysOf = (json: { keys?: JWK[] }): JWK[] =>
  "keys" in json ? [...json.keys ?? []] : [json as JWK];

const notPublicKey = (): TypeError =>
  new TypeError(
    "Cannot read the JWT keys: expected a public key as PEM, a JWK or a JWK set",
  );

/** A private key could also sign tokens. */
const privateKey = (): TypeError =>
  new TypeError(
    "Cannot verify JWTs with a private key: it can sign them too, and must stay with the issuer; give its public half (openssl pkey -in private.pem -pubout)",
  );
