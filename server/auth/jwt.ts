import { createPublicKey } from "node:crypto";
import type {
  JSONWebKeySet,
  JWK,
  JWTVerifyGetKey,
  JWTVerifyOptions,
} from "jose";
import type {
  Authenticator,
  Credentials,
  Identity,
  Refused,
} from "./authenticator.ts";
import { CLOCK_TOLERANCE, readClaims } from "./claims.ts";

/** What JWTs are verified with. */
export type JwtKey =
  /** A secret of at least 32 bytes that the issuer shares with this server. */
  | { readonly secret: string }
  /** Public keys as text: PEM, a JWK, or a JWK set. */
  | { readonly publicKey: string }
  /** Where the issuer publishes its JWK set; fetched when needed, and again when a key is new. */
  | { readonly jwksUrl: string };

/** Which JWTs are accepted. */
export interface JwtOptions {
  /** What they are verified with. */
  key: JwtKey;
  /** Accepted signature algorithms; default `HS256` for a secret, else those of RSA, EC and Ed25519 keys. */
  algorithms?: readonly string[];
  /** The `iss` that they must have; default any. */
  issuer?: string;
  /** The `aud` that they must have; default any. */
  audience?: string;
}

const SYMMETRIC = /^HS(256|384|512)$/;
const ASYMMETRIC = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/**
 * Lets in who sends a valid JWT: in the header `Authorization: Bearer …`, or as `auth.token` (spec §10).
 *
 * A token must have `sub` and `exp`; {@linkcode readClaims} tells what else counts. When it expires,
 * the session ends; clients whose `auth` is a function come back with what that gives then.
 *
 * @throws {TypeError} when the options can not work: a short secret, no public key, mixed algorithms,
 * an empty issuer or audience
 */
export function jwt(options: JwtOptions): Authenticator {
  const verifying = verifyOptions(options);
  const load = keyLoader(options.key);
  let verifier: Promise<Verifier> | undefined;
  return {
    async authenticate(credentials) {
      const token = sentToken(credentials);
      if (token === undefined) return { refused: "no token" };
      verifier ??= newVerifier(load, verifying);
      return await (await verifier)(token);
    },
  };
}

type Verifier = (token: string) => Promise<Identity | Refused>;
type Jose = typeof import("jose");

/** Loads `jose` at the first token, so that servers without JWT never do. */
async function newVerifier(
  load: (jose: Jose) => Uint8Array | JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<Verifier> {
  const jose = await import("jose");
  const key = load(jose);
  return async (token) => {
    try {
      const { payload } = typeof key === "function"
        ? await jose.jwtVerify(token, key, options)
        : await jose.jwtVerify(token, key, options);
      return readClaims(payload);
    } catch (error) {
      if (error instanceof jose.errors.JOSEError && !isOutage(error.code)) {
        return { refused: `token refused (${error.code})` }; // its message may quote claims
      }
      throw error;
    }
  };
}

/** The issuer's JWK set could not be had: that says nothing about the token. */
const isOutage = (code: string): boolean =>
  ["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"].includes(code);

function sentToken({ headers, auth }: Credentials): string | undefined {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? "") ?? [];
  const sent = bearer ?? auth.token;
  return typeof sent === "string" && sent !== "" ? sent : undefined;
}

function verifyOptions(
  { key, algorithms, issuer, audience }: JwtOptions,
): JWTVerifyOptions {
  const isSecret = "secret" in key;
  const pinned = algorithms ?? (isSecret ? ["HS256"] : ASYMMETRIC);
  // A public key must never pass for the secret of an HMAC.
  const wrong = pinned.find((name) =>
    isSecret ? !SYMMETRIC.test(name) : !ASYMMETRIC.includes(name)
  );
  if (wrong !== undefined) {
    throw new TypeError(
      `Cannot verify JWTs with ${
        isSecret ? "a secret" : "public keys"
      } and the algorithm ${JSON.stringify(wrong)}: expected ${
        isSecret ? "HS256, HS384 or HS512" : ASYMMETRIC.join(", ")
      }`,
    );
  }
  for (const [name, value] of Object.entries({ issuer, audience })) {
    if (value !== "") continue;
    throw new TypeError(
      `Cannot verify JWTs with an empty ${name}: leave it out to accept any`,
    );
  }
  return {
    algorithms: [...pinned],
    clockTolerance: CLOCK_TOLERANCE,
    requiredClaims: ["sub", "exp"],
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  };
}

/** Checks the key at once; what `jose` makes of it comes later. */
function keyLoader(
  key: JwtKey,
): (jose: Jose) => Uint8Array | JWTVerifyGetKey {
  if ("secret" in key) {
    const bytes = new TextEncoder().encode(key.secret);
    if (bytes.length < 32) {
      throw new TypeError(
        `Cannot use a JWT secret of ${bytes.length} bytes: expected at least 32`,
      );
    }
    return () => bytes;
  }
  if ("jwksUrl" in key) {
    if (!URL.canParse(key.jwksUrl)) {
      throw new TypeError("Cannot fetch JWT keys: the JWKS URL is no URL");
    }
    const url = new URL(key.jwksUrl);
    return (jose) =>
      jose.createRemoteJWKSet(url, { [jose.customFetch]: tidyFetch });
  }
  const set = readPublicKeys(key.publicKey);
  return (jose) => jose.createLocalJWKSet(set);
}

/** `jose` leaves the body of a failure unread, which holds its connection open. */
async function tidyFetch(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (!response.ok) await response.body?.cancel();
  return response;
}

/** @throws {TypeError} that shows nothing of the text, which may be a private key by mistake */
function readPublicKeys(text: string): JSONWebKeySet {
  try {
    if (text.includes("-----BEGIN")) {
      return { keys: [createPublicKey(text).export({ format: "jwk" }) as JWK] };
    }
    const json = JSON.parse(text);
    const keys: JWK[] = "keys" in json ? json.keys : [json];
    for (const key of keys) {
      if ("d" in key) throw new TypeError("a private key");
      createPublicKey({ key, format: "jwk" });
    }
    return { keys };
  } catch {
    throw new TypeError(
      "Cannot read the JWT keys: expected a public key as PEM, a JWK or a JWK set",
    );
  }
}
