import type { Buffer } from "node:buffer";
import type { IncomingMessage, Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";
import type { Limiter } from "../limits/limiter.ts";
import type { SocketSlots } from "../limits/socket_slots.ts";
import { log } from "../shared/log.ts";
import { invalidRequest, toResponse } from "../shared/refusal.ts";
import { clearText, exposure } from "./bind_rule.ts";
import { closed, OpenSockets } from "./closing.ts";
import type { SmcpEnv } from "./http_app.ts";
import {
  closeServer,
  listenUnless,
  newServer,
  replaceCertificates,
} from "./listen.ts";
import type { ListenAddress, ListenOptions } from "./listen_options.ts";
import { watchListener } from "./listener_watch.ts";
import type { MetricsFeed } from "./metrics_feed.ts";
import type { TlsOptions } from "./tls.ts";
import { watchHandshakes } from "./tls_failures.ts";
import type { UpgradeListener } from "./upgrade.ts";

/** How long a shutdown waits for WebSockets to close. */
const CLOSE_TIMEOUT_MS = 1000;

/** Throws an error uncaught, which ends the process by default. */
const raise = (error: Error): void =>
  queueMicrotask(() => {
    throw error;
  });

/** The parts of a server that {@linkcode Listeners} needs. */
export interface ListenersParts {
  /** Answers HTTP requests. */
  readonly app: Hono<SmcpEnv>;
  /** Answers upgrade requests. */
  readonly onUpgrade: UpgradeListener;
  /** Counts the bytes of its HTTP servers. */
  readonly feed: MetricsFeed | undefined;
  /** Records failed TLS handshakes. */
  readonly limiter: Limiter;
  /** Limits TCP connections. */
  readonly sockets: SocketSlots;
  /** Number of trusted proxies in front of the server. */
  readonly proxies: number;
  /** Milliseconds for the headers of a request. */
  readonly headerTimeoutMs: number;
  /** Whether there is an authenticator. */
  readonly authenticated: boolean;
  /** Whether the server is shutting down. */
  draining(): boolean;
}

/** The HTTP servers of clients: those started by `listen`, and those given to `attach`. */
export class Listeners {
  readonly #parts: ListenersParts;
  readonly #own: (HttpServer | HttpsServer)[] = [];
  readonly #stops: (() => void)[] = [];
  readonly #upgraded = new OpenSockets();

  constructor(parts: ListenersParts) {
    this.#parts = parts;
  }

  /** Handles the upgrade requests of a server, and counts its bytes. */
  attach(server: HttpServer | HttpsServer): void {
    const { feed, onUpgrade } = this.#parts;
    const listener = (
      request: IncomingMessage,
      socket: Duplex,
      head: Buffer,
    ) => {
      const alone = server.listenerCount("upgrade") === 1;
      if (onUpgrade(request, socket, head, alone)) this.#upgraded.add(socket);
    };
    if (feed) this.#stops.push(feed.watch(server));
    server.on("upgrade", listener);
    this.#stops.push(() => server.off("upgrade", listener));
  }

  /**
   * Starts a server.
   *
   * @throws {TypeError} when the address requires authentication or TLS that is not set up, and during
   * shutdown
   */
  async listen(to: ListenOptions): Promise<ListenAddress> {
    const { sockets, limiter, proxies } = this.#parts;
    const warning = this.#judge(to);
    const server = this.#newServer(to.tls);
    sockets.guard(server);
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

  /** Replaces the certificates of the started servers; see `SmcpServer.reloadTls`. */
  reloadTls(tls: TlsOptions): void {
    replaceCertificates(this.#own, tls);
  }

  /** Closes the started servers and all WebSockets, and detaches from attached servers. */
  async close(): Promise<void> {
    for (const stop of this.#stops) stop();
    await closed(this.#upgraded, CLOSE_TIMEOUT_MS);
    await Promise.all(this.#own.map(closeServer));
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
    const authenticated = this.#parts.authenticated ||
      tls?.clientCa !== undefined;
    const exposed = exposure(hostname, authenticated);
    if (exposed !== undefined && !insecure) {
      throw new TypeError(
        `Cannot listen on ${exposed}; insecure: true allows it`,
      );
    }
    return clear === undefined || exposed !== undefined
      ? undefined
      : `Listening on ${clear}`;
  }

  #newServer(tls: TlsOptions | undefined): HttpServer | HttpsServer {
    const { app, headerTimeoutMs } = this.#parts;
    return newServer(
      getRequestListener(app.fetch, {
        overrideGlobalObjects: false,
        errorHandler: () => toResponse(invalidRequest()),
      }),
      { tls, headerTimeoutMs },
    );
  }
}
