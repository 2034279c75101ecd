import { loadPackages } from "../../shared/packages.ts";
import { memoryUsage } from "node:process";
import { labelOf } from "../limits/limits.ts";
import { observeCluster } from "./cluster_metrics.ts";
import type { Metrics, MetricsSource, RefusalStage } from "./metrics.ts";
import type { SmcpServerStats } from "./stats.ts";

/** In seconds: from a call within one machine to the longest usual timeout. */
const DURATION_BUCKETS = [
  0.001,
  0.0025,
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  5,
  10,
  30,
  60,
  300,
];

/** The reasons for refusals, by the code sent to the client. */
const REFUSAL_REASONS: Readonly<
  Record<RefusalStage, Readonly<Record<number, string>>>
> = {
  http: {
    // Codes of Engine.IO.
    0: "unknown_transport",
    2: "handshake_method",
    3: "bad_request",
    5: "engine_version",
    400: "invalid_version",
    403: "origin",
    429: "connections_per_address",
    500: "draining",
    4008: "version_mismatch",
  },
  namespace: {
    400: "invalid_request",
    401: "unauthorized",
    500: "authenticator_failed",
  },
};

/**
 * Creates the metrics of one server for Prometheus. Only this call loads `prom-client`.
 *
 * ```ts
 * import { createMetrics, createSmcpServer } from "@a2c-smcp/sdk/server";
 *
 * await using smcp = createSmcpServer({ metrics: await createMetrics() });
 * await smcp.listen();
 * const { url } = await smcp.listenMetrics();
 * console.log(await (await fetch(`${url}/metrics`)).text());
 * ```
 */
export async function createMetrics(): Promise<Metrics> {
  const library = await loadPackages(
    "make metrics",
    ["prom-client"],
    () => import("prom-client"),
  );
  const { Counter, Gauge, Histogram, Registry } = library;
  const registry = new Registry();
  const registers = [registry];
  const answered = new Counter({
    name: "smcp_events_total",
    help: "Events of clients that were answered, by event and outcome.",
    labelNames: ["event", "outcome", "protocol"],
    registers,
  });
  const duration = new Histogram({
    name: "smcp_event_duration_seconds",
    help:
      "Time from an event to its answer; of calls to computers, theirs included.",
    labelNames: ["event", "protocol"],
    buckets: DURATION_BUCKETS,
    registers,
  });
  const refused = new Counter({
    name: "smcp_handshakes_refused_total",
    help: "Clients that were refused, by reason.",
    labelNames: ["reason"],
    registers,
  });
  const limited = new Counter({
    name: "smcp_limits_hit_total",
    help: "How often a client was over a limit, by limit.",
    labelNames: ["limit"],
    registers,
  });

  const observe = (source: MetricsSource) => {
    if (source.cluster) observeCluster(library, registry, source.cluster);
    const gauge = (name: string, help: string, read: () => number) =>
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read());
        },
      });
    const count = (name: keyof SmcpServerStats, help: string) =>
      new Gauge({
        name: `smcp_${name}`,
        help,
        labelNames: ["protocol"],
        registers,
        collect() {
          const counts = source.statsByProtocol?.();
          if (counts === undefined) return this.set(source.stats()[name]);
          for (const [protocol, stats] of Object.entries(counts)) {
            this.set({ protocol }, stats[name]);
          }
        },
      });
    count("connections", "Connections of the namespace, members or not.");
    count("offices", "Offices with at least one member.");
    count("members", "Agents and computers in offices.");
    gauge(
      "smcp_event_loop_lag_seconds",
      "How late a timer was at worst since the last reading.",
      () => source.loopLagMs() / 1000,
    );
    gauge(
      "process_resident_memory_bytes",
      "Resident memory of the process.",
      () => memoryUsage().rss,
    );
    gauge(
      "process_heap_bytes",
      "Memory of JavaScript objects.",
      () => memoryUsage().heapUsed,
    );
    new Counter({
      name: "smcp_network_bytes_total",
      help: "Bytes on the wire of the HTTP servers, by direction.",
      labelNames: ["direction"],
      registers,
      collect() {
        const { received, sent } = source.bytes();
        this.reset();
        this.inc({ direction: "received" }, received);
        this.inc({ direction: "sent" }, sent);
      },
    });
  };

  return {
    observe,
    handshakeRefused: (stage, code) =>
      refused.inc({ reason: REFUSAL_REASONS[stage][code] ?? String(code) }),
    limitHit: (limit) => limited.inc({ limit: labelOf(limit) }),
    answered: (event, outcome, durationMs, protocol) => {
      // Left out, not empty: a server of one version has no such label.
      const version = protocol === undefined ? undefined : { protocol };
      answered.inc({ event, outcome, ...version });
      duration.observe({ event, ...version }, durationMs / 1000);
    },
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}
