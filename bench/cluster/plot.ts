import { payloadOf } from "../payloads.ts";
import { barPlot } from "../plot/mod.ts";
import { OTHER_GOALS } from "./goals.ts";
import type { ClusterResult } from "./result.ts";

/** Draws what a cluster costs, by the size of the answer. */
export const clusterPlot = ({ compared }: ClusterResult): string =>
  barPlot({
    title: "CPU per call with a cluster, all processes together",
    yLabel: "times",
    groups: compared.map(({ key }) => payloadOf(key).title),
    series: [
      {
        name: "ends at two Servers / at one",
        colour: "#0072b2",
        values: compared.map(({ other }) => other?.mid),
      },
      {
        name: "inside one: with --cluster / without",
        colour: "#009e73",
        values: compared.map(({ within }) => within?.mid),
      },
    ],
    goals: {
      values: compared.map(({ key }) => OTHER_GOALS[key]),
      words: "- - - goal of two Servers",
    },
  });
