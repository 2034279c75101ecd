import type { CallsMeasured } from "./generator.ts";
import type { Payload } from "./payloads.ts";
import { attempt, type Tools } from "./tools.ts";

/** Settings of a load of calls. */
export interface Load {
  /** The answer. */
  readonly payload: Payload;
  /** Bytes of text in the call's parameters. */
  readonly params: number;
  /** Number of pairs of an Agent and a Computer, each in a separate office. */
  readonly pairs: number;
  /** Concurrent calls: of each pair, or of all pairs together if they rotate. */
  readonly inflight: number;
  /** Whether calls rotate over all pairs. */
  readonly rotate: boolean;
  /** Calls per second of all pairs together, regardless of answers; 0 waits for answers. */
  readonly rate: number;
  /** The load's first seconds, which are counted apart. */
  readonly warmup: number;
  /** Seconds of measurement after them. */
  readonly seconds: number;
}

/** How many pairs of an Agent and a Computer call, and how many calls of each are in flight. */
export interface Shape {
  readonly pairs: number;
  readonly inflight: number;
}

/** The shapes of the main table. */
export const SHAPES: readonly Shape[] = [
  { pairs: 1, inflight: 1 },
  { pairs: 8, inflight: 1 },
  { pairs: 50, inflight: 1 },
  { pairs: 50, inflight: 4 },
];

/** Names a load: "100k-json 50x4" for that answer in that shape. */
export const keyOf = (payload: string, { pairs, inflight }: Shape): string =>
  `${payload} ${pairs}x${inflight}`;

/** Returns the name of the answer in a load's name. */
export const payloadIn = (key: string): string => key.split(" ")[0] ?? "";

/** Returns the shape in a load's name as "50 × 4"; empty if it has none. */
export const shapeIn = (key: string): string =>
  (key.split(" ")[1] ?? "").replace("x", " × ");

/** The same load for several servers that are compared. */
export interface Group {
  /** Identifies the group within its part: "10k", "10k 50x4". */
  readonly key: string;
  readonly load: Load;
  readonly contestants: readonly string[];
}

/** One run of one contestant. */
export interface CallsRun extends CallsMeasured {
  readonly key: string;
  readonly contestant: string;
  /** The round; its runs followed each other directly. */
  readonly round: number;
}

/** Base of the time limit for opening pairs: some servers occasionally let one wait forever. */
const OPEN_TIMEOUT_SECONDS = 20;

/** Further pairs per second of that time limit. */
const PAIRS_PER_SECOND = 20;

/**
 * Measures calls: of each group, one contestant after another, round by round, each run with a new
 * process. Skips contestants that this machine cannot run.
 */
export async function measureCalls(
  groups: readonly Group[],
  rounds: number,
  tools: Tools,
): Promise<CallsRun[]> {
  const runs: CallsRun[] = [];
  for (const { key, load, contestants } of groups) {
    const options = await optionsOf(load, tools);
    for (let round = 0; round < rounds; round++) {
      for (const contestant of contestants) {
        await attempt(`${key}, ${contestant}`, tools, async () => {
          await using server = await tools.field.start(contestant);
          if (server === undefined) return;
          const measured = await tools.generator.run("calls", server, options);
          const run = { key, contestant, round, ...measured };
          tools.tell(lineOf(run, rounds));
          runs.push(run);
        });
      }
    }
  }
  return runs;
}

/** Returns a load as options of the load generator. */
export async function optionsOf(
  { payload, params, rotate, ...numbers }: Load,
  { messages }: Tools,
) {
  return {
    ...numbers,
    ...await messages.filesOf(payload, params),
    rotate: Number(rotate),
    open_timeout: OPEN_TIMEOUT_SECONDS +
      Math.ceil(numbers.pairs / PAIRS_PER_SECOND),
  };
}

/** Microseconds of the server's CPU per call. */
export const cpuOf = ({ serverCpuSeconds, calls }: CallsMeasured): number =>
  serverCpuSeconds / calls * 1e6;

/** Tells a run in one line. */
export const lineOf = (run: CallsRun, rounds: number): string =>
  [
    `${run.key}, round ${run.round + 1} of ${rounds}, ${run.contestant}:`,
    `${cpuOf(run).toFixed(1)} µs CPU a call,`,
    `${(run.calls / run.seconds).toFixed(0)} calls/s,`,
    `p50 ${run.p50.toFixed(0)}, p99 ${run.p99.toFixed(0)} µs;`,
    `busy: generator ${percent(run.generatorCpuSeconds / run.seconds)},`,
    `others ${percent(run.othersCpuSeconds / run.seconds)}`,
  ].join(" ");

const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
