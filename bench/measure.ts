/** The runner of all parts. */
import { loadavg } from "node:os";
import { disturbancesOf, isDisturbed, measureRows } from "./calls.ts";
import type { CallsPart, Plan } from "./cases.ts";
import { measureEnds } from "./ends.ts";
import { measureMcp } from "./mcp.ts";
import { measureNeighbours } from "./neighbours/mod.ts";
import { worstOnly } from "./neighbours/result.ts";
import {
  type Found,
  isSame,
  type Part,
  type Report,
  thisDeno,
  thisMachine,
} from "./report/report.ts";
import type { Tools } from "./tools.ts";

const rowsOf = (part: CallsPart) => (plan: Plan, tools: Tools) => {
  const { calls, rounds, only = "" } = plan;
  const groups = calls[part].filter(({ key }) => key.match(only));
  return measureRows(groups, rounds, tools);
};

/** Measures one part of a plan. */
export const MEASURES: {
  readonly [P in Part]: (plan: Plan, tools: Tools) => Promise<Found[P]>;
} = {
  relay: rowsOf("relay"),
  growth: rowsOf("growth"),
  ends: measureEnds,
  mcp: measureMcp,
  cluster: rowsOf("cluster"),
  platforms: rowsOf("platforms"),
  neighbours: async (plan, { tell }) =>
    worstOnly(await measureNeighbours(plan, tell)),
};

/** The parts in order. */
export const PARTS = Object.keys(MEASURES) as Part[];

/**
 * Measures parts of a plan; keeps the results of others, and the earlier ones of a part of which other work
 * disturbed all loads.
 *
 * @param earlier previous results
 * @param keep receives the results after each part, so that an interrupted run is not lost
 */
export async function measureParts(
  parts: readonly Part[],
  plan: Plan,
  tools: Tools,
  { earlier, keep }: {
    readonly earlier: Report | undefined;
    readonly keep: (report: Report) => Promise<void>;
  },
): Promise<Report | undefined> {
  let report = earlier;
  for (const part of parts) {
    tools.tell(`== ${part} ==`);
    const measured = await MEASURES[part](plan, tools);
    const found = isRows(measured)
      ? measured.filter((row) => !isDisturbed(row))
      : measured;
    if (isRows(measured)) tools.failures.push(...disturbancesOf(measured));
    if (Array.isArray(found) && found.length === 0) continue;
    // Results of another machine keep its name on the page, but those of `relay` define it.
    const machine = thisMachine();
    const other = report && part !== "relay" &&
        !isSame(report.machine, machine)
      ? report
      : undefined;
    const takenAt = new Date().toISOString();
    const [, , load = 0] = loadavg();
    const taken = { takenAt, rounds: plan.rounds, load, machine, found };
    report = {
      machine: other?.machine ?? machine,
      deno: other?.deno ?? thisDeno(),
      parts: { ...report?.parts, [part]: taken },
    };
    await keep(report);
  }
  return report;
}

const isRows = (found: Found[Part]): found is Found[CallsPart] =>
  Array.isArray(found) && found.every((row) => "contestant" in row);
