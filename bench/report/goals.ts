import type { PathCost } from "../ends/result.ts";
import { payloadIn, shapeIn } from "../calls.ts";
import { type CallsRow, FLOOR, OURS } from "../calls_summary.ts";
import { clusterGoals } from "../cluster/goals.ts";
import { apartText, isDisturbed, type Steadiness } from "../disturbance.ts";
import { mcpGoals } from "../mcp/goals.ts";
import { neighboursGoals } from "../neighbours/goals.ts";
import { type Payload, payloadOf } from "../payloads.ts";
import { spreadText } from "../terminal_table.ts";
import type { Report } from "./report.ts";

/** A goal and its figure. */
export interface Goal {
  readonly figure: string;
  readonly goal: string;
  readonly measured: string;
  /** `undefined` if the figure is only reported. */
  readonly met?: boolean;
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

/** Maximum p99 at half of the floor's rate, relative to the floor's. */
const P99_GOAL = 1.5;

/** Minimum calls per CPU second, relative to the Rust SDK's server. */
const RUST_GOAL = 1.5;

/** Minimum throughput relative to the Python SDK's server. */
const PYTHON_GOAL = 10;

/** Maximum growth of a call's cost, relative to that of the floor. */
const GROWTH_GOAL = 1.2;

/** Maximum memory of an idle member. */
export const IDLE_GOAL_BYTES = 20_000;
const IDLE_MEMBERS = 5000;

/** Maximum microseconds of CPU per delivery of a notification. */
export const DELIVERY_GOAL = 6;
const NOTIFIED_MEMBERS = 1000;

/** Maximum time of a call through Agent, Server and Computer, relative to a direct MCP call. */
const WHOLE_PATH_GOAL = 1.5;

/** The same with all of it in one process. */
const IN_PROCESS_GOAL = 1.15;

/** Returns which goals are met; omits those without figures. */
export function goalsOf({ parts }: Report): Goal[] {
  return [
    ...cpuGoals(parts.relay?.found ?? []),
    ...p99Goals(parts.open?.found ?? []),
    ...rustGoals(parts.others?.found ?? []),
    ...pythonGoals(parts.others?.found ?? []),
    ...endsGoals(parts),
    ...idleGoals(parts),
    ...broadcastGoals(parts),
    ...growthGoals(parts.growth?.found ?? []),
    ...parts.mcp ? mcpGoals(parts.mcp.found) : [],
    ...parts.cluster ? clusterGoals(parts.cluster.found) : [],
    ...parts.neighbours ? neighboursGoals(parts.neighbours.found) : [],
  ];
}

const rowOf = (rows: readonly CallsRow[], key: string, contestant: string) =>
  rows.find((row) => row.key === key && row.contestant === contestant);

/** Returns a goal of a measured load; one that was disturbed is neither met nor missed. */
const undisturbedGoal = (row: Steadiness, goal: Goal): Goal =>
  isDisturbed(row)
    ? {
      figure: goal.figure,
      goal: goal.goal,
      measured: `disturbed: the floor's CPU spread over ${apartText(row)}`,
    }
    : goal;

function cpuGoals(rows: readonly CallsRow[]): Goal[] {
  return Object.entries(CPU_GOALS).flatMap(([key, most]) => {
    const row = rowOf(rows, key, OURS);
    if (row?.cpuRatio === undefined) return [];
    return [undisturbedGoal(row, {
      figure: `server CPU per call / floor, ${loadTitle(key)}`,
      goal: `≤ ${most}`,
      measured: spreadText(row.cpuRatio),
      met: row.cpuRatio.mid <= most,
    })];
  });
}

function p99Goals(rows: readonly CallsRow[]): Goal[] {
  return rows.flatMap((row) =>
    row.contestant !== OURS || row.p99Ratio === undefined ? [] : [
      undisturbedGoal(row, {
        figure: `p99 at half of the floor's rate / floor, ${titleOf(row.key)}`,
        goal: `≤ ${P99_GOAL}`,
        measured: spreadText(row.p99Ratio),
        met: row.p99Ratio.mid <= P99_GOAL,
      }),
    ]
  );
}

/** The load in which this package is least ahead. */
function rustGoals(rows: readonly CallsRow[]): Goal[] {
  const measured = rows.flatMap((row) =>
    row.contestant === "rust" && row.oursRatio
      ? [{ ...row.oursRatio, row }]
      : []
  );
  const [least] = measured.toSorted((a, b) => a.mid - b.mid);
  if (least === undefined) return [];
  const { row, mid } = least;
  return [
    undisturbedGoal(measured.map(({ row }) => row).find(isDisturbed) ?? row, {
      figure:
        `calls per CPU second / the Rust SDK's server, the least of ${measured.length} loads`,
      goal: `≥ ${RUST_GOAL}`,
      measured: `${spreadText(least)}, ${loadTitle(row.key)}`,
      met: mid >= RUST_GOAL,
    }),
  ];
}

function pythonGoals(rows: readonly CallsRow[]): Goal[] {
  return [...new Set(rows.map(({ key }) => key))].flatMap((key) => {
    const ours = rowOf(rows, key, OURS);
    const theirs = ["python-0.1", "python-0.2"]
      .flatMap((name) => rowOf(rows, key, name)?.callsPerSecond ?? []);
    if (ours === undefined || theirs.length === 0) return [];
    const times = ours.callsPerSecond / Math.max(...theirs);
    return [undisturbedGoal(ours, {
      figure: `throughput / the Python SDK's server, ${loadTitle(key)}`,
      goal: `≥ ${PYTHON_GOAL}`,
      measured: times.toFixed(1),
      met: times >= PYTHON_GOAL,
    })];
  });
}

function growthGoals(rows: readonly CallsRow[]): Goal[] {
  const [many, few] = ["5000", "50"].map((key) => rowOf(rows, key, OURS));
  const [manyFloor, fewFloor] = ["5000", "50"]
    .map((key) => rowOf(rows, key, FLOOR));
  if (!many || !few || !manyFloor || !fewFloor) return [];
  const ours = many.cpu / few.cpu;
  const floor = manyFloor.cpu / fewFloor.cpu;
  return [undisturbedGoal(isDisturbed(many) ? many : few, {
    figure: "cost per call at 5,000 pairs / at 50 pairs",
    goal: `≤ floor's × ${GROWTH_GOAL}`,
    measured: `${ours.toFixed(2)}; floor's ${floor.toFixed(2)}`,
    met: ours <= floor * GROWTH_GOAL,
  })];
}

function idleGoals({ idle }: Report["parts"]): Goal[] {
  const memory = idle?.found.find((row) =>
    row.contestant === OURS && row.members === IDLE_MEMBERS
  )?.bytesPerMember;
  if (memory === undefined) return [];
  const [mid, low, high] = [memory.mid, memory.low, memory.high]
    .map((bytes) => (bytes / 1000).toFixed(1));
  return [{
    figure: "memory of an idle member, at 5,000",
    goal: `≤ ${IDLE_GOAL_BYTES / 1000} KB`,
    measured: `${mid} KB (${low}–${high})`,
    met: memory.mid <= IDLE_GOAL_BYTES,
  }];
}

function broadcastGoals({ broadcast }: Report["parts"]): Goal[] {
  const row = broadcast?.found.find((row) =>
    row.contestant === OURS && row.members === NOTIFIED_MEMBERS
  );
  if (row === undefined) return [];
  const { low, mid, high } = row.cpu;
  return [undisturbedGoal(row, {
    figure: "server CPU per delivery of a notification, 1,000 members",
    goal: `≤ ${DELIVERY_GOAL} µs`,
    measured: `${mid.toFixed(1)} µs (${low.toFixed(1)}–${high.toFixed(1)})`,
    met: mid <= DELIVERY_GOAL,
  })];
}

function endsGoals({ ends }: Report["parts"]): Goal[] {
  const [first] = ends?.found.overhead.payloads ?? [];
  if (first === undefined) return [];
  const { bytes, paths: { direct, agent, here } } = first;
  const goal = (name: string, most: number, cost?: PathCost): Goal[] =>
    cost?.ratio === undefined ? [] : [{
      figure: `${name} / the same MCP call made directly, p50, ${bytes} B`,
      goal: `≤ ${most}`,
      measured: `${spreadText(cost.ratio)}, ${cost.p50.toFixed(0)} µs / ${
        direct.p50.toFixed(0)
      } µs`,
      met: cost.ratio.mid <= most,
    }];
  return [
    ...goal(
      "a call through Agent, Server and Computer",
      WHOLE_PATH_GOAL,
      agent,
    ),
    ...goal("a call through a Computer in process", IN_PROCESS_GOAL, here),
  ];
}

/** Returns the name of an answer in tables. */
export const titleOf = (key: string): Payload["title"] =>
  payloadOf(payloadIn(key)).title;

/** Returns the name of a load in tables: "10 KB, 50 × 4". */
export const loadTitle = (key: string): string =>
  `${titleOf(key)}, ${shapeIn(key)}`;
