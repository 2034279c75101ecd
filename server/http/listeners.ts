/**
 * What `listen()`, `attach()` and `listenMetrics()` start, and how it ends: upgrades pass the gate, a
 * listener that accepts nothing is restarted, and failed TLS handshakes are explained.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { Hono } from "hono";
import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { closed, track } from "./closing.ts";
import { admitUpgrade, type RequestParts } from "./gate.ts";
import { clearText, exposure } from "./host_rule.ts";
import { hostGuard, showMetrics, type SmcpEnv } from "./http_app.ts";
import {
  closeServer,
  type ListenAddress,
  type Listener,
  type ListenOptions,
  listenUnless,
  newServer,
  replaceCertificates,
  SocketGate,
  type TlsOptions,
  type WebServer,
} from "./listen.ts";
import type { TlsFailure } from "../limits/limiter.ts";
import { endSocket, toHttpText } from "../shared/end_socket.ts";
import { failure, log } from "../shared/log.ts";
import {
  invalidRequest,
  notFound,
  splitTarget,
  toResponse,
} from "../shared/http.ts";
import type { StockEngine } from "../wire/stock_engine.ts";
import { SocketSlots } from "../limits/slots.ts";
import { type Metrics, Traffic } from "../observe/metrics.ts";

/** Throws an error uncaught, which ends the process by default. */
const raise = (error: Error): void =>
  queueMicrotask(() => {
    throw error;
  });

/** Time limit for the headers of a request for metrics alone. */
const METRICS_HEADER_TIMEOUT_MS = 10_000;

/** The parts of a server that {@linkcode Listeners} needs. */
interface ListenersParts extends RequestParts {
  /** Handles the upgrades that pass. */
  readonly engine: StockEngine;
  /** Answers HTTP requests. */
  readonly app: Hono<SmcpEnv>;
  /** Makes a listener that answers some requests before the app. */
  readonly before: ((app: Listener) => Listener) | undefined;
}

/** The HTTP servers of clients: those started by `listen`, those given to `attach`, and those of metrics alone. */
export class Listeners {
  readonly #parts: ListenersParts;
  readonly #own: WebServer[] = [];
  readonly #ofMetrics: WebServer[] = [];
  readonly #stops: (() => void)[] = [];
  readonly #upgraded = new Set<Duplex>();
  readonly #gate: SocketGate;
  /** The bytes of their connections, where there are metrics. */
  readonly traffic = new Traffic();

  constructor(parts: ListenersParts) {
    this.#parts = parts;
    this.#gate = new SocketGate(new SocketSlots(parts));
  }

  /** Handles the upgrade requests of a server, and counts its bytes. */
  attach(server: WebServer): void {
    const listener = (...upgrade: [IncomingMessage, Duplex, Buffer]) =>
      this.#upgrade(server, ...upgrade);
    if (this.#parts.metrics) this.#stops.push(this.traffic.watch(server));
    server.on("upgrade", listener);
    this.#stops.push(() => server.off("upgrade", listener));
  }

  /**
   * Answers an upgrade request with the same checks and answers as polling (protocol §2). Never throws: that
   * would leave the client waiting forever. Other paths are left to the server's other listeners, if there
   * are any.
   */
  #upgrade(
    server: WebServer,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): void {
    const { paths, engine } = this.#parts;
    try {
      const { path } = splitTarget(request.url ?? "");
      if (!paths.includes(path)) {
        if (server.listenerCount("upgrade") > 1) return;
        endSocket(socket, toHttpText(notFound()));
      } else {
        const kept = minimalRequest(request);
        const refused = admitUpgrade(kept, socket, this.#parts);
        // Synchronous up to here: an await would lose the first frames.
        if (refused) endSocket(socket, toHttpText(refused));
        else engine.handleUpgrade(kept, socket, head);
      }
    } catch (error) {
      log.warn("Cannot answer an upgrade request", failure(error));
      endSocket(socket, toHttpText(invalidRequest()));
    }
    track(this.#upgraded, socket);
  }

  /**
   * Starts a server.
   *
   * @throws {TypeError} when the address requires authentication or TLS that is not set up, and during
   * shutdown
   */
  async listen(to: ListenOptions): Promise<ListenAddress> {
    const { app: { fetch }, before, limiter, proxies } = this.#parts;
    const { headerTimeoutMs } = this.#parts;
    const warning = this.#judge(to);
    const server = newServer({ fetch, before }, to.tls, headerTimeoutMs);
    this.#gate.guard(server);
    this.attach(server);
    watchHandshakes(server, (failure) => limiter.recordTlsFailure(failure));
    const address = await listenUnless(this.#parts.draining, server, to);
    this.#own.push(server);
    if (warning !== undefined && proxies === 0) log.warn(warning);
    this.#stops.push(
      watchListener({ server, ...address, lost: to.onLost ?? raise }),
    );
    return address;
  }

  /** Serves `/metrics` on a separate address, without authentication. */
  async listenMetrics(
    to: ListenOptions,
    metrics: Metrics,
  ): Promise<ListenAddress> {
    const app = new Hono<SmcpEnv>();
    app.get("/metrics", hostGuard(this.#parts), (c) => showMetrics(c, metrics));
    app.notFound(() => toResponse(notFound()));
    const server = newServer(app, to.tls, METRICS_HEADER_TIMEOUT_MS);
    this.#gate.guard(server);
    const address = await listenUnless(this.#parts.draining, server, to);
    this.#ofMetrics.push(server);
    return address;
  }

  /** Replaces the certificates of the started servers; see `SmcpServer.reloadTls`. */
  reloadTls(tls: TlsOptions): void {
    replaceCertificates(this.#own, tls);
  }

  /** Closes the started servers and all WebSockets, and detaches from attached servers. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await closed(this.#upgraded);
    await Promise.all(this.#own.map(closeServer));
    await Promise.all(this.#ofMetrics.map(closeServer));
  }

  /**
   * Decides whether an address is safe to listen on.
   *
   * @returns a warning for the log, if any
   * @throws {TypeError} when it is not
   */
  #judge(
    { hostname = "127.0.0.1", tls, requireTls, insecure }: ListenOptions,
  ): string | undefined {
    const clear = clearText(hostname, tls !== undefined);
    if (clear !== undefined && requireTls) {
      throw new TypeError(`Cannot listen on ${clear}; give tls`);
    }
    const authenticated = this.#parts.authenticator ?? tls?.clientCa;
    const exposed = exposure(hostname, authenticated !== undefined);
    if (exposed !== undefined && !insecure) {
      const remedy = "insecure: true allows it";
      throw new TypeError(`Cannot listen on ${exposed}; ${remedy}`);
    }
    return clear && !exposed ? `Listening on ${clear}` : undefined;
  }
}

/** How often a listener is checked. */
const CHECK_INTERVAL_MS = 2000;

/** Further checks that may miss the probe before a restart; a stalled process may cause one. */
const MAX_MISSED_CHECKS = 1;

/** Unsuccessful restarts in a row before the listener counts as lost. */
const MAX_RESTARTS = 3;

/** A listener to watch. */
interface WatchedListener extends Pick<ListenAddress, "hostname" | "port"> {
  /** The listening server. */
  readonly server: WebServer;
  /** Called once, when it accepts no connections and cannot be restarted. */
  lost(error: Error): void;
  /** Milliseconds between two checks; default 2000. */
  readonly intervalMs?: number;
}

/**
 * Restarts a listener that stops accepting connections; open connections stay.
 *
 * A process without free descriptors cannot accept. Node resumes when some are free again, Deno never
 * does, and neither reports it. So after a while without connections the watch opens one itself, and
 * restarts the listener if that connection is not accepted.
 *
 * @returns a function that stops the watch
 */
export function watchListener(
  { server, hostname, port, lost, intervalMs = CHECK_INTERVAL_MS }:
    WatchedListener,
): () => void {
  let isAlive = true;
  let missed = 0;
  let restarts = 0;
  let probe: Socket | undefined;
  let reason: unknown;
  const accepted = () => {
    isAlive = true;
    if (restarts > 0) {
      log.warn("The listener accepts connections again");
      timer.unref();
    }
    missed = restarts = 0;
  };
  const failed = (error: Error) => {
    reason = error;
    log.error("The listener failed", failure(error));
  };
  const openProbe = () => {
    const socket = probe = connect({ port, host: hostname });
    socket.on("connect", () => socket.destroy());
    // The probe may lack a descriptor, which means nothing for the listener.
    socket.on("error", () => missed = 0);
    missed = 1;
  };
  const check = () => {
    if (isAlive) return void (isAlive = false);
    // Without a listener, since a restart has failed, a probe means nothing.
    if (missed === 0 && server.listening) return openProbe();
    if (missed++ <= MAX_MISSED_CHECKS) return;
    probe?.destroy();
    missed = 0;
    if (restarts++ < MAX_RESTARTS) {
      log.error("The listener accepts no connections: restarting it");
      timer.ref(); // nothing else may keep the process until it listens again
      server.close();
      server.listen(port, hostname);
      return;
    }
    stop();
    const message =
      `Cannot accept connections on ${hostname} port ${port} any more`;
    lost(new Error(message, { cause: reason }));
  };
  server.on("connection", accepted);
  server.on("error", failed);
  const timer = setInterval(check, intervalMs);
  timer.unref();
  const stop = () => {
    clearInterval(timer);
    probe?.destroy();
    server.off("connection", accepted);
    server.off("error", failed);
  };
  return stop;
}

/**
 * Describes why a TLS handshake failed, and what to change on which side.
 *
 * A client that does not trust the server often just closes the connection.
 *
 * @param failure `code`: the error code of OpenSSL, or of the socket; `certificate`: why the client's
 * certificate was not accepted, if it was not
 */
export function describeTlsFailure(
  { code, certificate }: { code: string; certificate?: string },
): string {
  if (certificate === "CERT_HAS_EXPIRED") {
    return "the client's certificate has expired: have it renewed";
  }
  if (certificate !== undefined) {
    return `the client's certificate is not accepted (${certificate}): it must be of an authority in --tls-client-ca, and be valid today`;
  }
  if (code === "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE") {
    return "the client sent no certificate, and --tls-client-ca requires one: give it --tls-cert and --tls-key";
  }
  if (/ALERT_UNKNOWN_CA/.test(code)) {
    return `the client does not know the authority of this server's certificate: ${TRUST_HINT}`;
  }
  if (/ALERT_.*CERTIFICATE/.test(code)) {
    return `the client does not accept this server's certificate (${code}): look at its host names and its dates; or ${TRUST_HINT}`;
  }
  if (/HTTP_REQUEST|WRONG_VERSION_NUMBER/.test(code)) {
    return "the client does not speak TLS: its URL must begin with https:";
  }
  if (/UNSUPPORTED_PROTOCOL|UNEXPECTED_MESSAGE|NO_SHARED/.test(code)) {
    return `client and server have no version or cipher of TLS in common (${code}): the client may be old`;
  }
  if (code === "ECONNRESET") {
    return `the client closed the connection during the handshake, possibly because it does not trust this server's certificate: ${TRUST_HINT}`;
  }
  return `the handshake failed (${code})`;
}

const TRUST_HINT =
  "give it the authority (--tls-ca), or this server the whole chain (--tls-cert)";

/** Reports the failed TLS handshakes of a server, if it has TLS. */
function watchHandshakes(
  server: WebServer,
  report: (failure: TlsFailure) => void,
): void {
  if (!("setSecureContext" in server)) return;
  // Node no longer has the address when the connection is closed.
  const addresses = new WeakMap<object, string>();
  server.on("connection", (raw: Socket) => {
    addresses.set(raw, raw.remoteAddress ?? "unknown");
  });
  server.on("tlsClientError", (error, socket) => {
    const raw: unknown = Reflect.get(socket, "_parent");
    if (!(raw instanceof Object)) return;
    // A port check, as load balancers make them: no handshake was attempted.
    if (Reflect.get(raw, "bytesRead") === 0) return;
    const certificate: unknown = socket.authorizationError;
    report({
      reason: describeTlsFailure({
        code: "code" in error ? String(error.code) : error.name,
        ...(certificate != null && { certificate: codeOf(certificate) }),
      }),
      address: addresses.get(raw) ?? "unknown",
    });
  });
}

/** Returns an error code, which some runtimes wrap in an error. */
const codeOf = (value: unknown): string =>
  value instanceof Error && "code" in value
    ? String(value.code)
    : String(value);

/**
 * Copies the fields of a request that Engine.IO uses. It keeps the request as long as the connection,
 * and the other fields would stay in memory with it.
 */
const minimalRequest = (
  { method, url, headers, socket }: IncomingMessage,
): IncomingMessage =>
  ({ method, url, headers, socket, connection: socket }) as IncomingMessage;
