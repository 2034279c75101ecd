import type { errors, JWTPayload, JWTVerifyOptions } from "jose";
import * as z from "../../protocol/schema.ts";
import { bearerToken } from "../../shared/authorization.ts";
import { loadPackages } from "../../shared/packages.ts";
import {
  checkOperatorPolicy,
  type Identity,
  type Policy,
} from "../shared/identity.ts";
import type { Authenticator, Credentials, Refused } from "./authenticator.ts";
import {
  type Jose,
  type JwtKey,
  keyLoader,
  type KeySource,
} from "./jwt_keys.ts";

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
    loading ??= loadPackages("verify JWTs", ["jose"], () => import("./jose.ts"))
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
  const sent = bearerToken(headers.authorization) ?? auth.token;
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

/** What the principals of tokens begin with. */
const PRINCIPAL_PREFIX = "jwt:";

/** Seconds by which the clocks of issuer and server may differ. */
const CLOCK_TOLERANCE_SECONDS = 5;

/**
 * Converts the claims of a verified JWT to an identity (spec §10).
 *
 * `role`, `office_id` and `name` restrict it; each is a string or a list of strings, and `*` in the
 * last two matches any text. An invalid claim is a refusal, since it was meant to restrict something.
 */
export function readClaims(
  claims: Readonly<Record<string, unknown>>,
): Identity | Refused {
  const { data, error } = claimsSchema.safeParse(claims);
  if (error) {
    const claim = String(error.issues[0]?.path[0]);
    return refuse(claim, EXPECTED[claim]);
  }
  const { sub, exp, role: roles, office_id: offices, name: names } = data;
  const policy: Policy = {
    ...(roles && { roles }),
    ...(offices && { offices }),
    ...(names && { names }),
  };
  if (checkOperatorPolicy(policy) !== undefined) {
    return refuse(
      "name",
      "absent, as it must be for an operator, who joins nowhere",
    );
  }
  const expiresAt = (exp + CLOCK_TOLERANCE_SECONDS) * 1000; // as long as the token opens sessions
  return { principal: PRINCIPAL_PREFIX + sub, policy, expiresAt };
}

/** One item, or a list of them. */
const listOf = <T>(item: z.ZodMiniType<T>) =>
  z.optional(z.union([
    z.array(item),
    z.pipe(item, z.transform((one) => [one])),
  ]));

const claimsSchema = z.object({
  sub: z.string().check(z.minLength(1)),
  exp: z.number(),
  role: listOf(z.enum(["agent", "computer", "operator"])),
  office_id: listOf(z.string()),
  name: listOf(z.string()),
});

/** What each claim must be. */
const EXPECTED: Readonly<Record<string, string>> = {
  sub: "a text that is not empty",
  exp: "a number",
  role: '"agent", "computer" or "operator", or a list of them',
  office_id: "a text or a list of texts",
  name: "a text or a list of texts",
};

const refuse = (claim: string, expected = ""): Refused => ({
  refused: `token refused: claim ${claim} is not ${expected}`,
});

/**
 * Describes for the audit log why a token was refused: which claim failed and why, without any value
 * of the token.
 */
function describeRefusal(error: errors.JOSEError): string {
  if (error.code === "ERR_JWT_EXPIRED") {
    return "token refused: claim exp is past";
  }
  if (isClaimFailure(error)) {
    const why = error.reason === "missing"
      ? "is missing"
      : CLAIMS[error.claim] ?? "is not valid";
    return `token refused: claim ${error.claim} ${why}`;
  }
  return `token refused: ${
    REASONS[error.code] ?? "it cannot be verified"
  } (${error.code})`;
}

const isClaimFailure = (
  error: errors.JOSEError,
): error is errors.JWTClaimValidationFailed =>
  error.code === "ERR_JWT_CLAIM_VALIDATION_FAILED";

/** Reasons for claims that are present but not accepted. */
const CLAIMS: Readonly<Record<string, string>> = {
  iss: "is not the issuer that this server requires",
  aud: "is not the audience that this server requires",
  nbf: "is in the future",
};

const REASONS: Readonly<Record<string, string>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: "its algorithm is not accepted",
  ERR_JWKS_NO_MATCHING_KEY: "no key matches it",
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: "several keys match it",
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: "its signature is wrong",
  ERR_JWS_INVALID: "it is not a JWT",
  ERR_JWT_INVALID: "it is not a JWT",
};
