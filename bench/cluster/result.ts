import type { Spread } from "../statistics.ts";

/** What Servers that share their offices cost. */
export interface ClusterResult {
  /** Calls as fast as answers come, by size of the answer, in the order of the plan. */
  readonly sizes: readonly ClusterRow[];
  /** How these compare in each round, by size. */
  readonly compared: readonly SizeCompared[];
  /** Calls at a given rate. */
  readonly paced: {
    readonly rate: number;
    readonly pairs: number;
    readonly rows: readonly ClusterRow[];
    /** Milliseconds that another node adds to the median call; absent without figures. */
    readonly addedMs?: Spread;
    /** The ratio of CPU per call to that inside one Server; absent without figures. */
    readonly cpu?: Spread;
  };
  /** Several Servers of one machine beside one. */
  readonly balanced: {
    readonly rows: readonly ClusterRow[];
    /** Beside one process, in each round. */
    readonly compared: readonly BalancedCompared[];
  };
  readonly idle: readonly ClusterIdleRow[];
  /** Versions of Redis, and of the balancer if there was one, by name. */
  readonly programs: Readonly<Record<string, string>>;
}

/** One arrangement under one load: medians over the rounds. */
export interface ClusterRow {
  /** Identifies the load. */
  readonly key: string;
  /** One of the arrangements. */
  readonly setting: string;
  /** Microseconds of CPU per call of all processes together. */
  readonly cpu: number;
  /** Those of the Servers alone. */
  readonly nodesCpu: number;
  /** Those of Redis; absent without one. */
  readonly redisCpu?: number;
  /** Those of the balancer; absent without one. */
  readonly balancerCpu?: number;
  readonly callsPerSecond: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Share of one core used by the load generator. */
  readonly generatorShare: number;
  /** Cores that everything else on the machine used meanwhile. */
  readonly othersShare: number;
}

/** Ratios of CPU per call at one size, all processes together. */
export interface SizeCompared {
  readonly key: string;
  /** To a Computer at another Server / at the same one. */
  readonly other?: Spread;
  /** At one Server with the cluster / without it. */
  readonly within?: Spread;
}

/** An arrangement on one machine beside one process. */
export interface BalancedCompared {
  readonly setting: string;
  /** Ratio of calls per second. */
  readonly throughput?: Spread;
  /** Ratio of CPU per call, all processes together. */
  readonly cpu?: Spread;
}

/** Members that join and then do nothing: medians over the rounds. */
export interface ClusterIdleRow {
  readonly setting: string;
  readonly members: number;
  readonly joinsPerSecond: number;
  /** Microseconds of CPU per join of all processes together. */
  readonly cpuPerJoin: number;
  /** Those of Redis; absent without one. */
  readonly redisCpuPerJoin?: number;
  /** Memory of all processes beyond that with two members, per further member. */
  readonly bytesPerMember: number;
  /** Memory of Redis at the end; absent without one. */
  readonly redisBytes?: number;
  /** Share of one core that the Servers use while nobody does anything. */
  readonly nodesShare: number;
  /** That of Redis; absent without one. */
  readonly redisShare?: number;
  readonly othersShare: number;
}
