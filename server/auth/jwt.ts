import type { JWTPayload, JWTVerifyOptions } from "jose";
import { loadPackages } from "../../shared/packages.ts";
import type { Identity } from "../shared/identity.ts";
import type { Authenticator, Credentials, Refused } from "./authenticator.ts";
import {
  CLOCK_TOLERANCE_SECONDS,
  PRINCIPAL_PREFIX,
  readClaims,
} from "./claims.ts";
import {
  type Jose,
  type JwtKey,
  keyLoader,
  type KeySource,
} from "./jwt_keys.ts";
import { describeRefusal } from "./jwt_refusal.ts";

/** The name of the key that verified the token behind each identity. */
const keyNames = new WeakMap<Identity, string>();

/** Options for {@linkcode jwt}. */
export interface JwtOptions {
  /** The key that verifies signatures. */
  key: JwtKey;
  /** Accepted signature algorithms; default `HS256` for a secret, else those of RSA, EC and Ed25519 keys. */
  algorithms?: readonly string[];
  /** The required `iss`; default any. */
  issuer?: string;
  /** The required `aud`; default any. */
  audience?: string;
}

const SYMMETRIC = /^HS(256|384|512)$/;
const ASYMMETRIC = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/**
 * Authenticates clients by JWT: in the header `Authorization: Bearer …`, or as `auth.token` (spec §10).
 *
 * A token must have `sub` and `exp`; see {@linkcode readClaims} for the other claims. When it
 * expires, the session ends; clients whose `auth` is a function reconnect with a new result of it.
 *
 * @throws {TypeError} for invalid options: a short secret, no public key, mixed algorithms, an empty
 * issuer or audience
 */
export function jwt(options: JwtOptions): Authenticator {
  if (typeof options?.key !== "object" || options.key === null) {
    throw new TypeError(
      'Cannot verify JWTs without a key: expected { key: { secret: "…" } }, or publicKey or jwksUrl in place of secret',
    );
  }
  const verifying = verifyOptions(options);
  const load = keyLoader(options.key);
  let loading: Promise<{ jose: Jose; keys: KeySource }> | undefined;
  // Loaded with the first token: servers without JWT never need it.
  const loaded = () =>
    loading ??= loadPackages("verify JWTs", ["jose"], () => import("jose"))
      .then((jose) => ({ jose, keys: load(jose) }));
  const revoked = new Set<string>();
  const unlessRevoked = (verdict: Identity | Refused): Identity | Refused =>
    "principal" in verdict && revoked.has(verdict.principal)
      ? { refused: "token refused: its holder was revoked by an operator" }
      : verdict;
  return {
    async authenticate(credentials) {
      const token = sentToken(credentials);
      if (token === undefined) return { refused: "no token" };
      const { jose, keys } = await loaded();
      return unlessRevoked(await verify(token, jose, keys, verifying));
    },
    async refresh(identity) {
      const name = keyNames.get(identity);
      if (name === undefined) return undefined;
      const { keys } = await loaded();
      return (await keys.names()).has(name)
        ? unlessRevoked(identity)
        : { refused: "the key of the token is gone" };
    },
    // The issuer alone knows.
    hasOperators: () => true,
    revoke(principal) {
      const isToken = principal.startsWith(PRINCIPAL_PREFIX);
      if (isToken) revoked.add(principal);
      return isToken;
    },
  };
}

async function verify(
  token: string,
  jose: Jose,
  keys: KeySource,
  options: JWTVerifyOptions,
): Promise<Identity | Refused> {
  try {
    const { payload, key } = await jose.jwtVerify(token, keys.find, options);
    const verdict = readClaims(payload);
    if ("principal" in verdict) {
      keyNames.set(verdict, await keys.nameOf(key));
    }
    return verdict;
  } catch (error) {
    if (error instanceof jose.errors.JOSEError && !isOutage(error.code)) {
      return {
        refused: describeRefusal(error),
        ...(error instanceof jose.errors.JWTExpired && expiry(error.payload)),
      };
    }
    throw error;
  }
}

/** Returns the reason for the holder of an expired token, whose signature is right. */
const expiry = ({ exp }: JWTPayload): Pick<Refused, "shown"> =>
  exp === undefined || !Number.isFinite(new Date(exp * 1000).getTime())
    ? {}
    : { shown: `the token expired at ${new Date(exp * 1000).toISOString()}` };

/** Returns whether the issuer's JWK set was unavailable, which says nothing about the token. */
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
  // A public key must never be accepted as an HMAC secret.
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
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    requiredClaims: ["sub", "exp"],
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  };
}
