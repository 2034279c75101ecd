import type { Server as HttpServer } from "node:http";
import type { Server as HttpsServer } from "node:https";
import type { Socket } from "node:net";
import type { RefusalStage } from "../limits/limiter.ts";
import type { Limits } from "../limits/limits.ts";
import type { CallEnd } from "../shared/audit.ts";
import type { ClusterSource } from "../shared/cluster.ts";

/** The values that a server provides when its metrics are read. */
export interface MetricsSource {
  /** Returns current counts. */
  stats(): SmcpServerStats;
  /** Returns the bytes of what is kept of each member, in any order. */
  memberBytes(): readonly number[];
  /** The node that the server is in a cluster; absent where it is in none. */
  readonly cluster?: ClusterSource;
  /** Returns the bytes on the wire so far. */
  bytes(): { readonly received: number; readonly sent: number };
  /** Returns the longest event loop delay in milliseconds since the last call. */
  loopLagMs(): number;
}

/** Collects and renders the metrics of a server; see `createMetrics`. */
export interface Metrics {
  /** Registers the source of the gauges; called once, when the server is created. */
  observe(source: MetricsSource): void;
  /** Counts a client that was refused with this code. */
  handshakeRefused(stage: RefusalStage, code: number): void;
  /** Counts a client that exceeded a limit. */
  limitHit(limit: keyof Limits): void;
  /**
   * Records the answer to an event.
   *
   * @param event its current name, or `unknown`; never a name that a client made up
   * @param end as what it ended, and for `cancelled` and `timeout` by whom; `refused` for a join or a
   * leave that was answered with `false`
   * @param durationMs from its arrival to its answer
   */
  answered(event: string, end: CallEnd, durationMs: number): void;
  /** The content type of {@linkcode Metrics.text}. */
  readonly contentType: string;
  /** Renders all metrics in the Prometheus text format. */
  text(): string | Promise<string>;
}

/** Current counts of a server. */
export interface SmcpServerStats {
  /** Connections to the namespace, members or not. */
  readonly connections: number;
  /** Offices with at least one member. */
  readonly offices: number;
  /** Agents and Computers in offices. */
  readonly members: number;
}

/** Milliseconds between two checks of the clock. */
const CHECK_INTERVAL_MS = 250;

/**
 * Measures how late timers fire: the delay that a busy event loop adds to everything.
 *
 * The runtime's own histogram (`monitorEventLoopDelay`) is wrong on Deno.
 */
export class LoopLag {
  readonly #timer: ReturnType<typeof setInterval>;
  #expected = performance.now() + CHECK_INTERVAL_MS;
  #worst = 0;

  /** Starts measuring, until it is stopped. */
  constructor() {
    this.#timer = setInterval(() => {
      this.#worst = Math.max(this.#worst, performance.now() - this.#expected);
      this.#expected = performance.now() + CHECK_INTERVAL_MS;
    }, CHECK_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Returns the longest delay in milliseconds since the last call. */
  read(): number {
    // The current check may be late already.
    const now = performance.now() - this.#expected;
    const worst = Math.max(this.#worst, now, 0);
    this.#worst = 0;
    return worst;
  }

  /** Stops measuring. */
  stop(): void {
    clearInterval(this.#timer);
  }
}

/**
 * Counts the bytes on the wire of all connections of HTTP servers.
 *
 * The runtime counts them per socket: they are added up only when read, at no other cost.
 */
export class Traffic {
  readonly #open = new Set<Socket>();
  #received = 0;
  #sent = 0;

  /**
   * Counts a server's connections from now on.
   *
   * @returns a function that stops it; open connections still count
   */
  watch(server: HttpServer | HttpsServer): () => void {
    const opened = (socket: Socket) => {
      this.#open.add(socket);
      socket.on("close", () => {
        this.#open.delete(socket);
        this.#received += socket.bytesRead;
        this.#sent += socket.bytesWritten;
      });
    };
    server.on("connection", opened);
    return () => server.off("connection", opened);
  }

  /** Returns all bytes so far. */
  read(): ReturnType<MetricsSource["bytes"]> {
    let received = this.#received;
    let sent = this.#sent;
    for (const socket of this.#open) {
      received += socket.bytesRead;
      sent += socket.bytesWritten;
    }
    return { received, sent };
  }
}
