import type { LimitName } from "../limits/limits.ts";
import type { SmcpServerStats } from "./stats.ts";
import type { Bytes } from "./traffic.ts";

/** What a server is asked for when its metrics are read. */
export interface MetricsSource {
  /** Counts of this moment. */
  stats(): SmcpServerStats;
  /** Bytes on the wire so far. */
  bytes(): Bytes;
  /** Seconds that the event loop was late at worst since this was last asked. */
  loopLag(): number;
}

/** Where a client was refused, and why. */
export type RefusalStage =
  /** At the HTTP request: version, origin, shutdown, connections of its address, what Engine.IO refuses. */
  | "http"
  /** At the namespace: its credentials, its `auth` object, or another namespace. */
  | "namespace";

/** What the server tells its metrics, and what reads them; see `createMetrics`. */
export interface Metrics {
  /** Where gauges come from; called once, when the server is made. */
  observe(source: MetricsSource): void;
  /** A client was refused with this code. */
  handshakeRefused(stage: RefusalStage, code: number): void;
  /** A client was over a limit. */
  limitHit(limit: LimitName): void;
  /**
   * An event was answered.
   *
   * @param event its name of today, or `unknown`: never what a client made up
   * @param outcome `ok`, `tool error`, `cancelled`, `agent gone`, `refused`, or `error` and a code
   * @param seconds since it came
   */
  answered(event: string, outcome: string, seconds: number): void;
  /** The content type of {@linkcode Metrics.text}. */
  readonly contentType: string;
  /** All metrics of this moment, in the text format of Prometheus. */
  text(): Promise<string>;
}
