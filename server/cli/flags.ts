/**
 * The flags of the server: one list of options, from which help, completion, variables and services
 * follow, and the type of commander's result. Each names its environment variable.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { type Command, InvalidArgumentError, type Option } from "commander";
import {
  type ClusterFlags,
  clusterOptions,
  type ClusterSettings,
  readCluster,
} from "../../cli/cluster_flags.ts";
import {
  addOptions,
  integer,
  operatorOption,
  option as flag,
  publicUrlOption,
} from "../../cli/flags.ts";
import { fileErrorCode, whyUnreadable } from "../../cli/explain_failure.ts";
import { UsageError } from "../../cli/run.ts";
import { plain } from "../../cli/terminal_text.ts";
import type { ProtocolName } from "../../protocol/mod.ts";
import { PROTOCOL_NAMES } from "../../protocol/version.ts";
import { type Hosts, type Origins, readHosts } from "../http/host_rule.ts";
import {
  DEFAULT_LIMITS,
  labelOf,
  type LimitName,
  MAX_CONNECT_BYTES,
  MIN_UPLOAD_RATE,
} from "../limits/limits.ts";
import type { SmcpServerOptions } from "../options.ts";
import {
  type ApprovalsFlags,
  approvalsOptions,
  checkApprovals,
} from "./approvals_flags.ts";
import {
  checkSignIn,
  CLIENT_SECRET,
  SIGN_IN_SECRET,
  type SignInFlags,
  signInOptions,
  type SignInSecrets,
} from "./sign_in_flags.ts";
import { WS_ENGINES, type WsEngine } from "../shared/http.ts";

/** Flags with a number; times are in seconds. */
type NumberFlag =
  | "port"
  | "maxMessageBytes"
  | "maxConnectBytes"
  | "trustProxy"
  | "minUploadRate"
  | `${"handshake" | "connect" | "header" | "ping"}Timeout`
  | "pingInterval";

/** Flags with a text. */
type TextFlag =
  | `jwt${"Key" | "JwksUrl" | "Issuer" | "Audience"}`
  | `tls${"Cert" | "Key" | "ClientCa"}`
  | "logFile"
  /** A file, or the JSON itself. */
  | "apiKeys";

/** Flags without a value, off by default. */
type Switch =
  | "insecure"
  | "requireTls"
  | "auditPayloads"
  | "metrics"
  | "tracing"
  | "mcp";

/** The values of all options, under commander's names. */
export interface ServerFlags
  extends
    ClusterFlags,
    LimitFlags,
    SignInFlags,
    ApprovalsFlags,
    Readonly<Record<NumberFlag, number>>,
    Readonly<Partial<Record<TextFlag, string>>>,
    Readonly<Partial<Record<Switch, boolean>>> {
  readonly host: string;
  readonly protocol: readonly ProtocolName[];
  readonly wsEngine: WsEngine;
  /** Whether counts and rates are limited at all. */
  readonly limits: boolean;
  readonly jwtAlgorithms?: readonly string[];
  readonly origins: Origins;
  readonly hosts?: Hosts;
  readonly publicUrl?: string;
  readonly operator: boolean;
  readonly metricsPort?: number;
  readonly metricsHost: string;
  readonly mcpIdleSeconds?: number;
  readonly logLevel: "debug" | "info" | "warning" | "error";
  readonly logFormat?: "json" | "pretty";
}

/** The value of the flag of each limit, such as `maxSockets`; absent for a default that depends on others. */
type LimitFlags = {
  readonly [L in LimitName as `max${Capitalize<L>}`]?: number;
};

/** Environment only: all users of a machine can list its command lines. */
export const JWT_SECRET = "SMCP_JWT_SECRET";

const MILLION = 10 ** 6;
const DAY_SECONDS = 86_400;

export { flag };

const seconds = (name: string, byDefault: number, text: string): Option =>
  flag(`--${name} <seconds>`, text)
    .default(byDefault).argParser(integer(1, DAY_SECONDS));

/** Creates all options of the server's command, in the order of its help. */
export const serverOptions = (): Option[] => [
  flag("--host <address>", "address to listen on").default("127.0.0.1"),
  flag("--port <number>", "port to listen on, 0 for any free one")
    .default(8787).argParser(integer(0, 65535)),
  flag(
    "--protocol <list>",
    "the versions of A2C-SMCP to serve, such as 0.2,0.4; their members share offices",
  ).choices([...PROTOCOL_NAMES, "all"]).argParser(protocols)
    .default(["0.2"], "0.2"),
  flag("--max-message-bytes <number>", "largest message of a client")
    .default(8 * 2 ** 20).argParser(integer(1024, 2 ** 30)),
  flag(
    "--ws-engine <name>",
    "the WebSocket implementation: fast, or stock, the package ws",
  ).choices(WS_ENGINES).default("fast"),
  flag(
    "--no-limits",
    "remove all count and rate limits; message size and depth stay limited",
  ),
  ...securityOptions(),
  ...limitOptions(),
  ...observeOptions(),
  flag(
    "--mcp",
    "serve each office as an MCP server at /mcp/OFFICE, to clients that may join it as agent",
  ),
  flag(
    "--mcp-idle-seconds <number>",
    "seconds without a request or an open stream after which MCP leaves the agent's seat of an office (default: 60)",
  ).argParser(integer(1, DAY_SECONDS)),
  ...signInOptions(),
  ...approvalsOptions(),
  ...clusterOptions(),
  flag("--log-level <level>", "the least important events to log")
    .choices(["debug", "info", "warning", "error"]).default("info"),
  flag(
    "--log-format <format>",
    "one line an event (default: pretty on a terminal, else json)",
  ).choices(["json", "pretty"]),
  flag(
    "--log-file <file>",
    "append the log to this file instead of stderr; SIGHUP reopens it",
  ),
];

/** Authentication, TLS and origins (protocol §10). */
const securityOptions = (): Option[] => [
  flag(
    "--api-keys <file>",
    'authenticate clients by API keys, of a JSON file: [{"id": "ci", "key": "sha256:…", "roles"?, "offices"?, "names"?}]; the variable may hold the JSON itself',
  ),
  flag(
    "--jwt-key <file>",
    `authenticate clients by JWT, signed for this public key: PEM, JWK or JWK set (a shared secret: env ${JWT_SECRET})`,
  ),
  flag(
    "--jwt-jwks-url <url>",
    "authenticate clients by JWT, signed for a key of the JWK set at this URL",
  ),
  flag(
    "--jwt-algorithms <list>",
    "accepted algorithms, such as ES256,EdDSA (default: HS256 for a secret, those of public keys otherwise)",
  ).argParser(list),
  flag("--jwt-issuer <iss>", "the issuer that a JWT must have"),
  flag("--jwt-audience <aud>", "the audience that a JWT must have"),
  flag("--tls-cert <file>", "serve HTTPS with this certificate chain"),
  flag("--tls-key <file>", "the certificate's private key"),
  flag(
    "--tls-client-ca <file>",
    "require a client certificate of one of these authorities (mTLS)",
  ),
  flag(
    "--origins <list>",
    "web origins whose pages may connect, such as https://app.example, or *",
  ).default([], "none").argParser(origins),
  flag(
    "--hosts <list>",
    "host names of requests, such as smcp.example.com, or * (default: over loopback without --trust-proxy, localhost; else any)",
  ).argParser(hosts),
  publicUrlOption(),
  flag("--insecure", "listen on a public address without authentication"),
  flag("--require-tls", "refuse a public address without --tls-cert"),
  operatorOption(
    "keys and tokens with the role operator; on loopback without authentication, for the token that is printed",
  ),
  flag(
    "--audit-payloads",
    "write parameters and results of tool calls to the audit log",
  ),
];

/** For each limit: the maximum of its flag, and its description. */
const LIMITS: Readonly<
  Record<LimitName, readonly [most: number, text: string]>
> = {
  connectionsPerAddress: [MILLION, "open sessions of one address"],
  sockets: [
    MILLION,
    "open TCP connections (default and maximum: what the process's descriptors allow)",
  ],
  socketsPerAddress: [
    MILLION,
    "open TCP connections of one address; not counted behind --trust-proxy (default: 400, or four times --max-connections-per-address where that is more; with --mcp, --max-calls-per-agent in addition)",
  ],
  eventsPerSecond: [MILLION, "events per second of one connection"],
  callsPerAgent: [MILLION, "pending calls of one agent"],
  membersPerOffice: [MILLION, "members of one office"],
  queuedBytes: [
    2 ** 40,
    "bytes queued for a client that does not read, above which it is disconnected",
  ],
  unfinishedBytes: [
    2 ** 40,
    "bytes of all incomplete messages, above which the sender of the largest is disconnected",
  ],
};

/** The names of all limits. */
const LIMIT_NAMES = Object.keys(LIMITS) as LimitName[];

/** Limits whose defaults depend on the environment or other limits. */
const DERIVED: readonly LimitName[] = ["sockets", "socketsPerAddress"];

/** Limits and times (protocol §10). */
export const limitOptions = (): Option[] => [
  ...LIMIT_NAMES.map((limit) => {
    const [most, text] = LIMITS[limit];
    const name = labelOf(limit).replaceAll("_", "-");
    const option = flag(`--max-${name} <number>`, text)
      .argParser(integer(1, most));
    return DERIVED.includes(limit)
      ? option
      : option.default(DEFAULT_LIMITS[limit]);
  }),
  flag(
    "--max-connect-bytes <number>",
    "largest packet that asks for a session, with its credentials",
  ).default(MAX_CONNECT_BYTES).argParser(integer(1024, 2 ** 20)),
  flag(
    "--trust-proxy [count]",
    "proxies of your own in front of the server, whose X-Forwarded-For is used (1 without a count)",
  ).default(0).preset("1").argParser(integer(0, 100)),
  seconds(
    "handshake-timeout",
    10,
    "seconds from a connection to its admission",
  ),
  flag(
    "--min-upload-rate <number>",
    "bytes per second at which a message must arrive over a WebSocket",
  ).default(MIN_UPLOAD_RATE).argParser(integer(1, 2 ** 30)),
  seconds(
    "connect-timeout",
    5,
    "seconds from a connection to the packet that asks for a session",
  ),
  seconds("header-timeout", 10, "seconds for the headers of a request"),
  seconds("ping-interval", 25, "seconds between two pings of a connection"),
  seconds("ping-timeout", 20, "seconds that a client has to answer a ping"),
];

/** Metrics and traces. */
const observeOptions = (): Option[] => [
  flag(
    "--metrics",
    "serve /metrics to clients that may connect; without authentication, to this machine alone",
  ),
  flag(
    "--metrics-port <number>",
    "serve /metrics on a port of its own, without authentication",
  ).argParser(integer(0, 65535)),
  flag("--metrics-host <address>", "address of that port")
    .default("127.0.0.1"),
  flag(
    "--tracing",
    "make OpenTelemetry spans of calls; Deno exports them with OTEL_DENO=true",
  ),
];

/** Reads a list of versions, such as `0.2,0.4`, or `all`. */
function protocols(text: string): readonly ProtocolName[] {
  if (text.trim() === "all") return PROTOCOL_NAMES;
  const names = text.split(",").map((name) => name.trim());
  const found = PROTOCOL_NAMES.filter((name) => names.includes(name));
  if (found.length === new Set(names).size) return found;
  throw new InvalidArgumentError(
    `Expected one or more of ${PROTOCOL_NAMES.join(", ")}, or all.`,
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

/** The checked flags of the command line, with the settings that only the environment has. */
export interface Settings extends ServerFlags, SignInSecrets {
  /** Whether metrics are collected, for whatever port. */
  readonly metrics: boolean;
  /** The shared secret of JWTs. */
  readonly jwtSecret?: string;
  /** Other servers with the same offices, if there are any. */
  readonly clustering?: ClusterSettings;
}

/** Adds all options of the server's command. */
export const addSettings = (command: Command): Command =>
  addOptions(command, ...serverOptions());

/**
 * Checks the values of the options of {@linkcode addSettings}.
 *
 * @param env the environment, for secrets that no flag may hold
 * @throws {UsageError} for flags that contradict each other, or do nothing
 */
export function readSettings(
  flags: ServerFlags,
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  const { tlsCert, tlsKey, tlsClientCa, jwtKey, jwtJwksUrl } = flags;
  const { mcpIdleSeconds, metrics, metricsPort, signIn } = flags;
  const mcp = flags.mcp ?? signIn;
  const jwtSecret = env[JWT_SECRET];
  const signInSecret = signIn && env[SIGN_IN_SECRET];
  const signInClientSecret = flags.signInWith && env[CLIENT_SECRET];
  const clustering = readCluster(flags, env);
  const hasTls = (tlsCert ?? tlsKey ?? tlsClientCa) !== undefined;
  if (hasTls && (tlsCert === undefined || tlsKey === undefined)) {
    throw new UsageError("--tls-cert and --tls-key must be given together");
  }
  const keys = [jwtKey, jwtJwksUrl, jwtSecret].filter((key) => key);
  if (keys.length > 1) {
    throw new UsageError(
      `only one of --jwt-key, --jwt-jwks-url and ${JWT_SECRET} can be given`,
    );
  }
  const hasJwt = keys.length > 0;
  checkRestrictions(flags, hasJwt);
  checkSignIn({ ...flags, hasJwt, isClustered: clustering !== undefined });
  checkApprovals(flags);
  if (mcpIdleSeconds !== undefined && !mcp) {
    throw new UsageError("--mcp-idle-seconds does nothing without --mcp");
  }
  return {
    ...flags,
    ...(mcp && { mcp }),
    metrics: metrics === true || metricsPort !== undefined,
    ...(jwtSecret && { jwtSecret }),
    ...(signInSecret && { signInSecret }),
    ...(signInClientSecret && { signInClientSecret }),
    ...(clustering && { clustering }),
  };
}

/** @throws {UsageError} when a restriction of JWTs has no effect: there is no key, or no value */
function checkRestrictions(
  { jwtAlgorithms, jwtIssuer, jwtAudience }: ServerFlags,
  hasKey: boolean,
): void {
  const restrictions = {
    "--jwt-algorithms": jwtAlgorithms,
    "--jwt-issuer": jwtIssuer,
    "--jwt-audience": jwtAudience,
  };
  const idle = Object.entries(restrictions).filter(([, value]) =>
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

/** Converts the flags that are options of a server as well. */
export const optionsOf = (
  { limits, hosts, publicUrl, operator, trustProxy, ...flags }: Settings,
): SmcpServerOptions => ({
  protocol: flags.protocol,
  maxMessageBytes: flags.maxMessageBytes,
  maxConnectBytes: flags.maxConnectBytes,
  wsEngine: flags.wsEngine,
  minUploadRate: flags.minUploadRate,
  origins: flags.origins,
  ...(hosts && { hosts }),
  ...(publicUrl !== undefined && { publicUrl }),
  ...(!operator && { operator }),
  auditPayloads: flags.auditPayloads === true,
  limits: limits && limitsOf(flags),
  trustedProxies: trustProxy,
  handshakeTimeoutMs: flags.handshakeTimeout * 1000,
  connectTimeoutMs: flags.connectTimeout * 1000,
  headerTimeoutMs: flags.headerTimeout * 1000,
  heartbeat: {
    intervalMs: flags.pingInterval * 1000,
    timeoutMs: flags.pingTimeout * 1000,
  },
});

const limitsOf = (flags: LimitFlags): Partial<Record<LimitName, number>> =>
  Object.fromEntries(
    LIMIT_NAMES.map((limit) => {
      const name = `max${limit.charAt(0).toUpperCase()}${limit.slice(1)}`;
      return [limit, Object(flags)[name]] as const;
    }).filter(([, value]) => value !== undefined),
  );

/**
 * Reads a file of the command line.
 *
 * @throws {TypeError} that names it only where it ends like a file: otherwise it may be the secret
 * itself, given by mistake
 */
export function readText(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const name = FILE_NAME.test(file) ? `${plain(file)}, ` : "";
    throw new TypeError(
      `Cannot read ${name}the file of ${flag}: ${
        whyUnreadable(error) ?? fileErrorCode(error)
      }`,
    );
  }
}

/** How the name of a file for keys and certificates ends. */
const FILE_NAME = /\.(json|pem|crt|cer|key|pub)$/i;

/** @throws {TypeError} that names the file whose contents are refused */
export function naming<T>(file: string, load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new TypeError(`${plain(file)}: ${error.message}`);
  }
}
