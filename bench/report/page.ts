import type { CallsRow } from "../calls_summary.ts";
import { clusterPage } from "../cluster/render.ts";
import { platformsSection } from "../platforms/render.ts";
import { goalsOf, titleOf } from "./goals.ts";
import { isSame } from "./machine.ts";
import { number, table } from "./markdown.ts";
import { titleOfContestant } from "./plots.ts";
import type { Report } from "./report.ts";

/** Writes the page for readers of the package; everything else is in the notes. */
export function renderPage(report: Report): string {
  const { relay, open, cluster, platforms } = report.parts;
  return [
    "# Performance",
    "<!-- Written by `deno task bench`: edit bench/report. -->",
    introduction(report),
    "## Goals",
    "Ratios inside one run; in parentheses the lowest and the highest round. Where these are far apart, other work disturbed the machine: `bench/notes.md` says when. The server's limits are at their defaults, but for events per second, which would stop the load itself.",
    goalsTable(report),
    ...elsewhere(report),
    ...relay ? relaySection(relay.found) : [],
    ...open
      ? [
        "## Latency",
        "Calls at a given rate, each timed from the moment at which it was due.",
        "![p99 over calls per second](performance/latency.svg)",
      ]
      : [],
    ...cluster ? clusterPage(cluster.found) : [],
    ...platforms ? platformsSection(platforms.found) : [],
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

function goalsTable(report: Report): string {
  return table(
    ["figure", "goal", "measured", "met"],
    goalsOf(report).map(({ figure, goal, measured, met }) => [
      figure,
      goal,
      measured,
      met === undefined ? "" : met ? "yes" : "**no**",
    ]),
  );
}

/** Writes a table with answers as rows and servers as columns. */
function relaySection(rows: readonly CallsRow[]): string[] {
  const keys = [...new Set(rows.map(({ key }) => key))];
  const contestants = [...new Set(rows.map(({ contestant }) => contestant))];
  const cpu = (key: string, contestant: string) =>
    rows.find((row) => row.key === key && row.contestant === contestant)?.cpu;
  return [
    "## A call",
    "Server CPU per call in µs: 50 Agents, each with a Computer in an office of its own, call as fast as answers come. Medians of rounds, by the size of the answer.",
    table(
      ["answer", ...contestants.map(titleOfContestant)],
      keys.map((key) => [
        titleOf(key),
        ...contestants.map((contestant) => {
          const found = cpu(key, contestant);
          return found === undefined ? "" : number(found, 1);
        }),
      ]),
    ),
    "![Server CPU per call, times the floor's](performance/cpu.svg)",
  ];
}

const REPEAT = `
## How to repeat it

\`deno task bench\` measures all of it and writes this page. It needs Linux, a C compiler, an hour and a half, and a machine with nothing else to do. \`deno task bench --parts open\` measures one part again, \`deno task bench relay\` prints a table for a change in hand, and \`deno task bench:quick\` only proves that each part runs.

Every table, how it was measured, and why a goal is missed are in \`bench/notes.md\` of the repository.
`;
