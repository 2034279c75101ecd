import { type CallsRow, FLOOR, isDisturbed, OURS } from "../calls.ts";
import { answerTitle, loadTitle } from "../cases.ts";
import { endsGoals } from "../ends.ts";
import { mcpGoals } from "./mcp.ts";
import { neighboursGoals } from "../neighbours/result.ts";
import { spreadText } from "../statistics.ts";
import type { Report } from "./report.ts";

/** A goal and its result. */
export interface Goal {
  readonly figure: string;
  readonly goal: string;
  readonly measured: string;
  readonly met: boolean;
}

/** Maximum CPU of a call relative to the floor's, by answer and shape. */
const CPU_GOALS: Readonly<Record<string, number>> = {
  "100 50x4": 1.25,
  "100 50x1": 1.8,
  "100 8x1": 1.9,
  "10k 50x4": 1.4,
  "10k 50x1": 1.6,
  "100k 50x1": 1.2,
  "100k-json 50x1": 1.6,
  "1m 50x1": 0.7,
};

/** Maximum growth of a call's cost, relative to that of the floor. */
const GROWTH_GOAL = 1.2;

/** Maximum CPU of a call between two Servers, relative to one inside a Server. */
const OTHER_GOALS: Readonly<Record<string, number>> = {
  "100 50x1": 1.7,
  "10k 50x1": 1.8,
  "100k 50x1": 2.2,
  "1m 50x1": 2.5,
};

/** Maximum CPU of a call inside a Server of a cluster, relative to one without a cluster. */
const WITHIN_GOAL = 1.1;

/** Maximum milliseconds that another Server adds to the median call at a given rate. */
const ADDED_MS_GOAL = 1;
const PACED = "100 20x1@400";

/** Returns which goals are met; omits those without figures, and loads that were disturbed. */
export function goalsOf(parts: Report["parts"]): Goal[] {
  const { ends, mcp, neighbours } = parts;
  const calm = (rows: readonly CallsRow[] = []) =>
    rows.filter((row) => !isDisturbed(row));
  return [
    ...cpuGoals(calm(parts.relay?.found)),
    ...(ends ? endsGoals(ends.found) : []),
    ...growthGoals(calm(parts.growth?.found)),
    ...(mcp ? mcpGoals(mcp.found) : []),
    ...clusterGoals(parts.cluster?.found ?? []),
    ...(neighbours ? neighboursGoals(neighbours.found) : []),
  ];
}

const rowOf = (rows: readonly CallsRow[], key: string, contestant: string) =>
  rows.find((row) => row.key === key && row.contestant === contestant);

/** A goal of the CPU of a call relative to another one; none without a figure. */
function ratioGoal(
  figure: string,
  row: CallsRow | undefined,
  goal: number | undefined,
): Goal[] {
  const ratio = row?.cpuRatio;
  if (ratio === undefined || goal === undefined) return [];
  return [{
    figure,
    goal: `≤ ${goal}`,
    measured: spreadText(ratio),
    met: ratio.mid <= goal,
  }];
}

const cpuGoals = (rows: readonly CallsRow[]): Goal[] =>
  Object.entries(CPU_GOALS).flatMap(([key, goal]) =>
    ratioGoal(`CPU, ${loadTitle(key)}`, rowOf(rows, key, OURS), goal)
  );

function growthGoals(rows: readonly CallsRow[]): Goal[] {
  const growthOf = (contestant: string) => {
    const [many, few] = ["100 5000:50", "100 50:50"].map((key) =>
      rowOf(rows, key, contestant)?.cpu
    );
    return many && few && many / few;
  };
  const ours = growthOf(OURS);
  const floor = growthOf(FLOOR);
  if (!ours || !floor) return [];
  return [{
    figure: "cost per call at 5,000 pairs / at 50 pairs",
    goal: `≤ floor's × ${GROWTH_GOAL}`,
    measured: `${ours.toFixed(2)}; floor's ${floor.toFixed(2)}`,
    met: ours <= floor * GROWTH_GOAL,
  }];
}

function clusterGoals(rows: readonly CallsRow[]): Goal[] {
  const [same, other] = ["same", "other"].map((name) =>
    rowOf(rows, PACED, name)?.p50
  );
  const addedMs = same && other && (other - same) / 1000;
  return [
    ...Object.entries(OTHER_GOALS).flatMap(([key, goal]) => [
      ...ratioGoal(
        `a call between two Servers / inside one, CPU, ${answerTitle(key)}`,
        rowOf(rows, key, "other"),
        goal,
      ),
      ...ratioGoal(
        `a call inside one of two Servers / of one, CPU, ${answerTitle(key)}`,
        rowOf(rows, key, "same"),
        WITHIN_GOAL,
      ),
    ]),
    ...(addedMs === undefined ? [] : [{
      figure: "another Server adds to a call, p50, 400 calls/s, 20 pairs",
      goal: `≤ ${ADDED_MS_GOAL} ms`,
      measured: `${addedMs.toFixed(2)} ms`,
      met: addedMs <= ADDED_MS_GOAL,
    }]),
  ];
}
