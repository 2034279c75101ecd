import type { BroadcastMeasured } from "./generator.ts";
import { median } from "./statistics.ts";
import { attempt, type Tools } from "./tools.ts";

/** How one member tells the others of its office something, again and again. */
export interface BroadcastPlan {
  /** Members of the office; each that joins is told to all, so many members take long. */
  readonly steps: readonly {
    readonly members: number;
    readonly rounds: number;
  }[];
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
  readonly cpu: number;
  readonly deliveriesPerSecond: number;
  /** Microseconds until the last member was told. */
  readonly p50: number;
  readonly p99: number;
}

/** The default limit of members of an office would stop the larger ones. */
const MEMBERS_ARGS = ["--max-members-per-office=100000"];

/** Seconds that all members may take to join. */
const PATIENCE = 1800;

/**
 * Members that join at once: each is told to all others before the next is let in, so more would
 * wait longer than a server lets a client wait for its admission.
 */
const OPENING = 8;

/** Measures what a notification costs per member that is told. */
export async function measureBroadcast(
  plan: BroadcastPlan,
  tools: Tools,
): Promise<BroadcastRun[]> {
  const runs: BroadcastRun[] = [];
  const { warmup, seconds } = plan;
  for (const { members, rounds } of plan.steps) {
    for (let round = 1; round <= rounds; round++) {
      for (const contestant of plan.contestants) {
        await attempt(`${members} members, ${contestant}`, tools, async () => {
          const args = contestant.startsWith("ours") ? MEMBERS_ARGS : [];
          await using server = await tools.field.start(contestant, args);
          if (server === undefined) return;
          const times = { warmup, seconds, patience: PATIENCE };
          const options = { members, opening: OPENING, ...times };
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

/** Sums up runs, in the order in which they first came. */
export function summarizeBroadcast(
  runs: readonly BroadcastRun[],
): BroadcastRow[] {
  const rows = Map.groupBy(runs, (run) => `${run.members} ${run.contestant}`);
  return [...rows.values()].flatMap((mine) => {
    const [first] = mine;
    if (first === undefined) return [];
    const mid = (read: (run: BroadcastRun) => number) => median(mine.map(read));
    return [{
      members: first.members,
      contestant: first.contestant,
      cpu: mid(cpuOf),
      deliveriesPerSecond: mid((run) => run.deliveries / run.seconds),
      p50: mid((run) => run.p50),
      p99: mid((run) => run.p99),
    }];
  });
}

const cpuOf = ({ serverCpuSeconds, deliveries }: BroadcastMeasured) =>
  serverCpuSeconds / deliveries * 1e6;
