/**
 * The options of a server, and their defaults and checks.
 *
 * @module
 */
import { checkNumbers, type NamesOf } from "../shared/checks.ts";
import { readPublicUrl } from "../shared/http.ts";
import { type Profile, PROFILES, type ProtocolName } from "../protocol/mod.ts";
import type { GatewaySetup } from "./doors/gateway_routes.ts";
import { bothForms } from "./http/gate.ts";
import { type HostRule, readHosts } from "./http/host_rule.ts";
import type { Heartbeat } from "./wire/mod.ts";
import {
  DEFAULT_LIMITS,
  type Limits,
  MAX_CONNECT_BYTES,
  MIN_UPLOAD_RATE,
  resolveLimits,
} from "./limits/limits.ts";
import {
  auditCalls,
  type CallObserver,
  type CallTracer,
  combineObservers,
  traceCalls,
} from "./observe/watch_calls.ts";
import { MESSAGE_BYTES } from "../protocol/event_table.ts";
import { PROTOCOL_NAMES } from "../protocol/version.ts";
import type { Identity } from "./shared/identity.ts";
import type { WsEngine } from "./shared/http.ts";
import {
  type Authenticator,
  checkAuthenticator,
} from "./auth/authenticator.ts";
import type { Metrics } from "./observe/metrics.ts";
import {
  type Cluster,
  type ClusterMember,
  memberOf,
} from "./shared/cluster.ts";
import type { Gateway, GatewayHost } from "../shared/gateway.ts";
import {
  type ApprovalsOption,
  type ApprovalsSetup,
  ownHost,
  setupOf,
} from "./doors/approvals.ts";
import { makerOf, type SignInOption } from "./doors/sign_in.ts";
import { isSafeIssuer } from "./doors/issuer.ts";

/** Options for `createSmcpServer()`. */
export interface SmcpServerOptions {
  /**
   * The protocol version that the server lets in, several of them, or `"all"`; default `"0.2"` alone.
   * Members of all versions meet in one office. With `"0.1"` older SDKs without the version handshake
   * are served too (protocol §12).
   */
  protocol?: ProtocolName | readonly ProtocolName[] | "all";
  /** Paths of the Engine.IO endpoint, with and without a trailing slash; default `/smcp/` and `/socket.io/` (protocol §2). */
  paths?: readonly string[];
  /** Maximum size of a client's message in bytes, announced as `maxPayload`; default 8 MiB (protocol §10). */
  maxMessageBytes?: number;
  /**
   * Maximum size in bytes of the packet that requests a session, most of which is `auth`; default
   * 16 KiB. A connection without a session may send four times as much, in 32 packets (protocol §10).
   */
  maxConnectBytes?: number;
  /** Milliseconds to wait for a Computer's answer where the request has no timeout of its own; default 30,000 (protocol §7). */
  requestTimeoutMs?: number;
  /** Web origins whose pages may connect, such as `https://app.example`, or `"*"`; default none (protocol §2). */
  origins?: "*" | readonly string[];
  /**
   * Host names that requests may name in addition to those of this machine, such as
   * `["smcp.example.com"]`; `"*"` allows any.
   *
   * By default, requests over loopback must name `localhost`, `*.localhost` or a loopback address,
   * which stops DNS rebinding; with `trustedProxies`, and over other addresses, any name is allowed.
   */
  hosts?: "*" | readonly string[];
  /**
   * The URL by which clients reach the server, such as `https://smcp.example.com`, where a proxy or
   * tunnel is in front of it; without credentials, query and fragment. OAuth metadata names it, whatever
   * the headers of a request say, and requests and the pages of operators may be of its host. Default
   * none: the `Host` header, and with `trustedProxies` `X-Forwarded-Proto`.
   */
  publicUrl?: string;
  /** Decides which clients may connect, and what they may join as; default:  no authentication (protocol §10). */
  authenticator?: Authenticator;
  /** Whether the audit log includes parameters and results of tool calls; default `false` (protocol §10). */
  auditPayloads?: boolean;
  /**
   * The cluster that the server belongs to, from `joinCluster` of `@a2c-smcp/sdk/server/cluster`; the
   * server takes it over, and leaves it at its `close`. Default none: a single server.
   */
  cluster?: Cluster;
  /**
   * Overrides the defaults of {@linkcode Limits} (protocol §10); `false` removes all count and rate
   * limits. Message size and nesting depth stay limited.
   */
  limits?: false | Partial<Limits>;
  /** Collects metrics, created by `createMetrics`; default none. */
  metrics?: Metrics;
  /** Creates a span for every request to a Computer: `trace.getTracer("…")` of `@opentelemetry/api`; default none. */
  tracer?: CallTracer;
  /** Number of trusted proxies in front of the server, whose `X-Forwarded-For` and `X-Forwarded-Proto` count; default 0. */
  trustedProxies?: number;
  /** Milliseconds that a client has from its connection to its admission; default 10,000 (protocol §10). */
  handshakeTimeoutMs?: number;
  /**
   * Milliseconds that a client has from its connection to the packet that asks for a session, after
   * which its place is free again; default 5000.
   */
  connectTimeoutMs?: number;
  /** Milliseconds that a request of a server made by `listen` may take for its headers; default 10,000 (protocol §10). */
  headerTimeoutMs?: number;
  /**
   * The WebSocket implementation: `"fast"`, this package's own, which relays calls without
   * re-encoding them, or `"stock"`, the package `ws`; default `"fast"`.
   */
  wsEngine?: WsEngine;
  /**
   * Minimum bytes per second at which a started WebSocket message must arrive, measured over
   * 20 seconds; default 8192, which allows 17 minutes for 8 MiB. A slower sender is disconnected with
   * 1008, since its partial message takes memory. The engine `"stock"` has no such limit.
   */
  minUploadRate?: number;
  /**
   * Serves offices in another protocol at an HTTP path of its own, such as `mcpGateway()` of
   * `@a2c-smcp/sdk/mcp`, with MCP at `/mcp/OFFICE`; default none.
   */
  gateway?: (host: GatewayHost) => Gateway;
  /**
   * URLs of the issuers of the tokens that the authenticator accepts, which clients of the gateway
   * find by the metadata of RFC 9728; default none.
   */
  authorizationServers?: readonly string[];
  /**
   * Lets people sign in to the gateway, in a browser, for programs that take a URL and no key: `signIn()`
   * of `@a2c-smcp/sdk/server/sign-in`. It needs a `publicUrl` of `https`, unless the server listens
   * on loopback alone; default none.
   */
  signIn?: SignInOption;
  /**
   * Grants the operator API at `/operator/v1`, besides to credentials with the role
   * `operator`: the holder of this token, of at least 32 characters, operates all offices. `false` switches
   * the API off; default no token.
   */
  operator?: false | { readonly token: string };
  /**
   * Lets a person answer the questions of a Computer from a paired device: `approvals()` of
   * `@a2c-smcp/sdk/server/approvals`; default none.
   */
  approvals?: ApprovalsOption;
  /** Detects connections that vanished without closing; default a ping every 25 s, and 20 s for its answer. */
  heartbeat?: Heartbeat;
}

/** The options that are numbers, with their defaults. */
const NUMBERS = {
  maxMessageBytes: MESSAGE_BYTES,
  maxConnectBytes: MAX_CONNECT_BYTES,
  requestTimeoutMs: 30_000,
  handshakeTimeoutMs: 10_000,
  connectTimeoutMs: 5000,
  headerTimeoutMs: 10_000,
  trustedProxies: 0,
  minUploadRate: MIN_UPLOAD_RATE,
};

const HEARTBEAT = { intervalMs: 25_000, timeoutMs: 20_000 };

/** The names of {@linkcode SmcpServerOptions}. */
export const SERVER_NAMES = {
  protocol: true,
  paths: true,
  publicUrl: true,
  origins: true,
  hosts: true,
  authenticator: true,
  auditPayloads: true,
  cluster: true,
  limits: DEFAULT_LIMITS,
  metrics: true,
  tracer: true,
  wsEngine: true,
  gateway: true,
  authorizationServers: true,
  signIn: true,
  approvals: true,
  operator: { token: true },
  heartbeat: HEARTBEAT,
  ...NUMBERS,
} satisfies NamesOf<SmcpServerOptions>;

/** Options for `SmcpServer.close()`. */
export interface CloseOptions {
  /** Maximum milliseconds to wait for pending calls; default 10,000. */
  graceMs?: number;
}

/** The names of {@linkcode CloseOptions}. */
export const CLOSE_NAMES = {
  graceMs: true,
} satisfies NamesOf<CloseOptions>;

/** The options that a server uses as they are given, or with their default. */
type PlainOptions = Pick<
  SmcpServerOptions,
  | Exclude<keyof typeof NUMBERS, "trustedProxies">
  | "paths"
  | "origins"
  | "heartbeat"
  | "wsEngine"
  | "auditPayloads"
  | "authorizationServers"
>;

/** Options with all defaults filled in. */
export interface ResolvedOptions
  extends HostRule, Readonly<Required<PlainOptions>> {
  /** The versions that may connect, oldest first. */
  readonly protocols: readonly ProtocolName[];
  /** Those of {@linkcode ResolvedOptions.protocols}. */
  readonly profiles: readonly Profile[];
  readonly authenticator: Authenticator | undefined;
  readonly cluster: ClusterMember | undefined;
  readonly limits: Limits;
  /** Observes all requests: for the audit log, and for traces. */
  readonly observer: CallObserver;
  readonly metrics: Metrics | undefined;
  readonly gateway: GatewaySetup | undefined;
  readonly approvals: ApprovalsSetup | undefined;
  /** The operator API, which has a token or not; `undefined` where it is switched off. */
  readonly operator: { readonly token: string | undefined } | undefined;
}

/**
 * Fills in the defaults of a server's options.
 *
 * @throws {TypeError} naming what cannot be used
 * @throws {RangeError} when a limit is less than 1, or no number
 */
export function resolveOptions(options: SmcpServerOptions): ResolvedOptions {
  const { authenticator, tracer, gateway, auditPayloads = false } = options;
  if (authenticator !== undefined) checkAuthenticator(authenticator);
  checkSignIn(options);
  const approvals = options.approvals && setupOf(options.approvals);
  const protocols = readProtocols(options.protocol ?? "0.2");
  const { trustedProxies, ...numbers } = readNumbers(options, NUMBERS);
  if (!(numbers.maxConnectBytes > 0)) {
    throw new TypeError(
      `Cannot use maxConnectBytes ${numbers.maxConnectBytes}: expected a number above 0`,
    );
  }
  const logCall = auditCalls(auditPayloads);
  const agents: Identity = {
    principal: "gateway",
    policy: { roles: ["agent"] },
  };
  return {
    ...numbers,
    protocols,
    profiles: protocols.map((protocol) => PROFILES[protocol]),
    paths: bothForms(options.paths ?? ["/smcp/", "/socket.io/"]),
    origins: options.origins ?? [],
    hosts: options.hosts && readHosts(options.hosts),
    publicUrl: options.publicUrl === undefined
      ? undefined
      : readPublicUrl(options.publicUrl, "publicUrl"),
    authenticator,
    cluster: options.cluster && memberOf(options.cluster),
    limits: resolveLimits(options.limits, gateway !== undefined),
    proxies: trustedProxies,
    heartbeat: readNumbers(options.heartbeat ?? {}, HEARTBEAT, "heartbeat."),
    wsEngine: options.wsEngine ?? "fast",
    auditPayloads,
    observer: tracer
      ? combineObservers([logCall, traceCalls(tracer)])
      : logCall,
    metrics: options.metrics,
    gateway: gateway && {
      start: gateway,
      signIn: options.signIn && makerOf(options.signIn),
      agents,
    },
    approvals,
    approvalsHost: approvals && ownHost(approvals, options.publicUrl),
    operator: readOperator(options.operator),
    authorizationServers: (options.authorizationServers ?? []).map(readIssuer),
  };
}

/** @throws {TypeError} naming what is no number, by the name that callers use */
function readNumbers<Name extends string>(
  given: { readonly [N in NoInfer<Name>]?: number },
  defaults: Readonly<Record<Name, number>>,
  group = "",
): Record<Name, number> {
  const numbers: Record<Name, number> = { ...defaults };
  for (const name of Object.keys(defaults) as Name[]) {
    const value = given[name];
    checkNumbers({ [group + name]: value });
    if (value !== undefined) numbers[name] = value;
  }
  return numbers;
}

/** @throws {TypeError} for a token that could be guessed, or that no header can hold */
function readOperator(
  operator: SmcpServerOptions["operator"],
): { readonly token: string | undefined } | undefined {
  if (operator === false) return undefined;
  const token = operator?.token;
  if (token === undefined || /^[\w.~+/=-]{32,}$/.test(token)) return { token };
  throw new TypeError(
    "Cannot use operator.token: expected at least 32 letters and digits of no meaning, such as those of `openssl rand -hex 32`",
  );
}

/** @throws {TypeError} where a sign-in has nothing to lead to, or an issuer that it cannot be */
function checkSignIn(
  { signIn, gateway, authorizationServers = [], publicUrl }: SmcpServerOptions,
): void {
  if (signIn === undefined) return;
  if (gateway === undefined) {
    throw new TypeError(
      "Cannot use signIn without gateway, which programs sign in to: set mcpGateway() of @a2c-smcp/sdk/mcp",
    );
  }
  if (authorizationServers.length > 0) {
    throw new TypeError(
      "Cannot use both signIn and authorizationServers: a client asks one issuer; leave one of them out",
    );
  }
  if (publicUrl === undefined || isSafeIssuer(publicUrl)) return;
  throw new TypeError(
    `Cannot use signIn with the publicUrl ${
      JSON.stringify(publicUrl)
    }, since tokens can be read in transit: give an https:// URL, or leave it out and listen on loopback alone`,
  );
}

/** @throws {TypeError} naming what is no URL */
function readIssuer(issuer: string): string {
  if (/^https?:$/.test(URL.parse(issuer)?.protocol ?? "")) return issuer;
  throw new TypeError(
    `Cannot use the authorization server ${
      JSON.stringify(issuer)
    }: expected the URL of an issuer, such as "https://id.example.com"`,
  );
}

/**
 * Reads which versions a server lets in.
 *
 * @returns each once, oldest first
 * @throws {TypeError} for none, or one that there is not
 */
function readProtocols(
  wanted: ProtocolName | readonly ProtocolName[] | "all",
): ProtocolName[] {
  const names = wanted === "all" ? PROTOCOL_NAMES : [wanted].flat();
  for (const name of names) {
    if (!PROTOCOL_NAMES.includes(name)) throw unknown(JSON.stringify(name));
  }
  if (names.length === 0) throw unknown("an empty list");
  return PROTOCOL_NAMES.filter((name) => names.includes(name));
}

const unknown = (what: string): TypeError =>
  new TypeError(
    `Cannot serve the protocol ${what}: expected one or more of ${
      PROTOCOL_NAMES.map((name) => JSON.stringify(name)).join(", ")
    }, or "all"`,
  );
