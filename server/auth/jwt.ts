/**
 * JSON Web Tokens: an authenticator that verifies them, from the token to the claims to the identity,
 * and below it where the keys come from: a secret, public keys as text, or the JWK set of an issuer. The
 * package `jose` is loaded with the first token.
 *
 * @module
 */
import type * as jose from "jose";
import { createHash, createPublicKey } from "node:crypto";
import { isWellFormed } from "../../protocol/names.ts";
import * as z from "../../protocol/schema.ts";
import type { Authenticator, Credentials, Refused } from "./authenticator.ts";
import {
  checkOperatorPolicy,
  type Identity,
  type Policy,
} from "../shared/identity.ts";
import { bearerToken } from "../../shared/authorization.ts";
import { checkNames, type NamesOf } from "../../shared/checks.ts";
import { loadPackages } from "../../shared/packages.ts";

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

const JWT_NAMES = {
  key: {
    secret: true,
    publicKey: true,
    jwksUrl: true,
  } satisfies NamesOf<JwtKey>,
  algorithms: true,
  issuer: true,
  audience: true,
} satisfies NamesOf<JwtOptions>;

const SYMMETRIC = /^HS(256|384|512)$/;
const ASYMMETRIC = [
  ...["RS", "PS", "ES"].flatMap((kind) =>
    ["256", "384", "512"].map((bits) => kind + bits)
  ),
  "EdDSA",
  "Ed25519",
];

/**
 * Authenticates clients by JWT: in the header `Authorization: Bearer …`, or as `auth.token` (protocol §10).
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
  checkNames(options, JWT_NAMES, "jwt()");
  const verifying = verifyOptions(options);
  const load = keyLoader(options.key);
  let loading: Promise<{ jose: Jose; keys: KeySource }> | undefined;
  // Loaded with the first token: servers without JWT never need it.
  const loaded = () =>
    loading ??= loadPackages("verify JWTs", ["jose"], () => import("./jose.ts"))
      .then((jose) => ({ jose, keys: load(jose) }));
  const revoked = new Set<string>();
  const unlessRevoked = (identity: Identity): Identity | Refused =>
    revoked.has(identity.principal)
      ? { refused: "token refused: its holder was revoked by an operator" }
      : identity;
  return {
    async authenticate(credentials) {
      const token = sentToken(credentials);
      if (token === undefined) return { refused: "no token" };
      const { jose, keys } = await loaded();
      const { JOSEError, JWTExpired } = jose.errors;
      try {
        const { payload, key } = await jose.jwtVerify(
          token,
          keys.find,
          verifying,
        );
        const verdict = readClaims(payload);
        if ("refused" in verdict) return verdict;
        keyNames.set(verdict, await keys.nameOf(key));
        return unlessRevoked(verdict);
      } catch (error) {
        if (!(error instanceof JOSEError) || isOutage(error.code)) throw error;
        return {
          refused: describeRefusal(error, jose),
          ...(error instanceof JWTExpired && expiry(error.payload)),
        };
      }
    },
    async refresh(identity) {
      const name = keyNames.get(identity);
      if (name === undefined) return undefined;
      const { keys } = await loaded();
      return (await keys.names()).has(name)
        ? unlessRevoked(identity)
        : { refused: "the key of the token is gone" };
    },
    // Only the issuer has the answer.
    hasOperators: () => true,
    revoke(principal) {
      const isToken = principal.startsWith(PRINCIPAL_PREFIX);
      if (isToken) revoked.add(principal);
      return isToken;
    },
  };
}

/** Returns the reason for the holder of an expired token, whose signature is right. */
const expiry = ({ exp }: jose.JWTPayload): Pick<Refused, "shown"> =>
  exp === undefined || !Number.isFinite(new Date(exp * 1000).getTime())
    ? {}
    : { shown: `the token expired at ${new Date(exp * 1000).toISOString()}` };

/** Returns whether the issuer's JWK set was unavailable, which means nothing for the token. */
const isOutage = (code: string): boolean =>
  ["ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID", "ERR_JOSE_GENERIC"].includes(code);

function sentToken({ headers, auth }: Credentials): string | undefined {
  const sent = bearerToken(headers.authorization) ?? auth.token;
  return typeof sent === "string" && sent !== "" ? sent : undefined;
}

function verifyOptions(
  { key, algorithms, issuer, audience }: JwtOptions,
): jose.JWTVerifyOptions {
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
 * Converts the claims of a verified JWT to an identity (protocol §10).
 *
 * `role`, `office_id` and `name` restrict it; each is a string or a list of strings, and `*` in the
 * last two matches any text. An invalid claim is a refusal, since it was meant to restrict something.
 *
 * @param prefix what the principal begins with: `sub` is unique at its issuer alone
 */
export function readClaims(
  claims: Readonly<Record<string, unknown>>,
  prefix: string = PRINCIPAL_PREFIX,
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
  return { principal: prefix + sub, policy, expiresAt };
}

/** One item, or a list of them. */
const listOf = <T>(item: z.ZodMiniType<T>) =>
  z.optional(z.union([
    z.array(item),
    z.pipe(item, z.transform((one) => [one])),
  ]));

/** What an office or a name must match: of well-formed Unicode, as names are. */
const pattern = z.string().check(z.refine(isWellFormed));

const claimsSchema = z.object({
  sub: z.string().check(z.minLength(1)),
  exp: z.number(),
  role: listOf(z.enum(["agent", "computer", "operator"])),
  office_id: listOf(pattern),
  name: listOf(pattern),
});

/** What each claim must be. */
const EXPECTED: Readonly<Record<string, string>> = {
  sub: "a text that is not empty",
  exp: "a number",
  role: '"agent", "computer" or "operator", or a list of them',
  office_id: "a text or a list of texts, without lone surrogates",
  name: "a text or a list of texts, without lone surrogates",
};

const refuse = (claim: string, expected = ""): Refused => ({
  refused: `token refused: claim ${claim} is not ${expected}`,
});

/**
 * Describes for the audit log why a token was refused: which claim failed and why, without any value
 * of the token.
 */
function describeRefusal(error: jose.errors.JOSEError, jose: Jose): string {
  if (error instanceof jose.errors.JWTExpired) {
    return "token refused: claim exp is past";
  }
  if (error instanceof jose.errors.JWTClaimValidationFailed) {
    const why = error.reason === "missing"
      ? "is missing"
      : CLAIMS[error.claim] ?? "is not valid";
    return `token refused: claim ${error.claim} ${why}`;
  }
  return `token refused: ${
    REASONS[error.code] ?? "it cannot be verified"
  } (${error.code})`;
}

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

/** The key or keys that verify JWTs. */
export type JwtKey =
  /** A secret of at least 32 bytes that the issuer shares with this server. */
  | { readonly secret: string }
  /** Public keys as text: PEM, a JWK, or a JWK set. */
  | { readonly publicKey: string }
  /** The URL of the issuer's JWK set; fetched when needed, and again for an unknown key. */
  | { readonly jwksUrl: string };

/** The used part of the package `jose`, which is loaded with the first token. */
type Jose = typeof import("./jose.ts");

/** Keys in the form that `jose` expects, with names to identify them later. */
interface KeySource {
  /** Finds the key of a token. */
  readonly find: jose.JWTVerifyGetKey;
  /** Names a key, without showing a secret. */
  nameOf(key: jose.ResolvedKey["key"]): Promise<string>;
  /** Returns the names of all accepted keys; fetches a remote set again. */
  names(): Promise<ReadonlySet<string>>;
}

/**
 * Checks a key immediately, and defers the rest until `jose` is loaded.
 *
 * @throws {TypeError} when the key is invalid; the message contains no part of it
 */
function keyLoader(key: JwtKey): (jose: Jose) => KeySource {
  if ("secret" in key) return secretSource(key.secret);
  if (!("jwksUrl" in key)) {
    const set = readPublicKeys(key.publicKey);
    return (jose) => publicSource(jose, jose.createLocalJWKSet(set), () => set);
  }
  if (!URL.canParse(key.jwksUrl)) {
    throw new TypeError("Cannot fetch JWT keys: the JWKS URL is no URL");
  }
  const url = new URL(key.jwksUrl);
  return (jose) => {
    const fetching = { [jose.customFetch]: tidyFetch };
    const find = jose.createRemoteJWKSet(url, fetching);
    let reloading: Promise<void> | undefined;
    return publicSource(jose, find, async () => {
      // One request for all sessions that are rechecked at the same time.
      await (reloading ??= find.reload().finally(() => reloading = undefined));
      return find.jwks() ?? { keys: [] };
    });
  };
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

/** Names keys by their thumbprints (RFC 7638). */
const publicSource = (
  jose: Jose,
  find: jose.JWTVerifyGetKey,
  current: () => jose.JSONWebKeySet | Promise<jose.JSONWebKeySet>,
): KeySource => ({
  find,
  nameOf: async (key) =>
    await jose.calculateJwkThumbprint(await jose.exportJWK(key)),
  async names() {
    const { keys } = await current();
    const names = keys.map((key) =>
      // A set may contain keys of unsupported types.
      jose.calculateJwkThumbprint(key).catch(() => "")
    );
    return new Set(await Promise.all(names));
  },
});

/** Fetches and cancels the body of an error, which `jose` leaves unread: that would hold the connection open. */
async function tidyFetch(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  if (!response.ok) await response.body?.cancel();
  return response;
}

/** @throws {TypeError} whose message contains no part of the text */
function readPublicKeys(text: string): jose.JSONWebKeySet {
  if (PRIVATE_PEM.test(text)) throw privateKey();
  let keys: jose.JWK[];
  try {
    keys = text.includes("-----BEGIN")
      ? [createPublicKey(text).export({ format: "jwk" }) as jose.JWK]
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
const keysOf = (json: { keys?: jose.JWK[] }): jose.JWK[] =>
  "keys" in json ? [...json.keys ?? []] : [json as jose.JWK];

const notPublicKey = (): TypeError =>
  new TypeError(
    "Cannot read the JWT keys: expected a public key as PEM, a JWK or a JWK set",
  );

/** A private key could also sign tokens. */
const privateKey = (): TypeError =>
  new TypeError(
    "Cannot verify JWTs with a private key: it can sign them too, and must stay with the issuer; give its public half (openssl pkey -in private.pem -pubout)",
  );
