import { clusterPlot } from "../cluster/plot.ts";
import type { CallsRow } from "../calls_summary.ts";
import { CONTESTANTS } from "../contestants/mod.ts";
import { barPlot, linePlot } from "../plot/mod.ts";
import { CPU_GOALS, IDLE_GOAL_BYTES, titleOf } from "./goals.ts";
import type { Report } from "./report.ts";

/** Draws the plots of a report as SVG, by name; omits parts without figures. */
export function plotsOf({ parts }: Report): Record<string, string> {
  const { relay, open, growth, broadcast, idle, cluster } = parts;
  return {
    ...relay && {
      cpu: cpuPlot(relay.found),
      throughput: throughputPlot(relay.found),
    },
    ...open && { latency: latencyPlot(open.found) },
    ...growth && { growth: growthPlot(growth.found) },
    ...broadcast && {
      broadcast: linePlot({
        title: "Telling all members of an office",
        xLabel: "members of the office",
        yLabel: "server CPU per delivery, µs",
        series: seriesOf(broadcast.found, (row) => [row.members, row.cpu]),
      }),
    },
    ...idle && {
      idle: linePlot({
        title: "Memory of a member that does nothing",
        xLabel: "members",
        yLabel: "KB per member",
        series: seriesOf(
          idle.found,
          (row) => [row.members, row.bytesPerMember / 1000],
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

function cpuPlot(rows: readonly CallsRow[]): string {
  const keys = unique(rows.map(({ key }) => key));
  const names = unique(rows.map(({ contestant }) => contestant))
    .filter((name) => name !== "floor" && IN_CPU_PLOT.test(name));
  return barPlot({
    title: "Server CPU per call, times the floor's",
    yLabel: "× floor",
    groups: keys.map(titleOf),
    series: names.map((name) => ({
      ...labelOf(name),
      values: keys.map((key) =>
        rows.find((row) => row.key === key && row.contestant === name)
          ?.cpuRatio?.mid
      ),
    })),
    goals: { values: keys.map((key) => CPU_GOALS[key]), words: "- - - goal" },
  });
}

/** Excludes the other SDKs' servers, whose bars would make all others invisible. */
const IN_CPU_PLOT = /^(ws|stock|ours)/;

function throughputPlot(rows: readonly CallsRow[]): string {
  const keys = unique(rows.map(({ key }) => key)).slice(0, 3);
  return barPlot({
    title: "Calls per second, 50 pairs",
    yLabel: "calls/s",
    logarithmic: true,
    groups: keys.map(titleOf),
    series: unique(rows.map(({ contestant }) => contestant)).map((name) => ({
      ...labelOf(name),
      values: keys.map((key) =>
        rows.find((row) => row.key === key && row.contestant === name)
          ?.callsPerSecond
      ),
    })),
  });
}

const latencyPlot = (rows: readonly CallsRow[]): string =>
  linePlot({
    title: "99 of 100 calls are answered within, 100 B",
    xLabel: "calls per second, whether answers come or not",
    yLabel: "p99, µs",
    logarithmic: true,
    series: seriesOf(rows, (row) => [Number(row.key), row.p99]),
  });

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
  "#6cc5a1",
  "#cc79a7",
  "#9b4d7d",
  "#d55e00",
];

const unique = (names: readonly string[]) => [...new Set(names)];
