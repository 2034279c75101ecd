/** Calls through servers in turn: measuring them, and what the rounds come to. */
import type { CallsMeasured, Load } from "./generator.ts";
import {
  apart,
  median,
  ratios,
  type Spread,
  spreadOf,
  spreadText,
} from "./statistics.ts";
import { attempt, type Tools } from "./tools.ts";

/** The bare relay with which the others are compared. */
export const FLOOR = "floor";

/** This package's Server. */
export const OURS = "ours";

/** The same load for several servers that are compared. */
export interface Group {
  /** The answer's name and the shape: "10k 50x4". */
  readonly key: string;
  readonly load: Load;
  readonly contestants: readonly string[];
  /** The server with which each is compared; by default the floor. */
  readonly bases?: Readonly<Record<string, string>>;
}

/** One run of one contestant. */
export interface CallsRun extends CallsMeasured {
  readonly key: string;
  readonly contestant: string;
  /** Its runs followed each other directly. */
  readonly round: number;
}

/** The results of one contestant under one load: medians over the rounds. */
export interface CallsRow {
  readonly key: string;
  readonly contestant: string;
  /** Microseconds of CPU per call of all processes of the server. */
  readonly cpu: number;
  /** CPU relative to that of its base in the same round; absent without a base. */
  readonly cpuRatio?: Spread;
  /** Those of Redis; absent without one. */
  readonly redisCpu?: number;
  readonly callsPerSecond: number;
  /** Microseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The range over the median of the floor's CPU per call under this load; absent without a floor. */
  readonly floorSpread?: number;
  /** The load's first seconds in a new process; absent if it had none. */
  readonly first?: { readonly cpu: number; readonly cpuRatio?: Spread };
}

/** Microseconds of CPU per call. */
const cpuOf = ({ serverCpuSeconds, calls }: CallsMeasured): number =>
  serverCpuSeconds / calls * 1e6;

/**
 * Measures calls: of each group, one contestant after another, round by round and in turned order, each
 * run with new processes. Skips contestants that this machine cannot run.
 */
export async function measureCalls(
  groups: readonly Group[],
  rounds: number,
  tools: Tools,
): Promise<CallsRun[]> {
  const runs: CallsRun[] = [];
  for (const { key, load, contestants } of groups) {
    for (let round = 0; round < rounds; round++) {
      const turn = round % 2 === 0 ? contestants : contestants.toReversed();
      for (const contestant of turn) {
        await attempt(`${key}, ${contestant}`, tools, async () => {
          await using server = await tools.field.start(contestant);
          if (server === undefined) return;
          const measured = await tools.generator.run(server, load);
          const run = { key, contestant, round, ...measured };
          tools.tell(lineOf(run, rounds));
          runs.push(run);
        });
      }
    }
  }
  return runs;
}

const lineOf = (run: CallsRun, rounds: number): string => {
  const [generator, others] = [run.generatorCpuSeconds, run.othersCpuSeconds]
    .map((seconds) => (100 * seconds / run.seconds).toFixed(0));
  return `${run.key}, round ${run.round + 1} of ${rounds}, ${run.contestant}: ${
    cpuOf(run).toFixed(1)
  } µs CPU a call; generator busy ${generator} %, others ${others} %`;
};

/** Times that a disturbed load is measured again. */
const REPETITIONS = 2;

/** Measures groups, and those that other work disturbed again, a few times at most. */
export async function measureRows(
  groups: readonly Group[],
  rounds: number,
  tools: Tools,
): Promise<CallsRow[]> {
  const all: CallsRow[] = [];
  for (const group of groups) {
    let rows: CallsRow[] = [];
    for (let again = 0; again <= REPETITIONS; again++) {
      const runs = await measureCalls([group], rounds, tools);
      rows = summarize(runs, group.bases);
      if (!rows.some(isDisturbed)) break;
      tools.tell(`${group.key}: disturbed`);
    }
    all.push(...rows);
  }
  return all;
}

/** Summarizes runs, in the order of the first occurrence of loads and contestants. */
export function summarize(
  runs: readonly CallsRun[],
  bases: Group["bases"] = {},
): CallsRow[] {
  const rows = Map.groupBy(runs, (run) => `${run.key} ${run.contestant}`);
  return [...rows.values()].flatMap((mine) => {
    const [first] = mine;
    if (first === undefined) return [];
    const { key, contestant } = first;
    const mid = (read: (run: CallsRun) => number) => median(mine.map(read));
    const load = runs.filter((run) => run.key === key);
    const pair = [contestant, bases[contestant] ?? FLOOR] as const;
    const cpuRatio = spreadOr(ratiosOf(load, pair));
    const floors = load.filter((run) => run.contestant === FLOOR);
    const early = firstSeconds(load, pair);
    return [{
      key,
      contestant,
      cpu: mid(cpuOf),
      ...(cpuRatio && { cpuRatio }),
      ...(first.cpuSeconds.redis !== undefined && {
        redisCpu: mid((run) => (run.cpuSeconds.redis ?? 0) / run.calls * 1e6),
      }),
      callsPerSecond: mid((run) => run.calls / run.seconds),
      p50: mid((run) => run.p50),
      p99: mid((run) => run.p99),
      ...(floors.length > 0 && { floorSpread: apart(floors.map(cpuOf)) }),
      ...(early && { first: early }),
    }];
  });
}

function firstSeconds(
  runs: readonly CallsRun[],
  pair: readonly [contestant: string, base: string],
): CallsRow["first"] {
  const firsts = runs.flatMap(({ key, contestant, round, first }) =>
    first ? [{ ...first, key, contestant, round }] : []
  );
  const mine = firsts.filter(({ contestant }) => contestant === pair[0]);
  if (mine.length === 0) return undefined;
  const cpuRatio = spreadOr(ratiosOf(firsts, pair));
  return { cpu: median(mine.map(cpuOf)), ...(cpuRatio && { cpuRatio }) };
}

/**
 * Compares the CPU of two contestants under one load, round by round: a disturbance of the machine that
 * lasts longer than a round affects both.
 */
export function ratiosOf(
  runs: readonly CallsRun[],
  [contestant, base]: readonly [contestant: string, base: string],
): number[] {
  const both = Map.groupBy(runs, ({ round }) => round);
  return [...both.values()].flatMap((round) => {
    const [own, other] = [contestant, base].map((name) =>
      round.filter((run) => run.contestant === name).map(cpuOf)
    );
    return ratios(own ?? [], other ?? []);
  });
}

const spreadOr = (values: readonly number[]): Spread | undefined =>
  values.length === 0 ? undefined : spreadOf(values);

/**
 * The most by which the floor's rounds may be apart, range over median: it does the same in every round,
 * so that beyond it other work disturbed the machine.
 */
const MOST_APART = 0.25;

/** Returns whether other work disturbed a result. */
export const isDisturbed = ({ floorSpread = 0 }: Partial<CallsRow>): boolean =>
  floorSpread > MOST_APART;

/** Says of each disturbed load why it is not published, and what to do. */
export const disturbancesOf = (rows: readonly CallsRow[]): string[] => [
  ...new Set(
    rows.filter(isDisturbed).map(({ key, floorSpread = 0 }) =>
      `${key}: disturbed, the floor's CPU spread over ${
        (100 * floorSpread).toFixed(0)
      } %, more than ${100 * MOST_APART} %, so it is not written; ` +
      "stop all other programs, and measure its part again"
    ),
  ),
];

/** Formats a ratio if there is one. */
export const ratioText = (ratio: Spread | undefined): string =>
  ratio ? spreadText(ratio) : "";
