import type { CallsRow } from "../calls_summary.ts";
import { clusterNotes } from "../cluster/render.ts";
import { renderEnds } from "../ends/mod.ts";
import { goalsOf, loadTitle } from "./goals.ts";
import { neighboursSection } from "../neighbours/render.ts";
import { platformsSection } from "../platforms/render.ts";
import { number, table } from "./markdown.ts";
import { titleOfContestant } from "./plots.ts";
import { crossTable, goalsTable, openTable, ratioText } from "./tables.ts";
import { METHOD } from "./method.ts";
import { median } from "../statistics.ts";
import type { Found, Part, Report } from "./report.ts";

/**
 * Writes the laboratory notes: all tables and plots, and the method.
 *
 * @param remarks comments about the figures, as Markdown
 * @param pages path from the notes to the folder with the page, the data and the plots
 */
export function renderNotes(
  report: Report,
  remarks: string,
  pages: string,
): string {
  const { relay, others, open, growth, ends, cluster, platforms, neighbours } =
    report.parts;
  return [
    "# Laboratory notes",
    "<!-- Written by `deno task bench`: edit bench/report, or bench/remarks.md. -->",
    `All that is behind [the page about performance](${pages}performance.md); the figures as data: [performance.json](${pages}performance.json).`,
    ...remarks === "" ? [] : [remarks.trim()],
    "## Goals",
    goalsTable(goalsOf(report)),
    ...relay ? relaySection(relay.found, relay.rounds) : [],
    ...others ? othersSection(others.found, others.rounds) : [],
    ...open ? openSection(open.found, open.rounds) : [],
    ...growth ? growthSection(growth.found, growth.rounds) : [],
    ...broadcastSection(report),
    ...idleSection(report),
    ...cluster ? clusterNotes(cluster.found) : [],
    ...platforms ? platformsSection(platforms.found) : [],
    ...neighbours ? neighboursSection(neighbours.found) : [],
    ...ends ? [renderEnds(ends.found).trim()] : [],
    ...absentSection(report),
    METHOD.trim(),
    "## Where and when",
    machineTable(report),
  ].join("\n\n").replaceAll("](performance/", `](${pages}performance/`) + "\n";
}

function relaySection(rows: readonly CallsRow[], rounds: number): string[] {
  return [
    "## A call, as fast as it goes",
    `Pairs of an Agent and a Computer, each in an office of its own; each Agent keeps so many \`client:tool_call\` in flight. Medians of ${rounds} rounds. "First" is the first second of the load in a new process. Memory is the most that the server had.`,
    "![Server CPU per call, times the floor's](performance/cpu.svg)",
    ...tablesOf(rows),
  ];
}

function othersSection(rows: readonly CallsRow[], rounds: number): string[] {
  return [
    "## Other servers, and other scripts",
    `The same, measured apart. Medians of ${rounds} rounds.`,
    "![Calls per second](performance/throughput.svg)",
    ...tablesOf(rows),
  ];
}

/** Writes a table for each load. */
const tablesOf = (rows: readonly CallsRow[]): string[] =>
  [...Map.groupBy(rows, ({ key }) => key)].flatMap(([key, mine]) => [
    `### ${loadTitle(key)}`,
    table(
      [
        "server",
        "CPU µs",
        "× floor",
        "first, × floor",
        "calls/s",
        "p50 µs",
        "p90",
        "p99",
        "p99.9",
        "first, p99",
        "MiB",
      ],
      mine.map((row) => [
        nameOf(row.contestant),
        number(row.cpu, 1),
        ratioText(row.cpuRatio),
        ratioText(row.first?.cpuRatio),
        number(row.callsPerSecond),
        ...[row.p50, row.p90, row.p99, row.p999].map((time) => number(time)),
        row.first ? number(row.first.p99) : "",
        number(row.peakRssBytes / 2 ** 20),
      ]),
    ),
  ]);

function openSection(rows: readonly CallsRow[], rounds: number): string[] {
  return [
    "## Calls at half of the floor's rate",
    `50 pairs; half as many calls per second as the floor answers are sent whether answers come or not, and each is timed from the moment at which it was due. Medians of ${rounds} rounds.`,
    "![p99 by the size of the answer](performance/latency.svg)",
    openTable(rows),
  ];
}

function growthSection(rows: readonly CallsRow[], rounds: number): string[] {
  return [
    "## Growth",
    "### More pairs",
    `50 calls are on their way at any time; each is made by another pair than the one before, round and round, so that what grows is only the number of pairs. 100 B, medians of ${rounds} rounds, server CPU per call in µs.`,
    "![Server CPU per call over pairs](performance/growth.svg)",
    crossTable(
      "pairs",
      rows.map(({ key, contestant, cpu }) => ({
        at: Number(key),
        contestant,
        cell: number(cpu, 1),
      })),
    ),
  ];
}

function broadcastSection({ parts: { broadcast } }: Report): string[] {
  if (broadcast === undefined) return [];
  return [
    "### Telling an office",
    `One Computer after the other says that its tools changed; the next does when all members have heard it. Medians of ${broadcast.rounds} rounds: server CPU per delivery in µs, and in parentheses the median time in ms until the last has heard it.`,
    "![Server CPU per delivery over members](performance/broadcast.svg)",
    crossTable(
      "members",
      broadcast.found.map((row) => ({
        at: row.members,
        contestant: row.contestant,
        cell: `${number(row.cpu.mid, 1)} (${number(row.p50 / 1000, 1)})`,
      })),
    ),
  ];
}

function idleSection({ parts: { idle } }: Report): string[] {
  if (idle === undefined) return [];
  return [
    "### Members that do nothing",
    `Agents and Computers in offices of two connect, 64 at a time, join and stay. Medians of ${idle.rounds} rounds: memory per member in KB beyond that of a server with two, then joins per second and server CPU per join.`,
    "![Memory per idle member](performance/idle.svg)",
    "![Joins per second](performance/joins.svg)",
    crossTable(
      "members",
      idle.found.map((row) => ({
        at: row.members,
        contestant: row.contestant,
        cell: `${number(row.bytesPerMember.mid / 1000, 1)} KB, ${
          number(row.joinsPerSecond)
        }/s, ${number(row.cpuPerJoin)} µs`,
      })),
    ),
  ];
}

function absentSection({ absent, parts }: Report): string[] {
  const lines = [
    ...Object.entries(absent).map(([name, why]) => `${name}: ${why}`),
    ...Object.entries(parts).flatMap(([part, { failures = [] }]) =>
      failures.map((failure) => `${part}: ${failure}`)
    ),
  ];
  if (lines.length === 0) return [];
  return [
    "## What could not be measured",
    lines.map((line) => `- ${line}`).join("\n"),
  ];
}

function machineTable({ machine, versions, parts }: Report): string {
  return table(["", ""], [
    ["processor", `${machine.processor}, ${machine.cores} cores`],
    ["memory", `${number(machine.memoryBytes / 2 ** 30)} GiB`],
    ["system", machine.system],
    ...Object.entries(versions),
    ...Object.entries(parts).map(([part, { takenAt, found }]) => [
      `part \`${part}\` taken`,
      `${takenAt.slice(0, 16).replace("T", " ")} UTC${disturbance(found)}`,
    ]),
  ]);
}

/** Describes the load by other processes during the measurements, if known. */
function disturbance(found: Found[Part]): string {
  const shares = Array.isArray(found)
    ? found.flatMap((row) => "othersShare" in row ? [row.othersShare] : [])
    : [];
  if (shares.length === 0) return "";
  const percent = (share: number) => `${number(100 * share)} %`;
  return `; other processes: ${percent(median(shares))} of a core, at most ${
    percent(Math.max(...shares))
  }`;
}

const nameOf = (contestant: string) =>
  contestant.startsWith("ours")
    ? `**${titleOfContestant(contestant)}**`
    : titleOfContestant(contestant);
