import type { BroadcastMeasured } from "./generator.ts";
import { median } from "./statistics.ts";
import type { Tools } from "./tools.ts";

/** How one member tells the others of its office something, again and again. */
export interface BroadcastPlan {
  /** Of the office. */
  readonly members: readonly number[];
  readonly contestants: readonly string[];
  readonly rounds: number;
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

/** Measures what a notification costs per member that is told. */
export async function measureBroadcast(
  plan: BroadcastPlan,
  { generator, field, tell }: Tools,
): Promise<BroadcastRun[]> {
  const runs: BroadcastRun[] = [];
  const { warmup, seconds, rounds } = plan;
  for (const members of plan.members) {
    for (let round = 1; round <= rounds; round++) {
      for (const contestant of plan.contestants) {
        const args = contestant.startsWith("ours") ? MEMBERS_ARGS : [];
        await using server = await field.start(contestant, args);
        if (server === undefined) continue;
        const options = { members, warmup, seconds };
        const measured = await generator.run("broadcast", server, options);
        tell(
          `${members} members, round ${round} of ${rounds}, ${contestant}: ${
            cpuOf(measured).toFixed(1)
          } µs CPU a delivery`,
        );
        runs.push({ members, contestant, ...measured });
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
