import { clusterPlot } from "../cluster/plot.ts";
import { payloadIn, shapeIn } from "../calls.ts";
import { type CallsRow, OURS } from "../calls_summary.ts";
import { CONTESTANTS } from "../contestants/mod.ts";
import { barPlot, linePlot } from "../plot/mod.ts";
import { DELIVERY_GOAL, IDLE_GOAL_BYTES, titleOf } from "./goals.ts";
import type { Report } from "./report.ts";

/** Draws the plots of a report as SVG, by name; omits parts without figures. */
export function plotsOf({ parts }: Report): Record<string, string> {
  const { relay, others, open, growth, broadcast, idle, cluster } = parts;
  return {
    ...relay && { cpu: cpuPlot(relay.found) },
    ...others && { throughput: throughputPlot(others.found) },
    ...open && { latency: latencyPlot(open.found) },
    ...growth && { growth: growthPlot(growth.found) },
    ...broadcast && {
      broadcast: linePlot({
        title: "Telling all members of an office",
        xLabel: "members of the office",
        yLabel: "server CPU per delivery, µs",
        series: seriesOf(broadcast.found, (row) => [row.members, row.cpu.mid]),
        goal: { value: DELIVERY_GOAL, words: "goal at 1,000" },
      }),
    },
    ...idle && {
      idle: linePlot({
        title: "Memory of a member that does nothing",
        xLabel: "members",
        yLabel: "KB per member",
        series: seriesOf(
          idle.found,
          (row) => [row.members, row.bytesPerMember.mid / 1000],
        ),
        goal: { value: IDLE_GOAL_BYTES / 1000, words: "goal" },
      }),
      joins: linePlot({
        title: "Members that connect and join, 64 at a time",
        xLabel: "members at the end",
        yLabel: "joins per second",
        series: seriesOf(
          idle.found,
          (row) => [row.members, row.joinsPerSecond],
        ),
      }),
    },
    ...cluster && { cluster: clusterPlot(cluster.found) },
  };
}

/** Shows the main table: a group of bars for each answer, a bar for each shape. */
function cpuPlot(rows: readonly CallsRow[]): string {
  const payloads = unique(rows.map(({ key }) => payloadIn(key)));
  const shapes = unique(rows.map(({ key }) => shapeIn(key)));
  return barPlot({
    title: "Server CPU per call, times the floor's, by pairs × calls of each",
    yLabel: "× floor",
    groups: payloads.map(titleOf),
    series: shapes.map((shape, i) => ({
      name: shape,
      colour: SHAPE_COLORS[i] ?? "#888888",
      values: payloads.map((payload) =>
        rows.find(({ key, contestant }) =>
          contestant === OURS && payloadIn(key) === payload &&
          shapeIn(key) === shape
        )?.cpuRatio?.mid
      ),
    })),
    goals: { values: payloads.map(() => 1), words: "- - - floor" },
  });
}

const SHAPE_COLORS = ["#b2df8a", "#6cc5a1", "#009e73", "#00664a"];

function throughputPlot(all: readonly CallsRow[]): string {
  // The shape in which all servers are compared.
  const rows = all.filter(({ key }) =>
    shapeIn(key) === shapeIn(all[0]?.key ?? "")
  );
  return callsPlot(
    "Calls per second, 50 pairs",
    "calls/s",
    rows,
    (row) => row.callsPerSecond,
  );
}

const latencyPlot = (rows: readonly CallsRow[]): string =>
  callsPlot(
    "99 of 100 calls are answered within, at half of the floor's rate",
    "p99, µs",
    rows,
    (row) => row.p99,
  );

/** Shows a figure of calls: a group of bars for each answer, a bar for each server. */
function callsPlot(
  title: string,
  yLabel: string,
  rows: readonly CallsRow[],
  read: (row: CallsRow) => number,
): string {
  const keys = unique(rows.map(({ key }) => key));
  return barPlot({
    title,
    yLabel,
    logarithmic: true,
    groups: keys.map(titleOf),
    series: unique(rows.map(({ contestant }) => contestant)).map((name) => ({
      ...labelOf(name),
      values: keys.map((key) => {
        const row = rows.find((row) =>
          row.key === key && row.contestant === name
        );
        return row && read(row);
      }),
    })),
  });
}

const growthPlot = (rows: readonly CallsRow[]): string =>
  linePlot({
    title: "Server CPU per call among many pairs, 100 B, 50 calls on their way",
    xLabel: "pairs of an Agent and a Computer",
    yLabel: "server CPU per call, µs",
    series: seriesOf(rows, (row) => [Number(row.key), row.cpu]),
  });

function seriesOf<R extends { readonly contestant: string }>(
  rows: readonly R[],
  pointOf: (row: R) => readonly [x: number, y: number],
) {
  return unique(rows.map(({ contestant }) => contestant)).map((name) => ({
    ...labelOf(name),
    points: rows.filter((row) => row.contestant === name).map(pointOf),
  }));
}

/** Returns the name of a contestant in tables and plots. */
export const titleOfContestant = (name: string): string =>
  CONTESTANTS[name]?.title ?? name;

/** Returns the color of a contestant, the same in every plot. */
const labelOf = (name: string) => ({
  name: titleOfContestant(name),
  colour: COLORS[Object.keys(CONTESTANTS).indexOf(name)] ?? "#888888",
});

/** In the order of the contestants; readable on white and on black, similar for related ones. */
const COLORS = [
  "#888888",
  "#56b4e9",
  "#0072b2",
  "#f0c040",
  "#d98200",
  "#009e73",
  "#b2df8a",
  "#6cc5a1",
  "#cc79a7",
  "#9b4d7d",
  "#d55e00",
];

const unique = (names: readonly string[]) => [...new Set(names)];
