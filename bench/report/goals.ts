import type { CallsRow } from "../calls_summary.ts";
import { clusterGoals } from "../cluster/goals.ts";
import { mcpGoals } from "../mcp/goals.ts";
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

/** Maximum CPU of a call relative to the floor's, by the answer's name. */
export const CPU_GOALS: Readonly<Record<string, number>> = {
  "100": 2,
  "10k": 2,
  "100k-text": 1.6,
  "100k-json": 1.6,
  "1m": 1.4,
  "100k-ascii": 1.6,
  "1m-ascii": 1.4,
};

/** Maximum memory of an idle member. */
export const IDLE_GOAL_BYTES = 30_000;

/** Maximum p99 at {@linkcode GOAL_RATE} calls per second, relative to the floor's. */
export const P99_GOAL = 2;

/** Calls per second. */
export const GOAL_RATE = "2000";

const PYTHON_GOAL = 10;
const GROWTH_GOAL = 1.2;
const IDLE_MEMBERS = 5000;

/** Returns which goals are met; omits those without figures. */
export function goalsOf({ parts }: Report): Goal[] {
  return [
    ...cpuGoals(parts.relay?.found ?? []),
    ...pythonGoals(parts.relay?.found ?? []),
    ...rateGoals(parts.open?.found ?? []),
    ...growthGoals(parts.growth?.found ?? []),
    ...idleGoals(parts),
    ...endsGoals(parts),
    ...parts.mcp ? mcpGoals(parts.mcp.found) : [],
    ...parts.cluster ? clusterGoals(parts.cluster.found) : [],
  ];
}

const rowOf = (rows: readonly CallsRow[], key: string, contestant: string) =>
  rows.find((row) => row.key === key && row.contestant === contestant);

function cpuGoals(rows: readonly CallsRow[]): Goal[] {
  return Object.entries(CPU_GOALS).flatMap(([key, goal]) => {
    const ratio = rowOf(rows, key, "ours")?.cpuRatio;
    if (ratio === undefined) return [];
    return [{
      figure: `server CPU per call / floor, ${titleOf(key)}, 50 pairs`,
      goal: `≤ ${goal.toFixed(1)}`,
      measured: spreadText(ratio),
      met: ratio.mid <= goal,
    }];
  });
}

function pythonGoals(rows: readonly CallsRow[]): Goal[] {
  return ["100", "100k-text"].flatMap((key) => {
    const ours = rowOf(rows, key, "ours");
    const theirs = ["python-0.1", "python-0.2"]
      .flatMap((name) => rowOf(rows, key, name)?.callsPerSecond ?? []);
    if (ours === undefined || theirs.length === 0) return [];
    const times = ours.callsPerSecond / Math.max(...theirs);
    return [{
      figure: `throughput / the Python SDK's server, ${titleOf(key)}`,
      goal: `≥ ${PYTHON_GOAL}`,
      measured: times.toFixed(1),
      met: times >= PYTHON_GOAL,
    }];
  });
}

function rateGoals(rows: readonly CallsRow[]): Goal[] {
  const ratio = rowOf(rows, GOAL_RATE, "ours")?.p99Ratio;
  if (ratio === undefined) return [];
  return [{
    figure: "p99 at 2,000 calls/s / floor",
    goal: `≤ ${P99_GOAL}`,
    measured: spreadText(ratio),
    met: ratio.mid <= P99_GOAL,
  }];
}

function growthGoals(rows: readonly CallsRow[]): Goal[] {
  const growth = (contestant: string) => {
    const [many, few] = ["5000", "50"]
      .map((key) => rowOf(rows, key, contestant)?.cpu);
    return many === undefined || few === undefined ? undefined : many / few;
  };
  const [ours, floor] = [growth("ours"), growth("floor")];
  if (ours === undefined || floor === undefined) return [];
  return [{
    figure: "cost per call at 5,000 pairs / at 50 pairs",
    goal: `≤ floor's × ${GROWTH_GOAL}`,
    measured: `${ours.toFixed(2)}; floor's ${floor.toFixed(2)}`,
    met: ours <= floor * GROWTH_GOAL,
  }];
}

function idleGoals({ idle }: Report["parts"]): Goal[] {
  const row = idle?.found.find((row) =>
    row.contestant === "ours" && row.members === IDLE_MEMBERS
  );
  if (row === undefined) return [];
  return [{
    figure: "memory of an idle member, at 5,000",
    goal: `≤ ${IDLE_GOAL_BYTES / 1000} KB`,
    measured: `${(row.bytesPerMember / 1000).toFixed(1)} KB`,
    met: row.bytesPerMember <= IDLE_GOAL_BYTES,
  }];
}

function endsGoals({ ends }: Report["parts"]): Goal[] {
  return ends?.found.overhead.payloads.slice(0, 1).map(({ bytes, paths }) => ({
    figure:
      `a call through Agent, Server and Computer / the same MCP call made directly, p50, ${bytes} B`,
    goal: "report only",
    measured: `${paths.agent.p50.toFixed(0)} µs / ${
      paths.direct.p50.toFixed(0)
    } µs`,
  })) ?? [];
}

/** Returns the name of an answer in tables. */
export const titleOf = (key: string): Payload["title"] => payloadOf(key).title;
