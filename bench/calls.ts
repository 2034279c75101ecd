import type { CallsMeasured } from "./generator.ts";
import type { Payload } from "./payloads.ts";
import { attempt, type Tools } from "./tools.ts";

/** How calls are made. */
export interface Load {
  /** The answer. */
  readonly payload: Payload;
  /** Bytes of the text that the call's parameters hold. */
  readonly params: number;
  /** An Agent and a Computer each, in an office of their own. */
  readonly pairs: number;
  /** Calls on their way: of each pair, or of all together when they rotate. */
  readonly inflight: number;
  /** Whether the next call is always the next pair's, however many there are. */
  readonly rotate: boolean;
  /** Calls per second of all pairs together, whether answers come or not; 0 waits for answers. */
  readonly rate: number;
  /** Seconds before it counts. */
  readonly warmup: number;
  /** Seconds that count. */
  readonly seconds: number;
}

/** The same load for several servers, which are compared with one another. */
export interface Group {
  /** Tells the groups of one part apart: "10k", "2000". */
  readonly key: string;
  readonly load: Load;
  readonly contestants: readonly string[];
}

/** One run of one contestant. */
export interface CallsRun extends CallsMeasured {
  readonly key: string;
  readonly contestant: string;
  /** Runs of one round followed each other directly. */
  readonly round: number;
}

/** Seconds in which the first pairs have to be there: some servers now and then let one wait for ever. */
const PATIENCE = 20;

/** So many more pairs may take a second more. */
const PAIRS_PER_SECOND = 20;

/**
 * Measures calls: of each group one contestant after the other, round after round, each run with
 * a new process. What this machine can not run is left out.
 */
export async function measureCalls(
  groups: readonly Group[],
  rounds: number,
  tools: Tools,
): Promise<CallsRun[]> {
  const runs: CallsRun[] = [];
  for (const { key, load, contestants } of groups) {
    const { payload, params, rotate, ...numbers } = load;
    const files = await tools.messages.filesOf(payload, params);
    const patience = PATIENCE + Math.ceil(numbers.pairs / PAIRS_PER_SECOND);
    const options = { ...numbers, ...files, rotate: Number(rotate), patience };
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

/** Microseconds of the server's CPU per call. */
export const cpuOf = ({ serverCpuSeconds, calls }: CallsMeasured): number =>
  serverCpuSeconds / calls * 1e6;

const lineOf = (run: CallsRun, rounds: number) =>
  [
    `${run.key}, round ${run.round + 1} of ${rounds}, ${run.contestant}:`,
    `${cpuOf(run).toFixed(1)} µs CPU a call,`,
    `${(run.calls / run.seconds).toFixed(0)} calls/s,`,
    `p50 ${run.p50.toFixed(0)}, p99 ${run.p99.toFixed(0)} µs;`,
    `busy: generator ${percent(run.generatorCpuSeconds / run.seconds)},`,
    `others ${percent(run.othersCpuSeconds / run.seconds)}`,
  ].join(" ");

const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
