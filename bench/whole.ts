import { join } from "node:path";
import { disturbancesOf, withoutDisturbed } from "./disturbance.ts";
import { plotsOf, titleOfContestant } from "./report/plots.ts";
import { isSame, thisMachine, versionsOf } from "./report/machine.ts";
import { MEASURES, roundsOf } from "./measure.ts";
import { renderNotes } from "./report/notes.ts";
import { renderPage } from "./report/page.ts";
import type { Part, Report, Taken } from "./report/report.ts";
import { ROOT } from "./contestants/running.ts";
import type { Plan } from "./plan.ts";
import type { Tools } from "./tools.ts";

/**
 * Measures parts of a plan; keeps the results of others, and the earlier ones of a part of which other work
 * disturbed all loads.
 *
 * @param earlier previous results
 * @param tools.keep receives the results after each part, so that an interrupted run is not lost
 * @returns what was measured, disturbed or not
 */
export async function measureParts(
  parts: readonly Part[],
  plan: Plan,
  earlier: Report | undefined,
  tools: Tools & { readonly keep: (report: Report) => Promise<void> },
): Promise<Report | undefined> {
  const { absent } = tools.field;
  let report = earlier;
  let measured: Report["parts"] = {};
  for (const part of parts) {
    tools.tell(`== ${part} ==`);
    const failed = tools.failures.length;
    const found = await MEASURES[part](plan, tools);
    const taken: Taken<Part> = {
      takenAt: new Date().toISOString(),
      rounds: roundsOf(plan, part),
      machine: thisMachine(),
      found,
      failures: tools.failures.slice(failed),
    };
    measured = { ...measured, [part]: taken };
    tools.failures.push(...disturbancesOf(part, found));
    const steady = { ...taken, found: withoutDisturbed(found) };
    if (Array.isArray(steady.found) && steady.found.length === 0) continue;
    // What was measured elsewhere keeps its machine and its versions.
    const elsewhere = report && part !== "relay" &&
        !isSame(report.machine, thisMachine())
      ? report
      : undefined;
    report = {
      machine: elsewhere?.machine ?? thisMachine(),
      versions: elsewhere?.versions ?? {
        ...report?.versions,
        ...await versionsOf(new Set(absent.keys())),
      },
      parts: { ...report?.parts, [part]: steady },
      absent: Object.fromEntries(
        [...absent].map(([name, why]) => [titleOfContestant(name), why]),
      ),
    };
    await tools.keep(report);
  }
  return report && { ...report, parts: { ...report.parts, ...measured } };
}

const PAGE = "performance.md";
const DATA = "performance.json";
const PLOTS = "performance";

/** Reads the results of an earlier run, if any. */
export async function readReport(folder: string): Promise<Report | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(join(folder, DATA)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Writes page, notes, data and plots, formatted by `deno fmt`. */
export async function writeReport(
  folder: string,
  report: Report,
): Promise<void> {
  const remarks = await Deno.readTextFile(join(ROOT, "bench/remarks.md"));
  await Deno.mkdir(join(folder, PLOTS), { recursive: true });
  for (const [name, svg] of Object.entries(plotsOf(report))) {
    await Deno.writeTextFile(join(folder, PLOTS, `${name}.svg`), svg);
  }
  const page = join(folder, PAGE);
  const data = join(folder, DATA);
  // The notes are part of the repository, not of the package.
  const own = folder === join(ROOT, "docs");
  const notes = join(own ? join(ROOT, "bench") : folder, "notes.md");
  await Deno.writeTextFile(data, JSON.stringify(report, rounded));
  await Deno.writeTextFile(page, renderPage(report));
  await Deno.writeTextFile(
    notes,
    renderNotes(report, remarks, own ? "../docs/" : ""),
  );
  await new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", page, data, notes],
  }).output();
}

/** Rounds to six digits, more than the precision of the measurements. */
const rounded = (_key: string, value: unknown) =>
  typeof value === "number" ? Number(value.toPrecision(6)) : value;
