/**
 * Measures Servers that share their offices through Redis: processes of `server/main.ts --cluster`
 * and a real `redis-server`, beside one process without.
 *
 * @module
 */
import { type CallsRun, cpuOf } from "../calls.ts";
import { ratioOf } from "../calls_summary.ts";
import { temporaryFolder } from "../leftovers.ts";
import { attempt, type Tools } from "../tools.ts";
import type { ClusterGroup, ClusterPlan } from "./plan.ts";
import type { ClusterResult, SizeCompared } from "./result.ts";
import { settingOf } from "./settings.ts";
import { hasBalancer, programVersions, startSetting } from "./start.ts";
import {
  addedMs,
  type ClusterIdleRun,
  compareBalanced,
  compareSizes,
  summarizeCluster,
  summarizeClusterIdle,
} from "./summary.ts";
import { measureInTurns } from "./turns.ts";

/** Measures all of it. */
export async function measureCluster(
  plan: ClusterPlan,
  tools: Tools,
): Promise<ClusterResult> {
  const folder = temporaryFolder();
  const isBalanced = await hasBalancer();
  const start = (name: string) => startSetting(settingOf(name), folder);
  const measure = (groups: readonly ClusterGroup[]): Promise<CallsRun[]> =>
    measureInTurns(groups, plan, tools, start);
  const sizes = await measure(plan.sizes);
  const paced = await measure([plan.paced]);
  const contestants = plan.balanced.contestants.filter((name) =>
    isBalanced || settingOf(name).agents !== "balancer"
  );
  const balanced = await measure([{ ...plan.balanced, contestants }]);
  const idle = await measureIdle(plan.idle, tools, start);
  const added = addedMs(paced);
  const cpu = ratioOf(paced, plan.paced.key, ["other", "same"], cpuOf);
  const { rate, pairs } = plan.paced.load;
  return {
    sizes: summarizeCluster(sizes),
    compared: compareSizes(sizes),
    paced: {
      rate,
      pairs,
      rows: summarizeCluster(paced),
      ...(added && { addedMs: added }),
      ...(cpu && { cpu }),
    },
    balanced: {
      rows: summarizeCluster(balanced),
      compared: compareBalanced(balanced),
    },
    idle: summarizeClusterIdle(idle),
    programs: await programVersions(),
  };
}

/** Measures calls alone, with answers of some of the sizes of the plan. */
export async function measureSizes(
  plan: ClusterPlan,
  sizes: readonly string[],
  tools: Tools,
): Promise<SizeCompared[]> {
  const folder = temporaryFolder();
  const groups = plan.sizes.filter(({ key }) => sizes.includes(key));
  const start = (name: string) => startSetting(settingOf(name), folder);
  return compareSizes(await measureInTurns(groups, plan, tools, start));
}

async function measureIdle(
  { rounds, members, seconds, watched, settings }: ClusterPlan["idle"],
  tools: Tools,
  start: (name: string) => ReturnType<typeof startSetting>,
): Promise<ClusterIdleRun[]> {
  const runs: ClusterIdleRun[] = [];
  for (let round = 1; round <= rounds; round++) {
    for (const setting of settings) {
      await attempt(`idle, ${setting}`, tools, async () => {
        await using server = await start(setting);
        const options = { steps: members, seconds, watched };
        const run = await tools.generator.run("idle", server, options);
        runs.push({ setting, ...run });
        const row = summarizeClusterIdle(runs.slice(-1)).at(0);
        tools.tell(
          `${members} idle, round ${round} of ${rounds}, ${setting}: ${
            row?.joinsPerSecond.toFixed(0)
          } joins/s, ${((row?.bytesPerMember ?? 0) / 1000).toFixed(1)} kB each`,
        );
      });
    }
  }
  return runs;
}
