import { join } from "node:path";
import { plotsOf, titleOfContestant } from "./report/plots.ts";
import { thisMachine, versionsOf } from "./report/machine.ts";
import { MEASURES, roundsOf } from "./measure.ts";
import { renderPage } from "./report/page.ts";
import type { Part, Report, Taken } from "./report/report.ts";
import { ROOT } from "./contestants/running.ts";
import type { Plan } from "./plan.ts";
import type { Tools } from "./tools.ts";

/**
 * Measures parts of a plan; the others stay as they were.
 *
 * @param earlier what is known already
 */
export async function measureParts(
  parts: readonly Part[],
  plan: Plan,
  earlier: Report | undefined,
  tools: Tools,
): Promise<Report> {
  const taken: Record<string, Taken<Part>> = { ...earlier?.parts };
  for (const part of parts) {
    tools.tell(`== ${part} ==`);
    const earlier = tools.failures.length;
    const found = await MEASURES[part](plan, tools);
    taken[part] = {
      takenAt: new Date().toISOString(),
      rounds: roundsOf(plan, part),
      found,
      failures: tools.failures.slice(earlier),
    };
  }
  const { absent } = tools.field;
  return {
    machine: thisMachine(),
    versions: {
      ...earlier?.versions,
      ...await versionsOf(new Set(absent.keys())),
    },
    parts: taken as Report["parts"],
    absent: Object.fromEntries(
      [...absent].map(([name, why]) => [titleOfContestant(name), why]),
    ),
  };
}

const PAGE = "performance.md";
const DATA = "performance.json";
const PLOTS = "performance";

/** Reads what an earlier run wrote, if one did. */
export async function readReport(folder: string): Promise<Report | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(join(folder, DATA)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Writes page, data and plots, formatted like everything in the repository. */
export async function writeReport(
  folder: string,
  report: Report,
): Promise<void> {
  const notes = await Deno.readTextFile(join(ROOT, "tests/bench/notes.md"));
  await Deno.mkdir(join(folder, PLOTS), { recursive: true });
  for (const [name, svg] of Object.entries(plotsOf(report))) {
    await Deno.writeTextFile(join(folder, PLOTS, `${name}.svg`), svg);
  }
  const [page, data] = [join(folder, PAGE), join(folder, DATA)];
  await Deno.writeTextFile(data, JSON.stringify(report, rounded, 2));
  await Deno.writeTextFile(page, renderPage(report, notes));
  await new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", page, data],
  }).output();
}

/** Six digits are more than is known. */
const rounded = (_key: string, value: unknown) =>
  typeof value === "number" ? Number(value.toPrecision(6)) : value;
