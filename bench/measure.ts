import { measureBroadcast, summarizeBroadcast } from "./broadcast.ts";
import { type Group, measureCalls } from "./calls.ts";
import {
  type CallsRow,
  FLOOR,
  summarize,
  throughputOf,
} from "./calls_summary.ts";
import { measureCluster } from "./cluster/mod.ts";
import { undisturbed } from "./disturbance.ts";
import { measureEnds } from "./ends/mod.ts";
import { measureIdle, summarizeIdle } from "./idle.ts";
import { measureMcp } from "./mcp/mod.ts";
import { measureNeighbours } from "./neighbours/mod.ts";
import { worstOnly } from "./neighbours/result.ts";
import { measurePlatforms } from "./platforms/mod.ts";
import type { Plan } from "./plan.ts";
import type { Found, Part } from "./report/report.ts";
import { median } from "./statistics.ts";
import type { Tools } from "./tools.ts";

/** Measures one part of a plan. */
export const MEASURES: {
  readonly [P in Part]: (plan: Plan, tools: Tools) => Promise<Found[P]>;
} = {
  relay: ({ relay, rounds }, tools) => rowsOf(relay, rounds, tools),
  others: ({ others, rounds }, tools) => rowsOf(others, rounds, tools),
  open: ({ open, rounds }, tools) =>
    each(open, async (group) => {
      const paced = await atHalfOfTheFloor(group, rounds, tools);
      return rowsOf(paced, rounds, tools);
    }),
  growth: ({ growth, rounds }, tools) => rowsOf(growth, rounds, tools),
  broadcast: ({ broadcast }, tools) =>
    each(broadcast.members, (members) =>
      undisturbed(tools, async () => {
        const plan = { ...broadcast, members: [members] };
        return summarizeBroadcast(await measureBroadcast(plan, tools));
      })),
  idle: async ({ idle }, tools) =>
    summarizeIdle(await measureIdle(idle, tools)),
  ends: ({ rounds }) => measureEnds({ quick: rounds === 1 }),
  mcp: ({ rounds }) => measureMcp({ quick: rounds === 1 }),
  cluster: ({ cluster }, tools) => measureCluster(cluster, tools),
  platforms: ({ platforms }, tools) => measurePlatforms(platforms, tools),
  neighbours: async ({ rounds }, { tell }) =>
    worstOnly(await measureNeighbours({ quick: rounds === 1, tell })),
};

const rowsOf = (
  groups: readonly Group[],
  rounds: number,
  tools: Tools,
): Promise<CallsRow[]> =>
  each(
    groups,
    (group) =>
      undisturbed(tools, async () =>
        summarize(await measureCalls([group], rounds, tools))),
  );

/** Measures one after the other. */
async function each<T, R>(
  all: readonly T[],
  measure: (one: T) => Promise<R[]>,
): Promise<R[]> {
  const rows: R[] = [];
  for (const one of all) rows.push(...await measure(one));
  return rows;
}

/** Returns a load at half of the rate that the floor reaches with it; none when the floor failed. */
async function atHalfOfTheFloor(
  group: Group,
  rounds: number,
  tools: Tools,
): Promise<Group[]> {
  const alone = { ...group, contestants: [FLOOR] };
  const runs = await measureCalls([alone], rounds, tools);
  if (runs.length === 0) return [];
  const rate = Math.round(median(runs.map(throughputOf)) / 2);
  tools.tell(`${group.key}: half of the floor's rate is ${rate} calls/s`);
  return [{ ...group, load: { ...group.load, rate } }];
}

/** Returns the number of rounds of a part. */
export const roundsOf = (plan: Plan, part: Part): number =>
  part === "broadcast" || part === "idle" || part === "cluster" ||
    part === "platforms"
    ? plan[part].rounds
    : plan.rounds;
