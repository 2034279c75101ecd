/**
 * The metrics of a server for Prometheus: which there are, and below them families of metrics and their
 * text in the exposition format (version 0.0.4).
 *
 * A family is a name, a help text, a type and the samples that it has when it is read. Gauges and
 * counts that other parts keep are read from there; what only metrics need is kept in
 * {@linkcode newCounter} and {@linkcode newHistogram}, a number for each combination of labels.
 *
 * @module
 */
import { memoryUsage } from "node:process";
import type { RefusalStage } from "../limits/limiter.ts";
import { labelOf } from "../limits/limits.ts";
import type { Metrics, MetricsSource, SmcpServerStats } from "./metrics.ts";
import type {
  ClusterFigures,
  ClusterSource,
  ClusterStatus,
} from "../shared/cluster.ts";

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
    404: "not_found",
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
 * Creates the metrics of one server, in the text format of Prometheus.
 *
 * ```ts
 * import { createMetrics, createSmcpServer } from "@a2c-smcp/sdk/server";
 *
 * await using smcp = createSmcpServer({ metrics: createMetrics() });
 * await smcp.listen();
 * const { url } = await smcp.listenMetrics();
 * console.log(await (await fetch(`${url}/metrics`)).text());
 * ```
 */
export function createMetrics(): Metrics {
  const answered = newCounter(
    "smcp_events_total",
    "Events of clients that were answered, by event and outcome; of cancelled and timeout also by whom.",
  );
  const duration = newHistogram(
    "smcp_event_duration_seconds",
    "Time from an event to its answer; of calls to computers, theirs included.",
    DURATION_BUCKETS,
  );
  const refused = newCounter(
    "smcp_handshakes_refused_total",
    "Clients that were refused, by reason.",
  );
  const limited = newCounter(
    "smcp_limits_hit_total",
    "How often a client was over a limit, by limit.",
  );
  const families: Family[] = [answered, duration, refused, limited];

  return {
    observe: (source) => void families.push(...sourceFamilies(source)),
    handshakeRefused: (stage, code) =>
      refused.count({ reason: REFUSAL_REASONS[stage][code] ?? String(code) }),
    limitHit: (limit) => limited.count({ limit: labelOf(limit) }),
    answered: (event, end, durationMs) => {
      answered.count({ event, ...end });
      duration.add({ event }, durationMs / 1000);
    },
    contentType: "text/plain; version=0.0.4; charset=utf-8",
    text: () => textOf(families),
  };
}

/** Returns the metrics whose values a server has when they are read. */
function sourceFamilies(source: MetricsSource): Family[] {
  const count = (name: keyof SmcpServerStats, help: string): Family =>
    newGauge(`smcp_${name}`, help, () => source.stats()[name]);
  return [
    ...(source.cluster ? clusterFamilies(source.cluster) : []),
    count("connections", "Connections of the namespace, members or not."),
    count("offices", "Offices with at least one member."),
    count("members", "Agents and computers in offices."),
    newGauge(
      "smcp_member_bytes",
      "Bytes of what is kept of members: their names, those of their MCP servers and of their calls.",
      () => source.memberBytes().reduce((sum, bytes) => sum + bytes, 0),
    ),
    newGauge(
      "smcp_member_bytes_max",
      "The same of the member of which most is kept.",
      () => source.memberBytes().reduce((a, b) => Math.max(a, b), 0),
    ),
    newGauge(
      "smcp_event_loop_lag_seconds",
      "How late a timer was at worst since the last reading.",
      () => source.loopLagMs() / 1000,
    ),
    newGauge(
      "process_resident_memory_bytes",
      "Resident memory of the process.",
      () => memoryUsage().rss,
    ),
    newGauge(
      "process_heap_bytes",
      "Memory of JavaScript objects.",
      () => memoryUsage().heapUsed,
    ),
    {
      name: "smcp_network_bytes_total",
      help: "Bytes on the wire of the HTTP servers, by direction.",
      type: "counter",
      samples: () =>
        Object.entries(source.bytes()).map(([direction, bytes]): Sample => [
          { direction },
          bytes,
        ]),
    },
  ];
}

/** In seconds: Redis answers within a second, after lost data within seven. */
const CLAIM_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 7];

/** What a node of a cluster has: counts since its start end with `_total`, others are values of now. */
const FIGURES: readonly (readonly [
  name: string,
  help: string,
  figures: Readonly<Partial<Record<keyof ClusterFigures, Labels>>>,
])[] = [
  ["homes", "Offices whose home is this node.", { homes: {} }],
  ["calls_open", "Calls that wait for an answer of another node.", {
    callsOpen: {},
  }],
  ["queue_bytes", "Bytes that wait for other nodes.", { queuedBytes: {} }],
  ["calls_total", "Calls between nodes, by direction.", {
    callsOut: { direction: "sent" },
    callsIn: { direction: "received" },
  }],
  ["messages_total", "Messages between nodes, by direction.", {
    messagesOut: { direction: "sent" },
    messagesIn: { direction: "received" },
  }],
  ["bytes_total", "Bytes of messages between nodes.", {
    bytesOut: { direction: "sent" },
    bytesIn: { direction: "received" },
  }],
  ["messages_refused_total", "Messages that were not sent.", {
    messagesFull: { reason: "queue full" },
    messagesAway: { reason: "away" },
  }],
  ["links_lost_total", "How often messages may be lost.", { linksLost: {} }],
  ["nodes_silent_total", "How often a node was silent.", { nodesSilent: {} }],
  ["nodes_gone_total", "Nodes that ended without leaving.", { nodesGone: {} }],
  ["homes_lost_total", "Homes that other nodes had.", { homesLost: {} }],
  ["beats_failed_total", "Beats without an answer.", { beatsFailed: {} }],
  ["data_lost_total", "How often Redis had lost its data.", { dataLost: {} }],
  ["fences_total", "How often this node was fenced.", { fences: {} }],
  [
    "misrouted_total",
    "Requests of sessions of other nodes: the balancer is not sticky.",
    { misrouted: {} },
  ],
];

/** Returns the metrics of a node of a cluster. */
function clusterFamilies(source: ClusterSource): Family[] {
  const claims = newHistogram(
    "smcp_cluster_claim_duration_seconds",
    "Time of claims of homes in Redis, by outcome.",
    CLAIM_BUCKETS,
  );
  source.onClaim((outcome, durationMs) =>
    claims.add({ outcome }, durationMs / 1000)
  );
  const gauge = (
    name: string,
    help: string,
    read: (status: ClusterStatus) => number,
  ) => newGauge(`smcp_cluster_${name}`, help, () => read(source.status()));
  const figures = FIGURES.map(([name, help, each]): Family => ({
    name: `smcp_cluster_${name}`,
    help,
    type: name.endsWith("_total") ? "counter" : "gauge",
    samples() {
      const figures = source.figures();
      return Object.entries(each).map(([figure, labels]): Sample => [
        labels,
        figures[figure as keyof ClusterFigures],
      ]);
    },
  }));
  return [
    gauge(
      "nodes",
      "Nodes of the cluster, with this one.",
      ({ nodes }) => nodes,
    ),
    gauge(
      "lease_seconds",
      "Time until this node stops serving, if Redis does not answer.",
      ({ leaseMs }) => leaseMs / 1000,
    ),
    gauge(
      "redis_up",
      "1 where Redis answers, else 0.",
      ({ redis }) => redis === "connected" ? 1 : 0,
    ),
    ...figures,
    claims,
  ];
}

/** The labels of a sample: values by name, in the order in which they are written. */
type Labels = Readonly<Record<string, string>>;

/** A value, its labels, and what it appends to the name of its family, such as `_sum`. */
type Sample = readonly [labels: Labels, value: number, suffix?: string];

/** All samples of one name. */
interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** Returns the current samples; called once for each text. */
  samples(): Iterable<Sample>;
}

/** Makes a family of one value, which is read when the text is made. */
export const newGauge = (
  name: string,
  help: string,
  read: () => number,
): Family => ({
  name,
  help,
  type: "gauge",
  samples: () => [[{}, read()]],
});

/** Makes a counter that starts at zero; a combination of labels is shown from its first count on. */
export function newCounter(name: string, help: string) {
  const counts = new Map<string, { readonly labels: Labels; value: number }>();
  return {
    name,
    help,
    type: "counter" as const,
    count(labels: Labels): void {
      keep(counts, labels, () => ({ labels, value: 0 })).value++;
    },
    samples: (): Iterable<Sample> =>
      counts.values().map(({ labels, value }) => [labels, value]),
  };
}

/**
 * Makes a histogram.
 *
 * @param bounds upper bounds of its buckets, rising; one for all other values is added
 */
export function newHistogram(
  name: string,
  help: string,
  bounds: readonly number[],
) {
  const kept = new Map<
    string,
    { readonly labels: Labels; readonly buckets: number[]; sum: number }
  >();
  return {
    name,
    help,
    type: "histogram" as const,
    /** Adds a value, in the unit of the bounds. */
    add(labels: Labels, value: number): void {
      const entry = keep(kept, labels, () => ({
        labels,
        buckets: new Array<number>(bounds.length + 1).fill(0),
        sum: 0,
      }));
      const bucket = bounds.findIndex((bound) => value <= bound);
      const index = bucket < 0 ? bounds.length : bucket;
      entry.buckets[index] = (entry.buckets[index] ?? 0) + 1;
      entry.sum += value;
    },
    *samples(): Iterable<Sample> {
      for (const { labels, buckets, sum } of kept.values()) {
        let count = 0;
        for (const [index, more] of buckets.entries()) {
          count += more;
          const le = numberText(bounds[index] ?? Infinity);
          yield [{ le, ...labels }, count, "_bucket"];
        }
        yield [labels, sum, "_sum"];
        yield [labels, count, "_count"];
      }
    },
  };
}

/** Writes families in the exposition format, each with its help and type. */
export function textOf(families: Iterable<Family>): string {
  const lines: string[] = [];
  for (const family of families) {
    const { name, help, type } = family;
    lines.push(`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`);
    for (const [labels, value, suffix = ""] of family.samples()) {
      lines.push(`${name}${suffix}${labelText(labels)} ${numberText(value)}`);
    }
  }
  return `${lines.join("\n")}\n`;
}

/** Returns the entry of these labels; makes it where there is none. */
function keep<T>(map: Map<string, T>, labels: Labels, make: () => T): T {
  const key = labelText(labels);
  let entry = map.get(key);
  if (entry === undefined) map.set(key, entry = make());
  return entry;
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) =>
    `${name}="${escaped(value).replaceAll('"', '\\"')}"`
  );
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escaped = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

const numberText = (value: number): string =>
  value === Infinity ? "+Inf" : value === -Infinity ? "-Inf" : String(value);
