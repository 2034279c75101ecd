import { type CallsRow, OURS, ratioText } from "../calls.ts";
import { answerTitle, shapeTitle } from "../cases.ts";
import { titleOfContestant } from "../contestants/mod.ts";
import { endsTable } from "../ends.ts";
import { mcpTable } from "./mcp.ts";
import { neighboursTable } from "../neighbours/result.ts";
import { type Goal, goalsOf } from "./goals.ts";
import {
  type Found,
  isSame,
  type Part,
  type Report,
  type Taken,
} from "./report.ts";
import { block, number, textTable } from "./text.ts";

/** Writes a table of calls, for a terminal and the page. */
export function callsTable(rows: readonly CallsRow[]): string {
  const hasRedis = rows.some(({ redisCpu }) => redisCpu !== undefined);
  return textTable(
    [
      "answer",
      "pairs × calls",
      "server",
      "CPU µs",
      "× base",
      ...(hasRedis ? ["of it Redis"] : []),
      "calls/s",
      "p50 µs",
      "p99 µs",
    ],
    rows.map((row) => [
      answerTitle(row.key),
      shapeTitle(row.key),
      titleOfContestant(row.contestant),
      number(row.cpu, 1),
      ratioText(row.cpuRatio),
      ...(hasRedis
        ? [row.redisCpu === undefined ? "" : number(row.redisCpu, 1)]
        : []),
      number(row.callsPerSecond),
      number(row.p50),
      number(row.p99),
    ]),
  );
}

/** The table of each part, for a terminal. */
export const TABLES: { readonly [P in Part]: (found: Found[P]) => string } = {
  relay: callsTable,
  growth: callsTable,
  platforms: callsTable,
  cluster: callsTable,
  ends: endsTable,
  mcp: mcpTable,
  neighbours: neighboursTable,
};

/** Writes the page. */
export function renderPage(report: Report): string {
  const { relay, ends, mcp, cluster, platforms } = report.parts;
  return [
    "# Performance",
    "<!-- Written by `deno task bench`: edit bench/report. -->",
    introduction(report),
    "## Goals",
    "Ratios inside one run, medians of its rounds; in parentheses the lowest and the highest. CPU is the server's per call, over the floor's. \"50 × 4\" are 50 pairs of an Agent and a Computer with four calls each in flight. A load under which the floor's CPU spread over more than 25 % is not published. Limits are at their defaults, but for events per second.",
    block(goalsTable(goalsOf(report.parts))),
    ...elsewhere(report),
    ...relay ? relaySection(relay.found, relay.rounds) : [],
    ...ends
      ? [
        "## Agent, Server and Computer",
        "`echo` of `@modelcontextprotocol/server-everything`, a child process over stdio: called by the MCP SDK's own client, and by an Agent over a Server at a Computer, each a process of its own or all in one. One call at a time, each way in turn, the median of rounds' medians. The answer has the size of the argument.",
        block(endsTable(ends.found)),
      ]
      : [],
    ...mcp
      ? [
        "## An office over MCP",
        "Other programs that serve an MCP server of stdio over HTTP, each started as its page shows, with the same server behind it, a Node program of its own: CPU of a call in all processes, also that server's. Each takes turns with the first, and ratios are to that in the same round; half of a turn's calls before those that count warm it up. A session's memory is that of an idle one after half a minute. `supergateway` starts a server for each session.",
        ...loadOf(mcp),
        block(mcpTable(mcp.found)),
      ]
      : [],
    ...cluster
      ? [
        "## Several Servers",
        "Servers that share their offices through one Redis, all on one machine: CPU per call of all processes together, and its ratio to that of the row above. What follows for operators: [sizing](scaling.md#sizing).",
        block(callsTable(cluster.found)),
      ]
      : [],
    ...platforms
      ? [
        "## Platforms",
        "The Server on each runtime, each in turn in every round.",
        block(callsTable(platforms.found)),
      ]
      : [],
    REPEAT.trim(),
  ].join("\n\n") + "\n";
}

function introduction({ machine, deno, parts }: Report): string {
  const day = parts.relay ? `, ${parts.relay.takenAt.slice(0, 10)}` : "";
  return `What the Server costs, beside a bare WebSocket relay that only passes frames on (the *floor*) and stock Socket.IO. ${machine.processor}, ${machine.cores} cores; Deno ${deno}${day}. A figure in µs is that machine's; a ratio to the floor holds elsewhere. As data: [performance.json](performance.json).`;
}

/** Says how busy the machine was, if it was more than with the benchmark. */
const loadOf = ({ load = 0, machine }: Taken<Part>): string[] =>
  load <= (machine?.cores ?? 0) + 1 ? [] : [
    `Other work kept the machine busy: a load average of ${
      number(load)
    } on its ${machine?.cores} cores. The first line is that program beside itself, and shows what that does to a ratio.`,
  ];

/** Says which figures are from another machine than the others. */
const elsewhere = ({ machine, parts }: Report): string[] =>
  Object.entries(parts).flatMap(([part, { machine: own = machine }]) =>
    isSame(own, machine)
      ? []
      : `Those of ${
        part === "mcp" ? "MCP" : part
      } are of another machine: ${own.processor}, ${own.cores} cores.`
  );

/** Writes which goals are met. */
export const goalsTable = (goals: readonly Goal[]): string =>
  textTable(
    ["figure", "goal", "measured", "met"],
    goals.map(({ figure, goal, measured, met }) => [
      figure,
      goal,
      measured,
      met ? "yes" : "no",
    ]),
  );

/** Writes the main table: a line for each load. */
function relaySection(rows: readonly CallsRow[], rounds: number): string[] {
  const rowOf = (key: string, contestant: string) =>
    rows.find((row) => row.key === key && row.contestant === contestant);
  return [
    "## A call",
    `Server CPU per call by the size of the answer, and by pairs × calls of each in flight. Agents call as fast as answers come. Medians of ${rounds} rounds, in which the servers took turns. The first second of the load in a new process is apart.`,
    block(textTable(
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
        const ours = rowOf(key, OURS);
        return [
          answerTitle(key),
          shapeTitle(key),
          ours ? number(ours.cpu, 1) : "",
          ratioText(ours?.cpuRatio),
          ratioText(ours?.first?.cpuRatio),
          ratioText(rowOf(key, "stock")?.cpuRatio),
          ours ? number(ours.callsPerSecond) : "",
        ];
      }),
    )),
    "![Server CPU per call, times the floor's](performance.svg)",
  ];
}

const REPEAT = `
## How to repeat it

\`deno task bench\` writes this page: on Linux with a C compiler, an hour, and nothing else to do. \`bench/notes.md\` of the repository has how it was measured, and why a goal is missed. \`deno task bench relay\` and the names of the other parts (\`deno task bench --help\`) measure one of them and write nothing; \`deno task bench against FOLDER\` compares the CPU of a call with that of another checkout. \`deno task bench neighbours\` measures, in ten minutes, how long a call waits while a member of another office sends the worst payloads that are let in, event by event; with \`--checkout FOLDER\` at the Server of another checkout.
`;
