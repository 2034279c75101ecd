import { type CallsRun, cpuOf } from "./calls.ts";
import { median, type Spread, spreadOf } from "./statistics.ts";

/** The results of one contestant under one load: medians over the rounds. */
export interface CallsRow {
  readonly key: string;
  readonly contestant: string;
  /** Microseconds of the server's CPU per call. */
  readonly cpu: number;
  /** CPU relative to the floor's in the same round; absent without a floor. */
  readonly cpuRatio?: Spread;
  readonly callsPerSecond: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  /** p99 relative to the floor's in the same round; absent without a floor. */
  readonly p99Ratio?: Spread;
  readonly rssBytes: number;
  readonly peakRssBytes: number;
  /** Share of one core used by the load generator. */
  readonly generatorShare: number;
  /** Share of one core used by everything else on the machine. */
  readonly othersShare: number;
}

/** The bare relay with which the others are compared. */
export const FLOOR = "floor";

/** Summarizes runs, in the order of the first occurrence of loads and contestants. */
export function summarize(runs: readonly CallsRun[]): CallsRow[] {
  const rows = Map.groupBy(runs, (run) => `${run.key} ${run.contestant}`);
  return [...rows.values()].flatMap((mine) => {
    const [first] = mine;
    if (first === undefined) return [];
    const { key, contestant } = first;
    const mid = (read: (run: CallsRun) => number) => median(mine.map(read));
    const cpuRatio = ratioOf(runs, key, [contestant, FLOOR], cpuOf);
    const p99Ratio = ratioOf(runs, key, [contestant, FLOOR], (run) => run.p99);
    return [{
      key,
      contestant,
      cpu: mid(cpuOf),
      ...(cpuRatio && { cpuRatio }),
      callsPerSecond: mid(throughputOf),
      p50: mid((run) => run.p50),
      p90: mid((run) => run.p90),
      p99: mid((run) => run.p99),
      p999: mid((run) => run.p999),
      ...(p99Ratio && { p99Ratio }),
      rssBytes: mid((run) => run.rssBytes),
      peakRssBytes: mid((run) => run.peakRssBytes),
      generatorShare: mid((run) => run.generatorCpuSeconds / run.seconds),
      othersShare: mid((run) => run.othersCpuSeconds / run.seconds),
    }];
  });
}

/** Calls per second. */
export const throughputOf = ({ calls, seconds }: CallsRun): number =>
  calls / seconds;

/**
 * Compares two contestants under one load, round by round: a disturbance of the machine that lasts
 * longer than a round affects both.
 *
 * @returns `undefined` when they have no round in common
 */
export function ratioOf(
  runs: readonly CallsRun[],
  key: string,
  [contestant, base]: readonly [contestant: string, base: string],
  read: (run: CallsRun) => number,
): Spread | undefined {
  const of = (name: string) =>
    runs.filter((run) => run.key === key && run.contestant === name);
  const ratios = of(contestant).flatMap((run) => {
    const other = of(base).find(({ round }) => round === run.round);
    return other === undefined ? [] : [read(run) / read(other)];
  });
  return ratios.length === 0 ? undefined : spreadOf(ratios);
}
