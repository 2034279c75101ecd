import { type CallsRun, cpuOf } from "./calls.ts";
import { apart, median, type Spread, spreadOf } from "./statistics.ts";

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
  /** CPU relative to this package's in the same round; absent without it. */
  readonly oursRatio?: Spread;
  /** How far the floor's CPU per call was apart under this load; absent without a floor. */
  readonly floorSpread?: number;
  /** The load's first seconds in a new process; absent if it had none. */
  readonly first?: FirstSeconds;
  readonly rssBytes: number;
  readonly peakRssBytes: number;
  /** Share of one core used by the load generator. */
  readonly generatorShare: number;
  /** Share of one core used by everything else on the machine. */
  readonly othersShare: number;
}

/** What calls cost before a new process is warm. */
export interface FirstSeconds {
  readonly cpu: number;
  readonly cpuRatio?: Spread;
  readonly p50: number;
  readonly p99: number;
}

/** The bare relay with which the others are compared. */
export const FLOOR = "floor";

/** This package's Server. */
export const OURS = "ours";

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
    const oursRatio = ratioOf(runs, key, [contestant, OURS], cpuOf);
    const floors = runs.filter((run) =>
      run.key === key && run.contestant === FLOOR
    );
    const early = firstSeconds(runs, key, contestant);
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
      ...(oursRatio && { oursRatio }),
      ...(floors.length > 0 && { floorSpread: apart(floors.map(cpuOf)) }),
      ...(early && { first: early }),
      rssBytes: mid((run) => run.rssBytes),
      peakRssBytes: mid((run) => run.peakRssBytes),
      generatorShare: mid((run) => run.generatorCpuSeconds / run.seconds),
      othersShare: mid((run) => run.othersCpuSeconds / run.seconds),
    }];
  });
}

function firstSeconds(
  runs: readonly CallsRun[],
  key: string,
  contestant: string,
): FirstSeconds | undefined {
  const firsts = runs.flatMap(({ first, key, contestant, round }) =>
    first ? [{ ...first, key, contestant, round }] : []
  );
  const mine = firsts.filter((run) =>
    run.key === key && run.contestant === contestant
  );
  if (mine.length === 0) return undefined;
  const cpuRatio = ratioOf(firsts, key, [contestant, FLOOR], cpuOf);
  return {
    cpu: median(mine.map(cpuOf)),
    ...(cpuRatio && { cpuRatio }),
    p50: median(mine.map(({ p50 }) => p50)),
    p99: median(mine.map(({ p99 }) => p99)),
  };
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
