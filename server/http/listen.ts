import {
  createServer,
  type RequestListener,
  type Server as HttpServer,
  type ServerOptions,
} from "node:http";
import {
  createServer as createHttpsServer,
  type Server as HttpsServer,
} from "node:https";
import type { AddressInfo } from "node:net";
import type { ListenAddress, ListenOptions } from "./listen_options.ts";
import { type TlsOptions, toHttpsOptions } from "./tls.ts";

/** How often an HTTP server checks for late requests. */
const CHECK_INTERVAL_MS = 1000;

/**
 * Time limit for the body of a request after its headers: enough for the largest message at 1 Mbit/s.
 * A late one is answered with 408, which ends its session.
 */
const BODY_TIMEOUT_MS = 60_000;

/** Servers that require client certificates; Node cannot change that after their creation. */
const requiresCertificates = new WeakSet<HttpServer | HttpsServer>();

/** Options for {@linkcode newServer}. */
export interface NewServerOptions {
  /** Certificates, for an HTTPS server. */
  readonly tls?: TlsOptions | undefined;
  /** Milliseconds for the headers of a request. */
  readonly headerTimeoutMs: number;
  /** Milliseconds for its body after them. */
  readonly bodyTimeoutMs?: number;
}

/** Creates an HTTPS server if `tls` is given, otherwise an HTTP server. */
export function newServer(
  listener: RequestListener,
  { tls, headerTimeoutMs, bodyTimeoutMs = BODY_TIMEOUT_MS }: NewServerOptions,
): HttpServer | HttpsServer {
  const timeouts: ServerOptions = {
    headersTimeout: headerTimeoutMs,
    requestTimeout: headerTimeoutMs + bodyTimeoutMs,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
  };
  if (tls === undefined) return createServer(timeouts, listener);
  const server = createHttpsServer(
    // The default would let a silent client hold a connection for two minutes.
    {
      ...timeouts,
      handshakeTimeout: headerTimeoutMs,
      ...toHttpsOptions(tls),
    },
    listener,
  );
  if (tls.clientCa !== undefined) requiresCertificates.add(server);
  return server;
}

/**
 * Replaces the certificates of HTTPS servers for new connections.
 *
 * @throws {TypeError} when they do not fit all servers; no server is changed then
 */
export function replaceCertificates(
  servers: readonly (HttpServer | HttpsServer)[],
  tls: TlsOptions,
): void {
  const options = toHttpsOptions(tls);
  const secure = servers.filter((each) => "setSecureContext" in each);
  for (const server of secure) {
    const isRequired = requiresCertificates.has(server);
    if (isRequired !== (tls.clientCa !== undefined)) {
      throw new TypeError(
        `Cannot switch client certificates on or off by a reload; ${
          isRequired ? "give" : "leave out"
        } clientCa as when the server began to listen`,
      );
    }
  }
  for (const server of secure) server.setSecureContext(options);
}

/** Makes a server listen; rejects with the system's error, such as `EADDRINUSE`. */
export async function listenOn(
  server: HttpServer | HttpsServer,
  { hostname = "127.0.0.1", port = 0, tls }: ListenOptions,
): Promise<ListenAddress> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, hostname, () => {
      server.off("error", reject);
      resolve();
    });
  });
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
  server: HttpServer | HttpsServer,
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
export const closeServer = (server: HttpServer | HttpsServer): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
