import { CONTESTANTS } from "./contestants/mod.ts";
import { start } from "./contestants/running.ts";
import type { CallsMeasured, Generator } from "./generator.ts";
import type { Messages } from "./messages.ts";
import type { Payload } from "./payloads.ts";

/** What is measured: each contestant with each answer, in turn, round after round. */
export interface RelayPlan {
  readonly contestants: readonly string[];
  readonly payloads: readonly Payload[];
  readonly pairs: number;
  /** Calls that each pair keeps on their way. */
  readonly inflight: number;
  /** Calls per second of all pairs together, however late answers come; 0 waits for answers. */
  readonly rate: number;
  readonly rounds: number;
  readonly warmup: number;
  readonly seconds: number;
}

/** One run of one contestant. */
export interface RelayRun extends CallsMeasured {
  readonly contestant: string;
  readonly payload: string;
  readonly round: number;
}

/**
 * Measures calls through each contestant; each run has a server of its own.
 *
 * @param progress told of each run
 */
export async function measureRelay(
  plan: RelayPlan,
  generator: Generator,
  messages: Messages,
  progress: (run: RelayRun) => void,
): Promise<RelayRun[]> {
  const runs: RelayRun[] = [];
  const { pairs, inflight, rate, warmup, seconds } = plan;
  for (const payload of plan.payloads) {
    const files = await messages.filesOf(payload);
    for (let round = 0; round < plan.rounds; round++) {
      for (const contestant of plan.contestants) {
        const recipe = await CONTESTANTS[contestant]?.();
        if (recipe === undefined) {
          throw new Error(`Unknown contestant: ${contestant}`);
        }
        await using server = await start(recipe);
        const options = { pairs, inflight, rate, warmup, seconds, ...files };
        const measured = await generator.run("calls", server, options);
        const run = { contestant, payload: payload.name, round, ...measured };
        progress(run);
        runs.push(run);
      }
    }
  }
  return runs;
}
