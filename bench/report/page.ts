import { shapeIn } from "../calls.ts";
import { type CallsRow, OURS } from "../calls_summary.ts";
import { clusterPage } from "../cluster/render.ts";
import { type Goal, goalsOf, titleOf } from "./goals.ts";
import { isSame } from "./machine.ts";
import { number, textTable } from "./markdown.ts";
import { titleOfContestant } from "./plots.ts";
import type { Report } from "./report.ts";
import { ratioText } from "./tables.ts";

/** Writes the page for readers of the package; everything else is in the notes. */
export function renderPage(report: Report): string {
  const { relay, others, cluster } = report.parts;
  return [
    "# Performance",
    "<!-- Written by `deno task bench`: edit bench/report. -->",
    introduction(report),
    "## Goals",
    "Ratios inside one run, medians of its rounds; in parentheses the lowest and the highest. CPU is the server's per call, over the floor's. \"50 × 4\" are 50 pairs of an Agent and a Computer with four calls each in flight. A load under which the floor's CPU spread over more than 25 % is not published. Limits are at their defaults, but for events per second.",
    goalsTable(goalsOf(report)),
    ...elsewhere(report),
    ...relay ? relaySection(relay.found, relay.rounds) : [],
    ...others ? othersSection(others.found) : [],
    ...cluster ? clusterPage(cluster.found) : [],
    REPEAT.trim(),
  ].join("\n\n") + "\n";
}

function introduction({ machine, versions, parts }: Report): string {
  const day = parts.relay ? `, ${parts.relay.takenAt.slice(0, 10)}` : "";
  return `What the Server costs, beside a bare WebSocket relay that only passes frames on (the *floor*), stock Socket.IO and the servers of the other SDKs. ${machine.processor}, ${machine.cores} cores; Deno ${
    versions.Deno ?? ""
  }${day}. A figure in µs is that machine's; a ratio to the floor says more. As data: [performance.json](performance.json).`;
}

/** Says which figures are from another machine than the others. */
function elsewhere({ machine, parts }: Report): string[] {
  const others = {
    "MCP": parts.mcp,
    "several Servers": parts.cluster,
    "platforms": parts.platforms,
  };
  return Object.entries(others).flatMap(([name, taken]) => {
    const own = taken?.machine;
    if (own === undefined || isSame(own, machine)) return [];
    return [
      `Those of ${name} are of another machine: ${own.processor}, ${own.cores} cores.`,
    ];
  });
}

/** Writes which goals are met; leaves out what was disturbed. */
const goalsTable = (goals: readonly Goal[]): string =>
  textTable(
    ["figure", "goal", "measured", "met"],
    goals.filter(({ met }) => met !== undefined)
      .map(({ figure, goal, measured, met }) => [
        figure.replace("server CPU per call / floor", "CPU"),
        ...[goal, measured, met ? "yes" : "no"],
      ]),
  );

/** Writes the main table. */
function relaySection(rows: readonly CallsRow[], rounds: number): string[] {
  const rowOf = (key: string, contestant: string) =>
    rows.find((row) => row.key === key && row.contestant === contestant);
  return [
    "## A call",
    `Server CPU per call by the size of the answer, and by pairs × calls of each in flight. Agents call as fast as answers come. Medians of ${rounds} rounds, in which the servers took turns. The first second of the load in a new process is apart.`,
    textTable(
      [
        "answer",
        "pairs × calls",
        "µs",
        "× floor",
        "first second, × floor",
        "Socket.IO, × floor",
        "calls/s",
      ],
      [...new Set(rows.map(({ key }) => key))].map((key) => {
        const [ours, stock] = [OURS, "stock"].map((name) => rowOf(key, name));
        return [
          titleOf(key),
          shapeIn(key),
          ours ? number(ours.cpu, 1) : "",
          ratioText(ours?.cpuRatio),
          ratioText(ours?.first?.cpuRatio),
          ratioText(stock?.cpuRatio),
          ours ? number(ours.callsPerSecond) : "",
        ];
      }),
    ),
    "![Server CPU per call, times the floor's](performance/cpu.svg)",
  ];
}

/** Writes a table with answers as rows and servers as columns. */
function othersSection(rows: readonly CallsRow[]): string[] {
  const keys = [...new Set(rows.map(({ key }) => key))];
  const contestants = [...new Set(rows.map(({ contestant }) => contestant))];
  return [
    "## Other servers, and other scripts",
    "Server CPU per call in µs, measured apart from the above.",
    textTable(
      ["answer", "pairs × calls", ...contestants.map(titleOfContestant)],
      keys.map((key) => [
        titleOf(key),
        shapeIn(key),
        ...contestants.map((contestant) => {
          const row = rows.find((row) =>
            row.key === key && row.contestant === contestant
          );
          return row === undefined ? "" : number(row.cpu, 1);
        }),
      ]),
    ),
  ];
}

const REPEAT = `
## How to repeat it

\`deno task bench\` writes this page: on Linux with a C compiler, an hour and a half, and nothing else to do. \`bench/notes.md\` of the repository has every table, how it was measured, and why a goal is missed. \`deno task bench neighbours\` measures, in ten minutes, how long a call waits while a member of another office sends the worst payloads that are let in, event by event; with \`--server FILE\` that of another checkout.
`;
