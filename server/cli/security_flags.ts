import { InvalidArgumentError, Option } from "commander";
import { operatorOption } from "../../cli/operator_access.ts";
import { UsageError } from "../../cli/run.ts";
import { type Hosts, type Origins, readHosts } from "../http/host_rule.ts";

/** Settings of authentication, TLS and origins (spec §10). */
export interface SecuritySettings {
  /** API keys: a file, or the JSON itself. */
  readonly apiKeys?: string;
  /** Accepted tokens, and the files of their keys. */
  readonly jwt: JwtSettings;
  /** Files of certificates and keys. */
  readonly tls: TlsSettings;
  /** Allowed web origins. */
  readonly origins: Origins;
  /** Allowed host names of requests; absent for the default. */
  readonly hosts?: Hosts;
  /** Whether a public address without authentication is allowed. */
  readonly insecure: boolean;
  /** Whether a public address requires TLS. */
  readonly requireTls: boolean;
  /** Whether operators are served. */
  readonly isOperated: boolean;
  /** Whether the audit log contains parameters and results of tool calls. */
  readonly auditPayloads: boolean;
}

/** See {@linkcode SecuritySettings.jwt}. */
export interface JwtSettings {
  readonly secret?: string;
  readonly keyFile?: string;
  readonly jwksUrl?: string;
  readonly algorithms?: readonly string[];
  readonly issuer?: string;
  readonly audience?: string;
}

/** See {@linkcode SecuritySettings.tls}. */
export interface TlsSettings {
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly clientCaFile?: string;
}

/** Environment only: a command line is visible to everybody who lists processes. */
export const JWT_SECRET = "SMCP_JWT_SECRET";

/** Creates the options about authentication, TLS and origins (spec §10). */
export const securityOptions = (): Option[] => [
  new Option(
    "--api-keys <file>",
    'let in who has one of the keys of a JSON file: [{"id": "ci", "key": "sha256:…", "roles"?, "offices"?, "names"?}]; the variable may hold the JSON itself',
  ).env("SMCP_API_KEYS"),
  new Option(
    "--jwt-key <file>",
    `let in who has a JWT signed for this public key: PEM, JWK or JWK set (a shared secret: env ${JWT_SECRET})`,
  ).env("SMCP_JWT_KEY"),
  new Option(
    "--jwt-jwks-url <url>",
    "let in who has a JWT signed for a key of the JWK set at this address",
  ).env("SMCP_JWT_JWKS_URL"),
  new Option(
    "--jwt-algorithms <list>",
    "accepted algorithms, such as ES256,EdDSA (default: HS256 for a secret, those of public keys otherwise)",
  ).env("SMCP_JWT_ALGORITHMS").argParser(list),
  new Option("--jwt-issuer <iss>", "the issuer that a JWT must have")
    .env("SMCP_JWT_ISSUER"),
  new Option("--jwt-audience <aud>", "the audience that a JWT must have")
    .env("SMCP_JWT_AUDIENCE"),
  new Option("--tls-cert <file>", "serve HTTPS with this certificate chain")
    .env("SMCP_TLS_CERT"),
  new Option("--tls-key <file>", "the certificate's private key")
    .env("SMCP_TLS_KEY"),
  new Option(
    "--tls-client-ca <file>",
    "let in only clients with a certificate of these authorities (mTLS)",
  ).env("SMCP_TLS_CLIENT_CA"),
  new Option(
    "--origins <list>",
    "web origins whose pages may connect, such as https://app.example, or *",
  ).default([], "none").env("SMCP_ORIGINS").argParser(origins),
  new Option(
    "--hosts <list>",
    "names that requests may be for, such as smcp.example.com, or * (default: over loopback localhost alone, unless --trust-proxy; else any)",
  ).env("SMCP_HOSTS").argParser(hosts),
  new Option(
    "--insecure",
    "listen on a public address without authentication",
  ).env("SMCP_INSECURE"),
  new Option(
    "--require-tls",
    "refuse a public address without --tls-cert",
  ).env("SMCP_REQUIRE_TLS"),
  operatorOption(
    "keys and tokens with the role operator, and on loopback without any for who has the token that is printed",
  ),
  new Option(
    "--audit-payloads",
    "write parameters and results of tool calls to the audit log",
  ).env("SMCP_AUDIT_PAYLOADS"),
];

/** Values of {@linkcode securityOptions}. */
export interface SecurityFlags {
  readonly apiKeys?: string;
  readonly jwtKey?: string;
  readonly jwtJwksUrl?: string;
  readonly jwtAlgorithms?: readonly string[];
  readonly jwtIssuer?: string;
  readonly jwtAudience?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly tlsClientCa?: string;
  readonly origins: Origins;
  readonly hosts?: Hosts;
  readonly insecure?: true;
  readonly requireTls?: true;
  readonly operator: boolean;
  readonly auditPayloads?: true;
}

/** Reads the values of {@linkcode securityOptions}. */
export function readSecurity(
  flags: SecurityFlags,
  env: Readonly<Record<string, string | undefined>>,
): SecuritySettings {
  const { apiKeys, tlsCert, tlsKey, tlsClientCa, jwtKey, jwtJwksUrl } = flags;
  const { jwtAlgorithms, jwtIssuer, jwtAudience } = flags;
  const secret = env[JWT_SECRET];
  if ((tlsCert ?? tlsClientCa) !== undefined || tlsKey !== undefined) {
    if (tlsCert === undefined || tlsKey === undefined) {
      throw new UsageError(
        "--tls-cert and --tls-key belong together: give both",
      );
    }
  }
  if ([jwtKey, jwtJwksUrl, secret].filter((key) => key).length > 1) {
    throw new UsageError(
      `only one of --jwt-key, --jwt-jwks-url and ${JWT_SECRET} can be used`,
    );
  }
  checkRestrictions({
    "--jwt-algorithms": jwtAlgorithms,
    "--jwt-issuer": jwtIssuer,
    "--jwt-audience": jwtAudience,
  }, Boolean(jwtKey || jwtJwksUrl || secret));
  return {
    ...(apiKeys && { apiKeys }),
    jwt: {
      ...(secret && { secret }),
      ...(jwtKey && { keyFile: jwtKey }),
      ...(jwtJwksUrl && { jwksUrl: jwtJwksUrl }),
      ...(jwtAlgorithms && { algorithms: jwtAlgorithms }),
      ...(jwtIssuer && { issuer: jwtIssuer }),
      ...(jwtAudience && { audience: jwtAudience }),
    },
    tls: {
      ...(tlsCert && { certFile: tlsCert }),
      ...(tlsKey && { keyFile: tlsKey }),
      ...(tlsClientCa && { clientCaFile: tlsClientCa }),
    },
    origins: flags.origins,
    ...(flags.hosts && { hosts: flags.hosts }),
    insecure: flags.insecure === true,
    requireTls: flags.requireTls === true,
    isOperated: flags.operator,
    auditPayloads: flags.auditPayloads === true,
  };
}

/** @throws {UsageError} when nothing would ask for what a JWT must have: there is no key, or no value */
function checkRestrictions(
  flags: Readonly<Record<string, string | readonly string[] | undefined>>,
  hasKey: boolean,
): void {
  const idle = Object.entries(flags).filter(([, value]) =>
    value !== undefined && (value.length === 0) === hasKey
  ).map(([flag]) => flag);
  if (idle.length === 0) return;
  throw new UsageError(
    hasKey
      ? `no value for ${idle.join(", ")}: give one, or leave it out`
      : `no key for ${
        idle.join(", ")
      }: add --jwt-key, --jwt-jwks-url or ${JWT_SECRET}`,
  );
}

function list(text: string): string[] {
  return text.split(",").map((part) => part.trim()).filter((part) => part);
}

function hosts(text: string): Hosts {
  if (text.trim() === "*") return "*";
  const names = list(text);
  try {
    if (names.length > 0) return readHosts(names);
  } catch {
    // Reported below, as for the other lists.
  }
  throw new InvalidArgumentError(
    'Expected host names such as "smcp.example.com", without scheme and port, separated by commas, or "*".',
  );
}

function origins(text: string): Origins {
  if (text.trim() === "*") return "*";
  return list(text).map((part) => {
    const origin = URL.canParse(part) ? new URL(part).origin : "null";
    // Browsers send only scheme, host and port: anything else would never match.
    if (origin !== "null" && [origin, `${origin}/`].includes(part)) {
      return origin;
    }
    throw new InvalidArgumentError(
      'Expected origins such as "https://app.example", separated by commas, or "*".',
    );
  });
}
