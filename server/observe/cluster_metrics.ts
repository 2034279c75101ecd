import type {
  ClusterFigures,
  ClusterSource,
  ClusterStatus,
} from "../shared/cluster.ts";
import {
  type Family,
  newGauge,
  newHistogram,
  type Sample,
} from "./exposition.ts";

/** In seconds: Redis answers within a second, after lost data within seven. */
const CLAIM_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 7];

/** Values of now. */
const GAUGES: readonly (readonly [
  name: string,
  help: string,
  read: (status: ClusterStatus, figures: ClusterFigures) => number,
])[] = [
  ["nodes", "Nodes of the cluster, with this one.", ({ nodes }) => nodes],
  [
    "lease_seconds",
    "Time until this node stops serving, if Redis does not answer.",
    ({ leaseMs }) => leaseMs / 1000,
  ],
  [
    "redis_up",
    "1 where Redis answers, else 0.",
    ({ redis }) => redis === "connected" ? 1 : 0,
  ],
  ["homes", "Offices whose home is this node.", (_, { homes }) => homes],
  [
    "calls_open",
    "Calls that wait for an answer of another node.",
    (_, { callsOpen }) => callsOpen,
  ],
  [
    "queue_bytes",
    "Bytes that wait for other nodes.",
    (_, { queuedBytes }) => queuedBytes,
  ],
];

/** Counts since the start: each with one label and its values, or without. */
const COUNTERS: readonly (readonly [
  name: string,
  help: string,
  label: string | undefined,
  values: Readonly<Partial<Record<keyof ClusterFigures, string>>>,
])[] = [
  ["calls_total", "Calls between nodes, by direction.", "direction", {
    callsOut: "sent",
    callsIn: "received",
  }],
  ["messages_total", "Messages between nodes, by direction.", "direction", {
    messagesOut: "sent",
    messagesIn: "received",
  }],
  ["bytes_total", "Bytes of messages between nodes.", "direction", {
    bytesOut: "sent",
    bytesIn: "received",
  }],
  ["messages_refused_total", "Messages that were not sent.", "reason", {
    messagesFull: "queue full",
    messagesAway: "away",
  }],
  count("links_lost_total", "How often messages may be lost.", "linksLost"),
  count("nodes_silent_total", "How often a node was silent.", "nodesSilent"),
  count("nodes_gone_total", "Nodes that ended without leaving.", "nodesGone"),
  count("homes_lost_total", "Homes that other nodes had.", "homesLost"),
  count("beats_failed_total", "Beats without an answer.", "beatsFailed"),
  count("data_lost_total", "How often Redis had lost its data.", "dataLost"),
  count("fences_total", "How often this node was fenced.", "fences"),
  count(
    "misrouted_total",
    "Requests of sessions of other nodes: the balancer is not sticky.",
    "misrouted",
  ),
];

/** Returns the metrics of a node of a cluster. */
export function clusterFamilies(source: ClusterSource): Family[] {
  const claims = newHistogram(
    "smcp_cluster_claim_duration_seconds",
    "Time of claims of homes in Redis, by outcome.",
    CLAIM_BUCKETS,
  );
  source.onClaim((outcome, durationMs) =>
    claims.add({ outcome }, durationMs / 1000)
  );
  const gauges = GAUGES.map(([name, help, read]) =>
    newGauge(
      `smcp_cluster_${name}`,
      help,
      () => read(source.status(), source.figures()),
    )
  );
  const counters = COUNTERS.map(([name, help, label, values]): Family => ({
    name: `smcp_cluster_${name}`,
    help,
    type: "counter",
    samples() {
      const figures = source.figures();
      return Object.entries(values).map(([figure, value]): Sample => [
        label === undefined ? {} : { [label]: value },
        figures[figure as keyof ClusterFigures],
      ]);
    },
  }));
  return [...gauges, ...counters, claims];
}

/** A counter without labels. */
function count(name: string, help: string, figure: keyof ClusterFigures) {
  return [name, help, undefined, { [figure]: "" }] as const;
}
