import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import { Hono, type MiddlewareHandler } from "hono";
import { notFound, toResponse } from "../shared/http.ts";
import type { SocketGate } from "./socket_gate.ts";
import {
  closeServer,
  type ListenAddress,
  type ListenOptions,
  listenUnless,
  newServer,
} from "./listen.ts";
import {
  LoopLag,
  type Metrics,
  type MetricsSource,
  Traffic,
} from "../observe/metrics.ts";

/** Time limit for the headers of a request for metrics. */
const HEADER_TIMEOUT_MS = 10_000;

/** Provides the gauges of a server to its metrics, and serves them on separate addresses. */
export class MetricsFeed {
  readonly #metrics: Metrics;
  readonly #lag = new LoopLag();
  readonly #traffic = new Traffic();
  readonly #own: (HttpServer | HttpsServer)[] = [];
  readonly #isClosed: () => boolean;

  /**
   * @param counts returns current counts, also of each version where there are several
   * @param isClosed returns whether the server is shutting down
   */
  constructor(
    metrics: Metrics,
    counts: Pick<MetricsSource, "stats" | "cluster">,
    isClosed: () => boolean,
  ) {
    this.#metrics = metrics;
    this.#isClosed = isClosed;
    metrics.observe({
      ...counts,
      bytes: () => this.#traffic.read(),
      loopLagMs: () => this.#lag.read(),
    });
  }

  /**
   * Counts the bytes of a server from now on.
   *
   * @returns a function that stops it
   */
  watch(server: HttpServer | HttpsServer): () => void {
    return this.#traffic.watch(server);
  }

  /**
   * Serves `/metrics` on a separate address, without authentication.
   *
   * @param guard refuses requests for other hosts
   * @param sockets limits TCP connections
   */
  async listen(
    to: ListenOptions,
    { guard, sockets }: { guard: MiddlewareHandler; sockets: SocketGate },
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
    const server = newServer(app, {
      tls: to.tls,
      headerTimeoutMs: HEADER_TIMEOUT_MS,
    });
    sockets.guard(server);
    const address = await listenUnless(this.#isClosed, server, to);
    this.#own.push(server);
    return address;
  }

  /** Stops measuring, and closes the started servers. */
  async close(): Promise<void> {
    this.#lag.stop();
    await Promise.all(this.#own.map(closeServer));
  }
}
