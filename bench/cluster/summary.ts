import { type CallsRun, cpuOf } from "../calls.ts";
import { ratioOf, throughputOf } from "../calls_summary.ts";
import type { IdleMeasured, Used } from "../generator.ts";
import { median, spreadOf } from "../statistics.ts";
import type {
  BalancedCompared,
  ClusterIdleRow,
  ClusterRow,
  SizeCompared,
} from "./result.ts";

/** Names of processes that are no Servers. */
const REDIS = "redis";
const BALANCER = "balancer";

/** Summarizes runs, in the order of the first occurrence of loads and arrangements. */
export function summarizeCluster(runs: readonly CallsRun[]): ClusterRow[] {
  const rows = Map.groupBy(runs, (run) => `${run.key} ${run.contestant}`);
  return [...rows.values()].flatMap((mine) => {
    const [first] = mine;
    if (first === undefined) return [];
    const mid = (read: (run: CallsRun) => number) => median(mine.map(read));
    const cpuPerCall = (process: string) =>
      first.processes[process] &&
      mid((run) => cpuSecondsOf(run, process) / run.calls * 1e6);
    const [redisCpu, balancerCpu] = [REDIS, BALANCER].map(cpuPerCall);
    return [{
      key: first.key,
      setting: first.contestant,
      cpu: mid(cpuOf),
      nodesCpu: mid((run) => nodesOf(run) / run.calls * 1e6),
      ...(redisCpu !== undefined && { redisCpu }),
      ...(balancerCpu !== undefined && { balancerCpu }),
      callsPerSecond: mid(throughputOf),
      p50: mid((run) => run.p50),
      p99: mid((run) => run.p99),
      generatorShare: mid((run) => run.generatorCpuSeconds / run.seconds),
      othersShare: mid((run) => run.othersCpuSeconds / run.seconds),
    }];
  });
}

/** Compares arrangements at each size, round by round. */
export function compareSizes(runs: readonly CallsRun[]): SizeCompared[] {
  return [...new Set(runs.map(({ key }) => key))].map((key) => {
    const other = ratioOf(runs, key, ["other", "same"], cpuOf);
    const within = ratioOf(runs, key, ["same", "alone"], cpuOf);
    return { key, ...(other && { other }), ...(within && { within }) };
  });
}

/** Compares arrangements on one machine with one process, round by round. */
export function compareBalanced(runs: readonly CallsRun[]): BalancedCompared[] {
  const pairs = new Map(runs.map((run) => [run.contestant, run.key]));
  return [...pairs].filter(([setting]) => setting !== "alone")
    .map(([setting, key]) => {
      const compare = (read: (run: CallsRun) => number) =>
        ratioOf(runs, key, [setting, "alone"], read);
      const throughput = compare(throughputOf);
      const cpu = compare(cpuOf);
      return {
        setting,
        ...(throughput && { throughput }),
        ...(cpu && { cpu }),
      };
    });
}

/** Returns the milliseconds that another node adds to the median call, of rounds that have both. */
export function addedMs(runs: readonly CallsRun[]) {
  const added = runs.filter(({ contestant }) => contestant === "other")
    .flatMap((run) => {
      const same = runs.find(({ contestant, round }) =>
        contestant === "same" && round === run.round
      );
      return same === undefined ? [] : [(run.p50 - same.p50) / 1000];
    });
  return added.length === 0 ? undefined : spreadOf(added);
}

/** One run of one arrangement with idle members. */
export interface ClusterIdleRun extends IdleMeasured {
  readonly setting: string;
}

/** Summarizes what idle members cost. */
export function summarizeClusterIdle(
  runs: readonly ClusterIdleRun[],
): ClusterIdleRow[] {
  return [...Map.groupBy(runs, ({ setting }) => setting)].flatMap(
    ([setting, mine]) => {
      const rows = mine.flatMap(({ steps, watched }) => {
        const step = steps.at(-1);
        return step && watched ? [{ step, watched }] : [];
      });
      const [first] = rows;
      if (first === undefined) return [];
      const mid = (read: (row: typeof rows[number]) => number) =>
        median(rows.map(read));
      const { members } = first.step;
      return [{
        setting,
        members,
        joinsPerSecond: mid(({ step }) => step.joined / step.seconds),
        cpuPerJoin: mid(({ step }) =>
          step.serverCpuSeconds / step.joined * 1e6
        ),
        bytesPerMember: mid(({ step }) =>
          (step.bytes - step.bytesBefore) / (members - 2)
        ),
        nodesShare: mid(({ watched }) => nodesOf(watched) / watched.seconds),
        othersShare: mid(({ watched }) =>
          watched.othersCpuSeconds / watched.seconds
        ),
        ...(first.watched.processes[REDIS] && {
          redisCpuPerJoin: mid(({ step }) =>
            cpuSecondsOf(step, REDIS) / step.joined * 1e6
          ),
          redisBytes: mid(({ watched }) =>
            watched.processes[REDIS]?.rssBytes ?? 0
          ),
          redisShare: mid(({ watched }) =>
            cpuSecondsOf(watched, REDIS) / watched.seconds
          ),
        }),
      }];
    },
  );
}

const cpuSecondsOf = ({ processes }: Used, process: string): number =>
  processes[process]?.cpuSeconds ?? 0;

/** Returns the CPU seconds of the Servers alone. */
const nodesOf = (used: Used): number =>
  used.serverCpuSeconds - cpuSecondsOf(used, REDIS) -
  cpuSecondsOf(used, BALANCER);
