import { join } from "node:path";
import { renderPage } from "./page.ts";
import { cpuPlot } from "./plot.ts";
import type { Report } from "./report.ts";

const PAGE = "performance.md";
const DATA = "performance.json";
const PLOT = "performance.svg";

/** Reads the results of an earlier run, if any. */
export async function readReport(folder: string): Promise<Report | undefined> {
  try {
    return JSON.parse(await Deno.readTextFile(join(folder, DATA)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Writes page, data and plot; the page formatted by `deno fmt`. */
export async function writeReport(
  folder: string,
  report: Report,
): Promise<void> {
  const { relay } = report.parts;
  if (relay) await Deno.writeTextFile(join(folder, PLOT), cpuPlot(relay.found));
  const page = join(folder, PAGE);
  await Deno.writeTextFile(join(folder, DATA), JSON.stringify(report, rounded));
  await Deno.writeTextFile(page, renderPage(report));
  await new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--quiet", page],
  }).output();
}

/** Rounds to six digits, more than the precision of the measurements. */
const rounded = (_key: string, value: unknown) =>
  typeof value === "number" ? Number(value.toPrecision(6)) : value;
