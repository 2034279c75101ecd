import { FLOOR } from "./calls_summary.ts";
import type { BroadcastMeasured } from "./generator.ts";
import { apart, median, type Spread, spreadOf } from "./statistics.ts";
import { attempt, type Tools } from "./tools.ts";

/** Settings of a broadcast: one member repeatedly sends a notification to its office. */
export interface BroadcastPlan {
  /** Members of the office; all are notified of each join, so many members take long. */
  readonly members: readonly number[];
  readonly rounds: number;
  readonly contestants: readonly string[];
  readonly warmup: number;
  readonly seconds: number;
}

/** One run of one contestant. */
export interface BroadcastRun extends BroadcastMeasured {
  readonly members: number;
  readonly contestant: string;
}

/** Medians over the rounds. */
export interface BroadcastRow {
  readonly members: number;
  readonly contestant: string;
  /** Microseconds of the server's CPU per delivery. */
  readonly cpu: Spread;
  /** How far the floor's CPU per delivery was apart; absent without a floor. */
  readonly floorSpread?: number;
  readonly deliveriesPerSecond: number;
  /** Microseconds until the last member got the notification. */
  readonly p50: number;
  readonly p99: number;
}

/** Raises the limit of members per office, whose default is too low for the larger ones. */
const MEMBERS_ARGS = ["--max-members-per-office=100000"];

/** Time limit for all members to join. */
const OPEN_TIMEOUT_SECONDS = 1800;

/**
 * Members that join at the same time: all others are notified of each before the next is admitted, so
 * more would exceed a server's time limit for the admission.
 */
const MAX_CONCURRENT_JOINS = 8;

/** Measures the cost of a notification per member that gets it. */
export async function measureBroadcast(
  plan: BroadcastPlan,
  tools: Tools,
): Promise<BroadcastRun[]> {
  const runs: BroadcastRun[] = [];
  const { warmup, seconds, rounds } = plan;
  for (const members of plan.members) {
    for (let round = 1; round <= rounds; round++) {
      for (const contestant of plan.contestants) {
        await attempt(`${members} members, ${contestant}`, tools, async () => {
          const args = contestant.startsWith("ours") ? MEMBERS_ARGS : [];
          await using server = await tools.field.start(contestant, args);
          if (server === undefined) return;
          const times = { warmup, seconds, open_timeout: OPEN_TIMEOUT_SECONDS };
          const options = { members, opening: MAX_CONCURRENT_JOINS, ...times };
          const run = await tools.generator.run("broadcast", server, options);
          tools.tell(
            `${members} members, round ${round} of ${rounds}, ${contestant}: ${
              cpuOf(run).toFixed(1)
            } µs CPU a delivery`,
          );
          runs.push({ members, contestant, ...run });
        });
      }
    }
  }
  return runs;
}

/** Summarizes runs, in the order of their first occurrence. */
export function summarizeBroadcast(
  runs: readonly BroadcastRun[],
): BroadcastRow[] {
  const rows = Map.groupBy(runs, (run) => `${run.members} ${run.contestant}`);
  return [...rows.values()].flatMap((mine) => {
    const [first] = mine;
    if (first === undefined) return [];
    const mid = (read: (run: BroadcastRun) => number) => median(mine.map(read));
    const floors = runs.filter(({ members, contestant }) =>
      members === first.members && contestant === FLOOR
    );
    return [{
      members: first.members,
      contestant: first.contestant,
      cpu: spreadOf(mine.map(cpuOf)),
      ...(floors.length > 0 && { floorSpread: apart(floors.map(cpuOf)) }),
      deliveriesPerSecond: mid((run) => run.deliveries / run.seconds),
      p50: mid((run) => run.p50),
      p99: mid((run) => run.p99),
    }];
  });
}

const cpuOf = ({ serverCpuSeconds, deliveries }: BroadcastMeasured) =>
  serverCpuSeconds / deliveries * 1e6;
