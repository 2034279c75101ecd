import type { Buffer } from "node:buffer";
import type { IncomingMessage, Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import type { Socket as Connection } from "engine.io";
import { Server as SocketServer } from "socket.io";
import { PROFILES, SMCP_NAMESPACE } from "../protocol/mod.ts";
import { closed, endWhenAsked, flushed, OpenSockets } from "./http/closing.ts";
import { log } from "./shared/log.ts";
import { auditCalls } from "./observe/audit_calls.ts";
import { clearText, exposure } from "./http/bind_rule.ts";
import { watchers } from "./observe/call_observer.ts";
import { Dispatcher } from "./relay/dispatcher.ts";
import { invalidRequest, toResponse } from "./shared/refusal.ts";
import { bothForms } from "./http/gate.ts";
import { readHosts } from "./http/host_rule.ts";
import { hostGuard, httpApp } from "./http/http_app.ts";
import { Arrivals } from "./limits/arrivals.ts";
import { MAX_CONNECT_BYTES } from "./limits/early_budget.ts";
import { guardConnection } from "./sessions/guard_connection.ts";
import { Limiter } from "./limits/limiter.ts";
import { resolveLimits } from "./limits/limits.ts";
import { PacketGuards } from "./limits/packet_guards.ts";
import { SessionPlaces } from "./limits/session_places.ts";
import { SocketPlaces } from "./limits/socket_places.ts";
import {
  closeServer,
  listenUnless,
  newServer,
  replaceCertificates,
} from "./http/listen.ts";
import { watchListener } from "./http/listener_watch.ts";
import { Membership } from "./offices/membership.ts";
import { MetricsFeed } from "./http/metrics_feed.ts";
import { newEngine } from "./http/new_engine.ts";
import { MemoryRegistry } from "./offices/memory.ts";
import type { SmcpServerStats } from "./observe/stats.ts";
import type { ListenAddress, ListenOptions } from "./http/listen_options.ts";
import type { CloseOptions, SmcpServerOptions } from "./options.ts";
import { Relay } from "./relay/relay.ts";
import { acceptSessions } from "./sessions/accept.ts";
import type { SmcpServer } from "./smcp_server.ts";
import type { LinkedSession } from "./relay/linked_session.ts";
import { watchHandshakes } from "./http/tls_failures.ts";
import { traceCalls } from "./observe/trace_calls.ts";
import { upgradeListener } from "./http/upgrade.ts";
import { connectionsOf, MIN_UPLOAD_RATE } from "./wire/mod.ts";

const MEBIBYTE = 2 ** 20;

/** How long a shutdown waits for clients that do not read, or do not close; in milliseconds. */
const LINGER = 1000;

/** Ends the process, unless somebody catches what nobody has caught. */
const raise = (error: Error): void =>
  queueMicrotask(() => {
    throw error;
  });

/**
 * Makes a server; it does nothing until it listens or is attached.
 *
 * @example
 * ```ts
 * import { createSmcpServer } from "@a2c-smcp/sdk/server";
 *
 * await using smcp = createSmcpServer();
 * const { url } = await smcp.listen({ port: 0 });
 * console.log(await (await fetch(`${url}/health`)).json());
 * ```
 */
export function createSmcpServer(options: SmcpServerOptions = {}): SmcpServer {
  const {
    protocol = "0.2",
    paths = ["/smcp/", "/socket.io/"],
    maxMessageBytes = 8 * MEBIBYTE,
    maxConnectBytes = MAX_CONNECT_BYTES,
    requestTimeout = 30,
    origins = [],
    registry = new MemoryRegistry(),
    trustedProxies: proxies = 0,
    handshakeTimeout = 10,
    connectTimeoutMs = 5000,
    headerTimeout = 10,
    heartbeat = { interval: 25, timeout: 20 },
    auditPayloads = false,
    wsEngine = "fast",
    minUploadRate = MIN_UPLOAD_RATE,
    metrics,
    tracer,
  } = options;
  const hosts = options.hosts && readHosts(options.hosts);
  const profile = PROFILES[protocol];
  const limiter = new Limiter(
    resolveLimits(options.limits),
    (limit) => metrics?.limitHit(limit),
  );
  const { connectionsPerAddress, unfinishedBytes } = limiter.limits;
  const places = new SessionPlaces(connectionsPerAddress);
  const sockets = new SocketPlaces({ limiter, proxies });
  const guards = new PacketGuards({ maxConnectBytes, maxMessageBytes });
  const engine = newEngine({
    maxMessageBytes,
    maxConnectBytes,
    wsEngine,
    minUploadRate,
    unfinishedBytes,
    heartbeat,
  });
  const io = new SocketServer({
    parser: guards.parser,
    serveClient: false,
    // A socket that was refused keeps its connection until then.
    connectTimeout: handshakeTimeout * 1000,
    cleanupEmptyChildNamespaces: true,
  });
  const arrivals = new Arrivals({
    connectMs: connectTimeoutMs,
    handshakeMs: handshakeTimeout * 1000,
  });
  const watched = { places, arrivals, guards, limiter, metrics, proxies };
  engine.on("connection", (connection: Connection) => {
    connection.on("packet", endWhenAsked);
    guardConnection(connection, watched);
  });
  io.bind(engine);

  const nsp = io.of(SMCP_NAMESPACE);
  const sessions = new Map<string, LinkedSession>();
  const logCall = auditCalls(auditPayloads);
  const relay = new Relay(
    registry,
    sessions,
    profile,
    requestTimeout,
    tracer ? watchers([logCall, traceCalls(tracer)]) : logCall,
    limiter,
  );
  const membership = new Membership(
    nsp,
    registry,
    sessions,
    profile,
    relay,
    limiter,
  );
  const recheckSessions = acceptSessions(nsp, sessions, {
    profile,
    dispatcher: new Dispatcher(profile, relay, membership, limiter, metrics),
    relay,
    membership,
    authenticator: options.authenticator,
    limiter,
    arrivals,
    guards,
    proxies,
    metrics,
  });

  let draining = false;
  const isDraining = () => draining;
  const stats = (): SmcpServerStats => {
    const members = [...sessions.values()].flatMap((s) => s.member ?? []);
    return {
      connections: sessions.size,
      offices: new Set(members.map((m) => m.office)).size,
      members: members.length,
    };
  };
  const feed = metrics && new MetricsFeed(metrics, stats, isDraining);
  const front = {
    profile,
    engine,
    paths: bothForms(paths),
    origins,
    hosts,
    limiter,
    places,
    guards,
    proxies,
    metrics,
    draining: isDraining,
  };
  const app = httpApp({
    ...front,
    authenticator: options.authenticator,
    stats,
  });
  const onUpgrade = upgradeListener(front);

  const upgraded = new OpenSockets();
  const detach: (() => void)[] = [];
  const attach = (server: HttpServer | HttpsServer) => {
    const listener = (
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
    ) => {
      const alone = server.listenerCount("upgrade") === 1;
      if (onUpgrade(request, socket, head, alone)) upgraded.add(socket);
    };
    if (feed) detach.push(feed.watch(server));
    server.on("upgrade", listener);
    detach.push(() => server.off("upgrade", listener));
  };
  const own: (HttpServer | HttpsServer)[] = [];
  const listen = async (to: ListenOptions = {}): Promise<ListenAddress> => {
    const { hostname = "127.0.0.1", tls, insecure = false } = to;
    const clear = clearText(hostname, tls !== undefined);
    if (clear !== undefined && to.requireTls) {
      throw new TypeError(`Cannot listen on ${clear}; give tls`);
    }
    const authenticated = options.authenticator !== undefined ||
      tls?.clientCa !== undefined;
    const exposed = exposure(hostname, authenticated);
    if (exposed !== undefined && !insecure) {
      throw new TypeError(
        `Cannot listen on ${exposed}; insecure: true allows it`,
      );
    }
    const server = newServer(
      getRequestListener(app.fetch, {
        overrideGlobalObjects: false,
        errorHandler: () => toResponse(invalidRequest()),
      }),
      { tls, headerTimeout },
    );
    sockets.guard(server);
    attach(server);
    watchHandshakes(server, (failure) => limiter.failedTls(failure));
    const address = await listenUnless(isDraining, server, to);
    own.push(server);
    if (clear !== undefined && exposed === undefined && proxies === 0) {
      log.warn(`Listening on ${clear}`);
    }
    detach.push(
      watchListener({ server, ...address, lost: to.onLost ?? raise }),
    );
    return address;
  };

  const listenMetrics = (to: ListenOptions = {}): Promise<ListenAddress> => {
    if (feed) {
      return feed.listen(to, { guard: hostGuard(front), sockets });
    }
    throw new TypeError(
      "Cannot serve metrics: the option metrics is not set, createMetrics() makes it",
    );
  };

  const shutDown = async (graceMs: number) => {
    draining = true;
    membership.close();
    await relay.drain(graceMs);
    await Promise.all(
      [...sessions.values()].map((session) =>
        session.enqueue(() => membership.depart(session))
      ),
    );
    await flushed(connectionsOf(engine), LINGER);
    await io.close();
    arrivals.close();
    for (const stop of detach) stop();
    await closed(upgraded, LINGER);
    await Promise.all(own.map(closeServer));
    await feed?.close();
    limiter.flush();
  };
  let closing: Promise<void> | undefined;
  const close = ({ graceMs = 10_000 }: CloseOptions = {}) =>
    closing ??= shutDown(graceMs);

  return {
    app,
    get stats() {
      return stats();
    },
    attach,
    listen,
    listenMetrics,
    reloadTls: (tls) => replaceCertificates(own, tls),
    recheckSessions,
    close,
    [Symbol.asyncDispose]: () => close(),
  };
}
