import { payloadOf } from "../payloads.ts";
import type { Goal } from "../report/goals.ts";
import type { Spread } from "../statistics.ts";
import { spreadText } from "../terminal_table.ts";
import type { ClusterResult, SizeCompared } from "./result.ts";
import { settingOf } from "./settings.ts";

/** Most CPU of a call to another Server, times that of one inside a Server, by size. */
export const OTHER_GOALS: Readonly<Record<string, number>> = {
  "100": 1.7,
  "10k": 1.8,
  "100k": 2.2,
  "1m": 2.5,
};

/** Most milliseconds that another Server adds to the median call. */
const ADDED_MS_GOAL = 1;

/** Most CPU of a call inside a Server of a cluster, times that without a cluster. */
export const WITHIN_GOAL = 1.1;

/** Returns which goals calls of some sizes meet. */
export function sizeGoals(compared: readonly SizeCompared[]): Goal[] {
  return [
    ...compared.flatMap(({ key, other }) =>
      other
        ? [ratioGoal(
          `a call between two Servers / inside one, CPU of all processes, ${
            payloadOf(key).title
          }`,
          other,
          OTHER_GOALS[key],
        )]
        : []
    ),
    ...compared.flatMap(({ key, within }) =>
      within
        ? [ratioGoal(
          `a call inside one Server, with \`--cluster\` / without, CPU, ${
            payloadOf(key).title
          }`,
          within,
          WITHIN_GOAL,
        )]
        : []
    ),
  ];
}

/** Returns which goals Servers that share their offices meet. */
export function clusterGoals(found: ClusterResult): Goal[] {
  const { compared, paced, balanced } = found;
  return [
    ...sizeGoals(compared),
    ...addedGoal(paced),
    ...paced.cpu
      ? [ratioGoal(
        `a call between two Servers / inside one at ${paced.rate} calls/s, CPU of all, 100 B`,
        paced.cpu,
      )]
      : [],
    ...balanced.compared.flatMap(({ setting, throughput }) =>
      throughput
        ? [{
          figure: `calls/s on one machine / of one Server: ${
            settingOf(setting).title
          }`,
          goal: "report only",
          measured: spreadText(throughput),
        }]
        : []
    ),
  ];
}

function ratioGoal(figure: string, ratio: Spread, goal?: number): Goal {
  const measured = spreadText(ratio);
  if (goal === undefined) return { figure, goal: "report only", measured };
  return { figure, goal: `≤ ${goal}`, measured, met: ratio.mid <= goal };
}

function addedGoal({ addedMs, rate, pairs }: ClusterResult["paced"]): Goal[] {
  if (addedMs === undefined) return [];
  return [{
    figure:
      `ms that another Server adds to a call, p50, ${rate} calls/s, ${pairs} pairs`,
    goal: `≤ ${ADDED_MS_GOAL}`,
    measured: spreadText(addedMs),
    met: addedMs.mid <= ADDED_MS_GOAL,
  }];
}
