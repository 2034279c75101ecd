import type { IdleMeasured } from "./generator.ts";
import { median, type Spread, spreadOf } from "./statistics.ts";
import { attempt, type Tools } from "./tools.ts";

/** Settings of idle members. */
export interface IdlePlan {
  /** Number of members at each step, ascending. */
  readonly members: readonly number[];
  readonly contestants: readonly string[];
  readonly rounds: number;
  /** Seconds of silence before memory is read. */
  readonly seconds: number;
}

/** One run of one contestant. */
export interface IdleRun extends IdleMeasured {
  readonly contestant: string;
}

/** Medians over the rounds. */
export interface IdleRow {
  readonly members: number;
  readonly contestant: string;
  /** The server's memory beyond that with two members, per further member. */
  readonly bytesPerMember: Spread;
  /** Connections opened and joined since the previous step. */
  readonly joinsPerSecond: number;
  /** Microseconds of the server's CPU per join. */
  readonly cpuPerJoin: number;
}

/** Measures the cost of idle members, and of their joins. */
export async function measureIdle(
  { members, contestants, rounds, seconds }: IdlePlan,
  tools: Tools,
): Promise<IdleRun[]> {
  const runs: IdleRun[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const contestant of contestants) {
      await attempt(`idle, ${contestant}`, tools, async () => {
        await using server = await tools.field.start(contestant);
        if (server === undefined) return;
        const options = { steps: members.join(), seconds };
        const measured = await tools.generator.run("idle", server, options);
        const run = { contestant, ...measured };
        const row = summarizeIdle([run]).at(-1);
        tools.tell(
          `idle, round ${round} of ${rounds}, ${contestant}: ${
            ((row?.bytesPerMember.mid ?? 0) / 1000).toFixed(1)
          } kB a member, ${row?.joinsPerSecond.toFixed(0)} joins/s`,
        );
        runs.push(run);
      });
    }
  }
  return runs;
}

/** Summarizes runs, in the order of their first occurrence. */
export function summarizeIdle(runs: readonly IdleRun[]): IdleRow[] {
  const steps = runs.flatMap(({ contestant, steps }) =>
    steps.map((step) => ({
      contestant,
      members: step.members,
      bytesPerMember: (step.bytes - step.bytesBefore) / (step.members - 2),
      joinsPerSecond: step.joined / step.seconds,
      cpuPerJoin: step.serverCpuSeconds / step.joined * 1e6,
    }))
  );
  const rows = Map.groupBy(
    steps,
    ({ members, contestant }) => `${members} ${contestant}`,
  );
  return [...rows.values()].flatMap((mine) => {
    const [first] = mine;
    if (first === undefined) return [];
    const mid = (read: (row: typeof steps[number]) => number) =>
      median(mine.map(read));
    return [{
      members: first.members,
      contestant: first.contestant,
      bytesPerMember: spreadOf(
        mine.map(({ bytesPerMember }) => bytesPerMember),
      ),
      joinsPerSecond: mid((row) => row.joinsPerSecond),
      cpuPerJoin: mid((row) => row.cpuPerJoin),
    }];
  });
}
