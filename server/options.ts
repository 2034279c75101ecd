import { checkNumbers } from "../shared/check_numbers.ts";
import { PROFILES, type ProtocolName } from "../protocol/mod.ts";
import type { AdmitParts } from "./doors/admission.ts";
import { bothForms } from "./http/gate.ts";
import { readHosts } from "./http/host_rule.ts";
import type { ConnectionsOptions, Heartbeat } from "./http/connections.ts";
import type { HttpAppParts } from "./http/http_app.ts";
import { MAX_CONNECT_BYTES } from "./shared/ws_settings.ts";
import { type Limits, resolveLimits } from "./limits/limits.ts";
import {
  auditCalls,
  type CallObserver,
  type CallTracer,
  combineObservers,
  traceCalls,
} from "./observe/watch_calls.ts";
import { PROTOCOL_NAMES } from "../protocol/version.ts";
import type { Identity } from "./shared/identity.ts";
import { MIN_UPLOAD_RATE, type WsEngine } from "./shared/ws_settings.ts";
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
import type { Gateway, GatewayHost } from "./gateway/gateway_seats.ts";
import type { GatewaySetup } from "./gateway/gateway_routes.ts";

/** Options for `createSmcpServer()`. */
export interface SmcpServerOptions {
  /**
   * The protocol version that the server lets in, several of them, or `"all"`; default `"0.2"` alone.
   * Members of all versions meet in one office. With `"0.1"` older SDKs without the version handshake
   * are served too (spec §12).
   */
  protocol?: ProtocolName | readonly ProtocolName[] | "all";
  /** Paths of the Engine.IO endpoint, with and without a trailing slash; default `/smcp/` and `/socket.io/` (spec §2). */
  paths?: readonly string[];
  /** Maximum size of a client's message in bytes, announced as `maxPayload`; default 8 MiB (spec §10). */
  maxMessageBytes?: number;
  /**
   * Maximum size in bytes of the packet that requests a session, most of which is `auth`; default
   * 16 KiB. A connection without a session may send four times as much, in 32 packets (spec §10).
   */
  maxConnectBytes?: number;
  /** Milliseconds to wait for a Computer's answer where the request has no timeout of its own; default 30,000 (spec §7). */
  requestTimeoutMs?: number;
  /** Web origins whose pages may connect, such as `https://app.example`, or `"*"`; default none (spec §2). */
  origins?: "*" | readonly string[];
  /**
   * Host names that requests may name in addition to those of this machine, such as
   * `["smcp.example.com"]`; `"*"` allows any.
   *
   * By default, requests over loopback must name `localhost`, `*.localhost` or a loopback address,
   * which stops DNS rebinding; with `trustedProxies`, and over other addresses, any name is allowed.
   */
  hosts?: "*" | readonly string[];
  /** Decides who may connect, and what they may join as; default: no authentication (spec §10). */
  authenticator?: Authenticator;
  /** Whether the audit log includes parameters and results of tool calls; default `false` (spec §10). */
  auditPayloads?: boolean;
  /**
   * The cluster that the server belongs to, from `joinCluster` of `@a2c-smcp/sdk/server/cluster`; the
   * server takes it over, and leaves it at its `close`. Default none: a single server.
   */
  cluster?: Cluster;
  /**
   * Overrides the defaults of {@linkcode Limits} (spec §10); `false` removes all count and rate
   * limits. Message size and nesting depth stay limited.
   */
  limits?: false | Partial<Limits>;
  /** Collects metrics, created by `createMetrics`; default none. */
  metrics?: Metrics;
  /** Creates a span for every request to a Computer: `trace.getTracer("…")` of `@opentelemetry/api`; default none. */
  tracer?: CallTracer;
  /** Number of trusted proxies in front of the server, whose `X-Forwarded-For` counts; default 0. */
  trustedProxies?: number;
  /** Milliseconds that a client has from its connection to its admission; default 10,000 (spec §10). */
  handshakeTimeoutMs?: number;
  /**
   * Milliseconds that a client has from its connection to the packet that asks for a session, after
   * which its place is free again; default 5000.
   */
  connectTimeoutMs?: number;
  /** Milliseconds that a request of a server made by `listen` may take for its headers; default 10,000 (spec §10). */
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
   * Who may use the operator API at `/operator/v1`, besides those whose credentials have the role
   * `operator`: who has this token, of at least 32 characters, operates all offices. `false` switches
   * the API off; default no token.
   */
  operator?: false | { readonly token: string };
  /** Detects connections that vanished without closing; default a ping every 25 s, and 20 s for its answer. */
  heartbeat?: Heartbeat;
}

/** Options for `SmcpServer.close()`. */
export interface CloseOptions {
  /** Maximum milliseconds to wait for pending calls; default 10,000. */
  graceMs?: number;
}

const MEBIBYTE = 2 ** 20;

/** Options with all defaults filled in. */
export type ResolvedOptions =
  & Omit<ConnectionsOptions, "limiter" | "slots" | "ws">
  & Pick<AdmitParts, "profiles" | "authenticator">
  & Pick<HttpAppParts, "paths" | "origins" | "hosts" | "metrics">
  & {
    /** The names of the versions that the server lets in, oldest first. */
    readonly protocols: readonly ProtocolName[];
    readonly requestTimeoutMs: number;
    /** The WebSocket implementation. */
    readonly wsEngine: WsEngine;
    readonly minUploadRate: number;
    /** Called for each request of an Agent. */
    readonly observer: CallObserver;
    readonly cluster: ClusterMember | undefined;
    readonly limits: Limits;
    readonly auditPayloads: boolean;
    readonly headerTimeoutMs: number;
    readonly gateway: GatewaySetup | undefined;
    readonly authorizationServers: readonly string[];
    /** The operator API; `undefined` when it is switched off. */
    readonly operator: { readonly token: string | undefined } | undefined;
  };

/**
 * Fills in the defaults of a server's options.
 *
 * @throws {TypeError} naming what cannot be used
 * @throws {RangeError} when a limit is less than 1, or no number
 */
export function resolveOptions(options: SmcpServerOptions): ResolvedOptions {
  const { tracer } = options;
  checkAuthenticator(options.authenticator);
  const protocols = readProtocols(options.protocol ?? "0.2");
  checkNumbers(numbersOf(options));
  const gateway = options.gateway && gatewaySetup(options.gateway);
  const { auditPayloads = false } = options;
  const logCall = auditCalls(auditPayloads);
  return {
    protocols,
    profiles: protocols.map((protocol) => PROFILES[protocol]),
    paths: bothForms(options.paths ?? ["/smcp/", "/socket.io/"]),
    maxMessageBytes: options.maxMessageBytes ?? 8 * MEBIBYTE,
    maxConnectBytes: options.maxConnectBytes ?? MAX_CONNECT_BYTES,
    requestTimeoutMs: options.requestTimeoutMs ?? 30_000,
    origins: options.origins ?? [],
    hosts: options.hosts && readHosts(options.hosts),
    authenticator: options.authenticator,
    cluster: options.cluster && memberOf(options.cluster),
    limits: resolveLimits(options.limits, gateway !== undefined),
    proxies: options.trustedProxies ?? 0,
    handshakeTimeoutMs: options.handshakeTimeoutMs ?? 10_000,
    connectTimeoutMs: options.connectTimeoutMs ?? 5000,
    headerTimeoutMs: options.headerTimeoutMs ?? 10_000,
    heartbeat: options.heartbeat ?? { intervalMs: 25_000, timeoutMs: 20_000 },
    wsEngine: options.wsEngine ?? "fast",
    minUploadRate: options.minUploadRate ?? MIN_UPLOAD_RATE,
    auditPayloads,
    observer: tracer
      ? combineObservers([logCall, traceCalls(tracer)])
      : logCall,
    metrics: options.metrics,
    gateway,
    operator: readOperator(options.operator),
    authorizationServers: (options.authorizationServers ?? []).map(readIssuer),
  };
}

/** Lists the options that are numbers, by the names that callers use. */
function numbersOf(options: SmcpServerOptions): Record<string, unknown> {
  const { maxMessageBytes, maxConnectBytes, requestTimeoutMs } = options;
  const { handshakeTimeoutMs, connectTimeoutMs, headerTimeoutMs } = options;
  const { trustedProxies, minUploadRate, heartbeat, limits } = options;
  const nested = Object.entries({ heartbeat, limits }).flatMap((
    [name, group],
  ) => Object.entries(group || {}).map(([key, n]) => [`${name}.${key}`, n]));
  return {
    ...{ maxMessageBytes, maxConnectBytes, requestTimeoutMs },
    ...{ handshakeTimeoutMs, connectTimeoutMs, headerTimeoutMs },
    ...{ trustedProxies, minUploadRate },
    ...Object.fromEntries(nested),
  };
}

/** @throws {TypeError} for a token that could be guessed, or that no header can hold */
function readOperator(
  operator: SmcpServerOptions["operator"],
): ResolvedOptions["operator"] {
  if (operator === false) return undefined;
  const token = operator?.token;
  if (token === undefined || /^[\w.~+/=-]{32,}$/.test(token)) return { token };
  throw new TypeError(
    "Cannot use operator.token: expected at least 32 letters and digits of no meaning, such as those of `openssl rand -hex 32`",
  );
}

function gatewaySetup(start: GatewaySetup["start"]): GatewaySetup {
  const agents: Identity = {
    principal: "gateway",
    policy: { roles: ["agent"] },
  };
  return { start, agents };
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
