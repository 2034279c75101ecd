import type { CallsRow } from "../calls_summary.ts";
import { clusterNotes } from "../cluster/render.ts";
import { renderEnds } from "../ends/mod.ts";
import { spreadText } from "../terminal_table.ts";
import { titleOf } from "./goals.ts";
import { crossTable } from "./cross_table.ts";
import { platformsSection } from "../platforms/render.ts";
import { number, table } from "./markdown.ts";
import { titleOfContestant } from "./plots.ts";
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
  const { relay, open, growth, ends, cluster, platforms } = report.parts;
  return [
    "# Laboratory notes",
    "<!-- Written by `deno task bench`: edit bench/report, or bench/remarks.md. -->",
    `All that is behind [the page about performance](${pages}performance.md); the figures as data: [performance.json](${pages}performance.json).`,
    ...remarks === "" ? [] : [remarks.trim()],
    ...relay ? relaySection(relay.found, relay.rounds) : [],
    ...open ? openSection(open.found, open.rounds) : [],
    ...growth ? growthSection(growth.found, growth.rounds) : [],
    ...broadcastSection(report),
    ...idleSection(report),
    ...cluster ? clusterNotes(cluster.found) : [],
    ...platforms ? platformsSection(platforms.found) : [],
    ...ends ? [renderEnds(ends.found).trim()] : [],
    ...absentSection(report),
    METHOD.trim(),
    "## Where and when",
    machineTable(report),
  ].join("\n\n").replaceAll("](performance/", `](${pages}performance/`) + "\n";
}

function relaySection(rows: readonly CallsRow[], rounds: number): string[] {
  const keys = [...new Set(rows.map(({ key }) => key))];
  return [
    "## A call, as fast as it goes",
    `50 pairs of an Agent and a Computer, each in an office of its own; each Agent sends its next \`client:tool_call\` when it has the answer to the last. Medians of ${rounds} rounds. Memory is the most that the server had.`,
    "![Server CPU per call, times the floor's](performance/cpu.svg)",
    "![Calls per second](performance/throughput.svg)",
    ...keys.flatMap((key) => [
      `### Answers of ${titleOf(key)}`,
      callsTable(rows.filter((row) => row.key === key), true),
    ]),
  ];
}

function callsTable(rows: readonly CallsRow[], memory: boolean): string {
  return table(
    [
      "server",
      "CPU µs",
      "× floor",
      "calls/s",
      "p50 µs",
      "p90",
      "p99",
      "p99.9",
      ...memory ? ["MiB"] : [],
    ],
    rows.map((row) => [
      nameOf(row.contestant),
      number(row.cpu, 1),
      row.cpuRatio ? spreadText(row.cpuRatio) : "",
      number(row.callsPerSecond),
      ...[row.p50, row.p90, row.p99, row.p999].map((time) => number(time)),
      ...memory ? [number(row.peakRssBytes / 2 ** 20)] : [],
    ]),
  );
}

function openSection(rows: readonly CallsRow[], rounds: number): string[] {
  const keys = [...new Set(rows.map(({ key }) => key))];
  return [
    "## Calls at a given rate",
    `The same pairs, 100 B; so many calls per second are sent whether answers come or not, and each is timed from the moment at which it was due. Medians of ${rounds} rounds.`,
    "![p99 over calls per second](performance/latency.svg)",
    table(
      [
        "calls/s",
        "server",
        "p50 µs",
        "p90",
        "p99",
        "p99.9",
        "p99 × floor",
        "CPU µs",
      ],
      keys.flatMap((key) =>
        rows.filter((row) => row.key === key).map((row) => [
          number(Number(key)),
          nameOf(row.contestant),
          ...[row.p50, row.p90, row.p99, row.p999].map((time) => number(time)),
          row.p99Ratio ? spreadText(row.p99Ratio) : "",
          number(row.cpu, 1),
        ])
      ),
    ),
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
    `One Computer after the other says that its tools changed; the next does when all members have heard it. Medians of ${broadcast.rounds} rounds, one for 5,000 members: server CPU per delivery in µs, and in parentheses the median time in ms until the last has heard it.`,
    "![Server CPU per delivery over members](performance/broadcast.svg)",
    crossTable(
      "members",
      broadcast.found.map((row) => ({
        at: row.members,
        contestant: row.contestant,
        cell: `${number(row.cpu, 1)} (${number(row.p50 / 1000, 1)})`,
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
        cell: `${number(row.bytesPerMember / 1000, 1)} KB, ${
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
