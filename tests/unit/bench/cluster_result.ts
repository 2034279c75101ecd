import type {
  ClusterResult,
  ClusterRow,
} from "../../../bench/cluster/result.ts";

const row = (key: string, setting: string, cpu: number): ClusterRow => ({
  key,
  setting,
  cpu,
  nodesCpu: cpu - 5,
  callsPerSecond: 1e6 / cpu,
  p50: 1000,
  p99: 2000,
  generatorShare: 0.5,
  othersShare: 2,
  ...(setting !== "alone" && { redisCpu: 5 }),
});

const spread = (mid: number) => ({ low: mid, mid, high: mid });

/** Results of the benchmark of clusters, for tests. */
export const clusterResult: ClusterResult = {
  sizes: [
    row("100", "alone", 40),
    row("100", "same", 42),
    row("100", "other", 84),
    row("10k", "other", 200),
  ],
  compared: [
    { key: "100", other: spread(2.2), within: spread(1.1) },
    { key: "10k", other: spread(2.21) },
    { key: "1m", other: spread(3) },
  ],
  paced: {
    rate: 400,
    pairs: 20,
    rows: [row("400", "same", 100), row("400", "other", 300)],
    addedMs: spread(1.01),
    cpu: spread(3),
  },
  balanced: {
    rows: [row("100", "alone", 40), row("100", "balanced", 90)],
    compared: [{ setting: "balanced", throughput: spread(1.5) }],
  },
  idle: [{
    setting: "spread",
    members: 10_000,
    joinsPerSecond: 1000,
    cpuPerJoin: 900,
    redisCpuPerJoin: 60,
    bytesPerMember: 40_000,
    redisBytes: 2 ** 24,
    nodesShare: 0.1,
    redisShare: 0.01,
    othersShare: 2,
  }],
  programs: { Redis: "7", HAProxy: "2" },
};
