import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import { getRequestListener } from "@hono/node-server";
import { Hono, type MiddlewareHandler } from "hono";
import { invalidRequest, notFound, toResponse } from "../shared/refusal.ts";
import type { SocketPlaces } from "../limits/socket_places.ts";
import { closeServer, listenUnless, newServer } from "./listen.ts";
import type { SmcpServerStats } from "../observe/stats.ts";
import type { ListenAddress, ListenOptions } from "./listen_options.ts";
import { LoopLag } from "../observe/loop_lag.ts";
import type { Metrics } from "../observe/metrics.ts";
import { Traffic } from "../observe/traffic.ts";

/** Seconds for the headers of a request for metrics. */
const HEADER_TIMEOUT_SECONDS = 10;

/** What a server does for its metrics: it brings the gauges, and serves them at an address of their own. */
export class MetricsFeed {
  readonly #metrics: Metrics;
  readonly #lag = new LoopLag();
  readonly #traffic = new Traffic();
  readonly #own: (HttpServer | HttpsServer)[] = [];
  readonly #isClosed: () => boolean;

  /**
   * @param stats counts of this moment
   * @param isClosed whether it is too late to listen
   */
  constructor(
    metrics: Metrics,
    stats: () => SmcpServerStats,
    isClosed: () => boolean,
  ) {
    this.#metrics = metrics;
    this.#isClosed = isClosed;
    metrics.observe({
      stats,
      bytes: () => this.#traffic.read(),
      loopLag: () => this.#lag.read(),
    });
  }

  /**
   * Counts the bytes of a server from now on.
   *
   * @returns stops that
   */
  watch(server: HttpServer | HttpsServer): () => void {
    return this.#traffic.watch(server);
  }

  /**
   * Serves `/metrics` alone, to whoever reaches the address.
   *
   * @param guard lets no request pass that is not for this server
   * @param sockets has the places of connections
   */
  async listen(
    to: ListenOptions,
    { guard, sockets }: { guard: MiddlewareHandler; sockets: SocketPlaces },
  ): Promise<ListenAddress> {
    const app = new Hono();
    app.get(
      "/metrics",
      guard,
      async (c) =>
        c.body(await this.#metrics.text(), 200, {
          "Content-Type": this.#metrics.contentType,
        }),
    );
    app.notFound(() => toResponse(notFound()));
    const server = newServer(
      getRequestListener(app.fetch, {
        overrideGlobalObjects: false,
        errorHandler: () => toResponse(invalidRequest()),
      }),
      { tls: to.tls, headerTimeout: HEADER_TIMEOUT_SECONDS },
    );
    sockets.guard(server);
    const address = await listenUnless(this.#isClosed, server, to);
    this.#own.push(server);
    return address;
  }

  /** Stops everything. */
  async close(): Promise<void> {
    this.#lag.stop();
    await Promise.all(this.#own.map(closeServer));
  }
}
