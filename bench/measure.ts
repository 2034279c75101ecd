import { measureBroadcast, summarizeBroadcast } from "./broadcast.ts";
import { measureCalls } from "./calls.ts";
import { summarize } from "./calls_summary.ts";
import { measureCluster } from "./cluster/mod.ts";
import { measureEnds } from "./ends/mod.ts";
import { measureIdle, summarizeIdle } from "./idle.ts";
import { measureMcp } from "./mcp/mod.ts";
import { measurePlatforms } from "./platforms/mod.ts";
import type { Plan } from "./plan.ts";
import type { Found, Part } from "./report/report.ts";
import type { Tools } from "./tools.ts";

/** Measures one part of a plan. */
export const MEASURES: {
  readonly [P in Part]: (plan: Plan, tools: Tools) => Promise<Found[P]>;
} = {
  relay: async ({ relay, rounds }, tools) =>
    summarize(await measureCalls(relay, rounds, tools)),
  open: async ({ open, rounds }, tools) =>
    summarize(await measureCalls(open, rounds, tools)),
  growth: async ({ growth, rounds }, tools) =>
    summarize(await measureCalls(growth, rounds, tools)),
  broadcast: async ({ broadcast }, tools) =>
    summarizeBroadcast(await measureBroadcast(broadcast, tools)),
  idle: async ({ idle }, tools) =>
    summarizeIdle(await measureIdle(idle, tools)),
  ends: ({ rounds }) => measureEnds({ quick: rounds === 1 }),
  mcp: ({ rounds }) => measureMcp({ quick: rounds === 1 }),
  cluster: ({ cluster }, tools) => measureCluster(cluster, tools),
  platforms: ({ platforms }, tools) => measurePlatforms(platforms, tools),
};

/** Returns the number of rounds of a part. */
export const roundsOf = (plan: Plan, part: Part): number =>
  part === "broadcast"
    ? plan.broadcast.steps[0]?.rounds ?? 1
    : part === "idle"
    ? plan.idle.rounds
    : part === "cluster" || part === "platforms"
    ? plan[part].rounds
    : plan.rounds;
