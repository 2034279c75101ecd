/**
 * HTTP and HTTPS servers of `node:http`: their certificates, time limits and TCP connections.
 *
 * @module
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import {
  createServer as createHttpsServer,
  type Server as HttpsServer,
  type ServerOptions as HttpsOptions,
} from "node:https";
import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { once } from "node:events";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { invalidRequest, type Refusal, toResponse } from "../shared/http.ts";
import { clientAddress } from "../limits/limits.ts";
import type { SocketSlots } from "../limits/slots.ts";
import { endSocket, toHttpText } from "../shared/end_socket.ts";
import type { NamesOf } from "../../shared/checks.ts";

/** A server of `node:http`, with or without TLS. */
export type WebServer = HttpServer | HttpsServer;

/** The certificate of a server, and optionally the authorities of its clients; all as PEM (protocol §10). */
export interface TlsOptions {
  /** The server's certificate chain without the root. */
  readonly cert: string;
  /** The private key of the first certificate. */
  readonly key: string;
  /** Certificate authorities of clients: requires a client certificate issued by one of them (mTLS). */
  readonly clientCa?: string;
}

/** The names of {@linkcode TlsOptions}. */
export const TLS_NAMES = {
  cert: true,
  key: true,
  clientCa: true,
} satisfies NamesOf<TlsOptions>;

/** Options for `SmcpServer.listen()`. */
export interface ListenOptions {
  /** The host to listen on; default `127.0.0.1` (protocol §10). */
  hostname?: string;
  /** The port to listen on; default 0, any free port. */
  port?: number;
  /** Certificates for HTTPS; default plain HTTP. */
  tls?: TlsOptions;
  /**
   * Whether to allow a public address without authentication, that is without an `authenticator` and
   * without `tls.clientCa`; default `false` (protocol §10).
   */
  insecure?: boolean;
  /**
   * Whether to refuse a public address without `tls`; default `false`: logs a warning, if there is an
   * `authenticator` and no trusted proxy.
   */
  requireTls?: boolean;
  /**
   * Called once, when the listener stopped accepting connections and could not be restarted, for
   * example without free file descriptors. By default the error is thrown uncaught, which ends the
   * process.
   */
  onLost?: (error: Error) => void;
}

/** The names of {@linkcode ListenOptions}. */
export const LISTEN_NAMES = {
  hostname: true,
  port: true,
  tls: TLS_NAMES,
  insecure: true,
  requireTls: true,
  onLost: true,
} satisfies NamesOf<ListenOptions>;

/** The address that a server listens on. */
export interface ListenAddress {
  /** The URL that clients connect to, such as `http://127.0.0.1:8787`. */
  readonly url: string;
  /** The requested host. */
  readonly hostname: string;
  /** The actual port. */
  readonly port: number;
}

/**
 * Checks certificates and converts them to options of `node:https`.
 *
 * The check is needed since Deno accepts any text as a replacement, and then fails every handshake.
 *
 * @throws {TypeError} naming the invalid part, without its content
 */
export function toHttpsOptions(
  { cert, key, clientCa }: TlsOptions,
): HttpsOptions {
  const certificate = readPem("certificate", () => new X509Certificate(cert));
  const privateKey = readPem("private key", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new TypeError("Cannot use TLS: the key is not the certificate's");
  }
  if (clientCa === undefined) return { cert, key };
  readPem("certificate of the client CA", () => new X509Certificate(clientCa));
  const mutual = { requestCert: true, rejectUnauthorized: true };
  return { cert, key, ca: clientCa, ...mutual };
}

function readPem<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw new TypeError(`Cannot use TLS: the ${what} is not valid PEM`);
  }
}

/** How often an HTTP server checks for late requests. */
const CHECK_INTERVAL_MS = 1000;

/**
 * Time limit for the body of a request after its headers: enough for the largest message at 1 Mbit/s.
 * A late one is answered with 408, which ends its session.
 */
const BODY_TIMEOUT_MS = 60_000;

/** HTTPS servers, and whether they require client certificates; Node cannot change that after their creation. */
const requiresCertificates = new WeakMap<WebServer, boolean>();

/** Answers requests of `node:http`. */
export type Listener = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
) => unknown;

/**
 * Creates an HTTPS server for an app if `tls` is given, otherwise an HTTP server.
 *
 * @param headerTimeoutMs milliseconds for the headers of a request
 * @param bodyTimeoutMs milliseconds for its body after them
 */
export function newServer(
  { fetch, before }: {
    readonly fetch: Parameters<typeof getRequestListener>[0];
    /** Makes a listener that answers some requests before the app. */
    readonly before?: ((app: Listener) => Listener) | undefined;
  },
  tls: TlsOptions | undefined,
  headerTimeoutMs: number,
  bodyTimeoutMs: number = BODY_TIMEOUT_MS,
): WebServer {
  const timeouts: ServerOptions = {
    headersTimeout: headerTimeoutMs,
    requestTimeout: headerTimeoutMs + bodyTimeoutMs,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
  };
  const app = getRequestListener(fetch, {
    overrideGlobalObjects: false,
    errorHandler: () => toResponse(invalidRequest()),
  });
  const listener = before?.(app) ?? app;
  if (tls === undefined) return createServer(timeouts, listener);
  // The default would let a silent client hold a connection for two minutes.
  const handshakeTimeout = headerTimeoutMs;
  const server = createHttpsServer(
    { ...timeouts, handshakeTimeout, ...toHttpsOptions(tls) },
    listener,
  );
  requiresCertificates.set(server, tls.clientCa !== undefined);
  return server;
}

/**
 * Replaces the certificates of HTTPS servers for new connections.
 *
 * @throws {TypeError} when they do not fit all servers; no server is changed then
 */
export function replaceCertificates(
  servers: readonly WebServer[],
  tls: TlsOptions,
): void {
  const options = toHttpsOptions(tls);
  const secure = servers.flatMap((server) => {
    const isRequired = requiresCertificates.get(server);
    if (isRequired === undefined) return [];
    if (isRequired !== (tls.clientCa !== undefined)) {
      const remedy = isRequired ? "give" : "leave out";
      throw new TypeError(
        `Cannot switch client certificates on or off by a reload; ${remedy} clientCa as when the server began to listen`,
      );
    }
    if ("setSecureContext" in server) return [server];
    throw new TypeError(
      "Cannot replace certificates on Bun, whose HTTPS servers keep those that they began with; start the server again",
    );
  });
  for (const server of secure) server.setSecureContext(options);
}

/** Makes a server listen; rejects with the system's error, such as `EADDRINUSE`. */
export async function listenOn(
  server: WebServer,
  { hostname = "127.0.0.1", port = 0, tls }: ListenOptions,
): Promise<ListenAddress> {
  await once(server.listen(port, hostname), "listening");
  const { port: actual } = server.address() as AddressInfo;
  const host = hostname.includes(":") ? `[${hostname}]` : hostname;
  const scheme = tls === undefined ? "http" : "https";
  return { url: `${scheme}://${host}:${actual}`, hostname, port: actual };
}

/**
 * Makes a server listen, unless its owner is closed before or meanwhile; its port is free then.
 *
 * @throws {TypeError} when `isClosed`
 */
export async function listenUnless(
  isClosed: () => boolean,
  server: WebServer,
  to: ListenOptions,
): Promise<ListenAddress> {
  if (!isClosed()) {
    const address = await listenOn(server, to);
    if (!isClosed()) return address;
    await closeServer(server);
  }
  throw new TypeError("Cannot listen: the server is closed");
}

/** Closes a server and its remaining connections. */
export const closeServer = (server: WebServer): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

/** Maximum number of refused sockets that wait for their answer to be read; others are closed immediately. */
const MAX_PENDING_REFUSALS = 16;

/** Limits the TCP connections of servers, before anything is read from them. */
export class SocketGate {
  readonly #slots: SocketSlots;
  /** Refused sockets whose answer is not read yet. */
  #answering = 0;

  constructor(slots: SocketSlots) {
    this.#slots = slots;
  }

  /** Limits the connections of a server, which must not listen yet. */
  guard(server: WebServer): void {
    const isSecure = "setSecureContext" in server;
    const listeners = server.listeners("connection");
    server.removeAllListeners("connection");
    server.on("connection", (socket: Socket) => {
      const address = clientAddress(socket.remoteAddress ?? "", undefined, 0);
      const taken = this.#slots.take(address);
      if (typeof taken !== "function") {
        return this.#refuse(socket, isSecure, taken);
      }
      socket.on("close", taken);
      for (const each of listeners) Reflect.apply(each, server, [socket]);
    });
  }

  #refuse(socket: Socket, isSecure: boolean, answer: Refusal): void {
    // An answer would need a TLS handshake first, which is expensive.
    if (isSecure || this.#answering >= MAX_PENDING_REFUSALS) {
      socket.on("error", () => {});
      return void socket.destroy();
    }
    this.#answering++;
    socket.on("close", () => this.#answering--);
    endSocket(socket, toHttpText(answer));
  }
}
