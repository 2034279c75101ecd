import { PROFILES, type ProtocolName } from "../protocol/mod.ts";
import { bothForms } from "./http/gate.ts";
import { readHosts } from "./http/host_rule.ts";
import type { ConnectionsOptions } from "./http/connections.ts";
import type { HttpAppParts } from "./http/http_app.ts";
import { MAX_CONNECT_BYTES } from "./limits/early_budget.ts";
import { type Limits, resolveLimits } from "./limits/limits.ts";
import { auditCalls } from "./observe/audit_calls.ts";
import { watchers } from "./observe/call_observer.ts";
import { type CallTracer, traceCalls } from "./observe/trace_calls.ts";
import { MemoryRegistry } from "./offices/memory.ts";
import type { SessionsOptions } from "./sessions/sessions.ts";
import { MIN_UPLOAD_RATE } from "./wire/mod.ts";
import type { Authenticator } from "./auth/authenticator.ts";
import type { Metrics } from "./observe/metrics.ts";
import type { OfficeRegistry } from "./offices/registry.ts";
import type { Heartbeat } from "./http/new_engine.ts";

/** Options for `createSmcpServer()`. */
export interface SmcpServerOptions {
  /**
   * The one version that the server speaks; default `"0.2"`. With `"0.1"` it serves the SDKs from
   * before the handshake, and those of this package no more (spec §12).
   */
  protocol?: ProtocolName;
  /** Where Engine.IO answers, with and without a trailing slash; default `/smcp/` and `/socket.io/` (spec §2). */
  paths?: readonly string[];
  /** The largest message of a client, in bytes; announced as `maxPayload`; default 8 MiB (spec §10). */
  maxMessageBytes?: number;
  /**
   * The largest packet that asks for a session, in bytes; most of it is `auth`. A connection without
   * a session may send four times as much, in 32 packets; default 16 KiB (spec §10).
   */
  maxConnectBytes?: number;
  /** Seconds to wait for a Computer's answer where the request has no timeout of its own; default 30 (spec §7). */
  requestTimeout?: number;
  /** Web origins whose pages may connect, such as `https://app.example`, or `"*"`; default none (spec §2). */
  origins?: "*" | readonly string[];
  /**
   * Names that requests may be for, such as `["smcp.example.com"]`, beside those of this machine;
   * `"*"` for any. Default: what comes in over loopback must be for `localhost`, `*.localhost` or a
   * loopback address, which keeps pages of rebound names out, unless `trustedProxies` is set; what
   * comes in over another address may be for any name.
   */
  hosts?: "*" | readonly string[];
  /** Decides who may connect, and what they may join as; default: no authentication (spec §10). */
  authenticator?: Authenticator;
  /** Whether the audit log holds parameters and results of tool calls; default not (spec §10). */
  auditPayloads?: boolean;
  /** Who is a member of which office; default in memory, for a single node. */
  registry?: OfficeRegistry;
  /**
   * What clients may at most, beside the defaults of {@linkcode Limits} (spec §10); `false` lifts
   * every count and rate limit. The message size and the depth of packets stay limited.
   */
  limits?: false | Partial<Limits>;
  /** Collects metrics, created by `createMetrics`; default none. */
  metrics?: Metrics;
  /** Creates a span for every request to a Computer: `trace.getTracer("…")` of `@opentelemetry/api`; default none. */
  tracer?: CallTracer;
  /** How many proxies of the operator's own stand in front of the server, whose `X-Forwarded-For` is believed; default 0. */
  trustedProxies?: number;
  /** Seconds that a client has from its connection to its admission; default 10 (spec §10). */
  handshakeTimeout?: number;
  /**
   * Milliseconds that a client has from its connection to the packet that asks for a session, after
   * which its place is free again; default 5000.
   */
  connectTimeoutMs?: number;
  /** Seconds that a request of a server made by `listen` may take for its headers; default 10 (spec §10). */
  headerTimeout?: number;
  /**
   * What carries WebSockets: `"fast"`, this package's own, which relays calls as the bytes that they
   * came in, or `"stock"`, the package `ws`, should the other one be in doubt; default `"fast"`.
   */
  wsEngine?: "fast" | "stock";
  /**
   * Bytes per second at which a message that has begun must arrive over a WebSocket, measured over
   * 20 seconds: a slower sender is closed with 1008, since its half message takes memory. Default
   * 8192, which gives a message of 8 MiB 17 minutes. The engine `"stock"` has no such limit.
   */
  minUploadRate?: number;
  /** How a connection that is gone without a word is noticed; default a ping after 25 s, and 20 s for its answer. */
  heartbeat?: Heartbeat;
}

/** Options for `SmcpServer.close()`. */
export interface CloseOptions {
  /** Maximum milliseconds to wait for pending calls; default 10,000. */
  graceMs?: number;
}

const MEBIBYTE = 2 ** 20;

/** What the parts of a server take of its options. */
export type ResolvedOptions =
  & Omit<ConnectionsOptions, "limiter">
  & Omit<SessionsOptions, "limiter" | "arrivals" | "guards">
  & Pick<HttpAppParts, "paths" | "origins" | "hosts">
  & { readonly limits: Limits; readonly headerTimeout: number };

/**
 * Fills in the defaults of a server's options.
 *
 * @throws {TypeError} naming what cannot be used
 * @throws {RangeError} when a limit is less than 1, or no number
 */
export function resolveOptions(options: SmcpServerOptions): ResolvedOptions {
  const { tracer } = options;
  const logCall = auditCalls(options.auditPayloads ?? false);
  return {
    profile: PROFILES[options.protocol ?? "0.2"],
    paths: bothForms(options.paths ?? ["/smcp/", "/socket.io/"]),
    maxMessageBytes: options.maxMessageBytes ?? 8 * MEBIBYTE,
    maxConnectBytes: options.maxConnectBytes ?? MAX_CONNECT_BYTES,
    requestTimeout: options.requestTimeout ?? 30,
    origins: options.origins ?? [],
    hosts: options.hosts && readHosts(options.hosts),
    authenticator: options.authenticator,
    registry: options.registry ?? new MemoryRegistry(),
    limits: resolveLimits(options.limits),
    proxies: options.trustedProxies ?? 0,
    handshakeTimeout: options.handshakeTimeout ?? 10,
    connectTimeoutMs: options.connectTimeoutMs ?? 5000,
    headerTimeout: options.headerTimeout ?? 10,
    heartbeat: options.heartbeat ?? { interval: 25, timeout: 20 },
    wsEngine: options.wsEngine ?? "fast",
    minUploadRate: options.minUploadRate ?? MIN_UPLOAD_RATE,
    watch: tracer ? watchers([logCall, traceCalls(tracer)]) : logCall,
    metrics: options.metrics,
  };
}
