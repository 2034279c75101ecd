import type { Limits } from "../limits/limits.ts";
import type { CallEnd } from "../shared/audit.ts";
import type { ClusterSource } from "../shared/cluster.ts";

/** The values that a server provides when its metrics are read. */
export interface MetricsSource {
  /** Returns current counts. */
  stats(): SmcpServerStats;
  /** The node that the server is in a cluster; absent where it is in none. */
  readonly cluster?: ClusterSource;
  /** Returns the bytes on the wire so far. */
  bytes(): { readonly received: number; readonly sent: number };
  /** Returns the longest event loop delay in milliseconds since the last call. */
  loopLagMs(): number;
}

/** The stage at which a client was refused. */
export type RefusalStage =
  /** At the HTTP request: version, origin, shutdown, connections per address, or by Engine.IO. */
  | "http"
  /** At the namespace: credentials, the `auth` object, or an unknown namespace. */
  | "namespace";

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
