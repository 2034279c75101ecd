import { payloadOf } from "../payloads.ts";
import { number, table } from "../report/markdown.ts";
import { median } from "../statistics.ts";
import { spreadText } from "../terminal_table.ts";
import type { ClusterIdleRow, ClusterResult, ClusterRow } from "./result.ts";
import { settingOf } from "./settings.ts";

/** Cores of other work from which on a reader has to know of it. */
const DISTURBED_CORES = 0.3;

const PLOT = "![CPU per call with a cluster](performance/cluster.svg)";

/** Writes the page's section about Servers that share their offices, as paragraphs of Markdown. */
export function clusterPage(found: ClusterResult): string[] {
  const keys = [...new Set(found.sizes.map(({ key }) => key))];
  const rowOf = (key: string, setting: string) =>
    found.sizes.find((row) => row.key === key && row.setting === setting);
  return [
    "## Several Servers",
    "Servers that share their offices through one Redis, all on one machine: CPU per call in µs of all processes together, Redis included. 50 pairs of an Agent and a Computer, by the size of the answer. What follows from it for operators: [sizing](scaling.md#sizing).",
    ...disturbance(found),
    table(
      [
        "answer",
        "one Server, no cluster",
        "cluster, both ends at one Server",
        "cluster, ends at two Servers",
        "of it Redis",
      ],
      keys.map((key) => [
        payloadOf(key).title,
        ...["alone", "same", "other"].map((setting) =>
          optional(rowOf(key, setting)?.cpu, 1)
        ),
        optional(rowOf(key, "other")?.redisCpu, 1),
      ]),
    ),
    PLOT,
    "Members of offices of two that connect, 64 at a time, join, and then do nothing but answer pings:",
    idleTable(found.idle),
  ];
}

/** Writes all tables, for the notes and the terminal. */
export function clusterNotes(found: ClusterResult): string[] {
  const { sizes, paced, balanced, idle, programs } = found;
  const names = Object.entries(programs).map((each) => each.join(" "));
  return [
    "## Several Servers",
    `Processes of \`server/main.ts --cluster\` and a Redis of default configuration (${
      names.join(", ")
    }), all on one machine. In each round new ones of every arrangement are started; then they take turns of a second or two, four each, of which a ratio is made. CPU is per call, that of all processes together and of which.`,
    ...disturbance(found),
    PLOT,
    "### Calls by size",
    "50 pairs, each Agent with one call on its way.",
    table(
      ["answer", ...HEAD],
      sizes.map((row) => [payloadOf(row.key).title, ...cells(row)]),
    ),
    "### Calls at a given rate between Servers",
    `${number(paced.rate)} calls/s of ${paced.pairs} pairs, 100 B.`,
    table(HEAD, paced.rows.map(cells)),
    "### Several Servers on one machine",
    `Beside one Server, 50 pairs, 100 B. ${
      programs["HAProxy"] === undefined
        ? "There was no HAProxy, so the load generator gives each next pair to the next Server."
        : "The balancer is HAProxy as docs/scaling.md sets it up, which gives a client to the Server with the fewest connections, so that most calls pass between two of them; without it, the load generator gives each next pair to the next Server."
    }`,
    table(
      [...HEAD, "calls/s × one", "CPU × one"],
      balanced.rows.map((row) => {
        const compared = balanced.compared.find(({ setting }) =>
          setting === row.setting
        );
        const ratios = [compared?.throughput, compared?.cpu];
        return [
          ...cells(row),
          ...ratios.map((ratio) => ratio ? spreadText(ratio) : ""),
        ];
      }),
    ),
    "### Idle members of several Servers",
    "Members of offices of two connect, 64 at a time, join, and then do nothing but answer pings.",
    idleTable(idle),
  ];
}

const HEAD = [
  "Servers",
  "CPU µs",
  "Servers'",
  "Redis'",
  "balancer's",
  "calls/s",
  "p50 ms",
  "p99 ms",
  "generator, cores",
  "others, cores",
];

const cells = (row: ClusterRow) => [
  settingOf(row.setting).title,
  number(row.cpu, 1),
  number(row.nodesCpu, 1),
  optional(row.redisCpu, 1),
  optional(row.balancerCpu, 1),
  number(row.callsPerSecond),
  number(row.p50 / 1000, 2),
  number(row.p99 / 1000, 2),
  number(row.generatorShare, 2),
  number(row.othersShare, 2),
];

const idleTable = (rows: readonly ClusterIdleRow[]) =>
  table(
    [
      "Servers",
      "members",
      "joins/s",
      "CPU µs a join",
      "of it Redis",
      "KB a member",
      "Redis MiB",
      "Servers' cores, idle",
      "Redis', idle",
    ],
    rows.map((row) => [
      settingOf(row.setting).title,
      number(row.members),
      number(row.joinsPerSecond),
      number(row.cpuPerJoin),
      optional(row.redisCpuPerJoin),
      number(row.bytesPerMember / 1000, 1),
      optional(row.redisBytes && row.redisBytes / 2 ** 20),
      number(row.nodesShare, 3),
      optional(row.redisShare, 3),
    ]),
  );

const optional = (value: number | undefined, digits = 0) =>
  value === undefined ? "" : number(value, digits);

/** Says what else ran on the machine, if that was ever much. */
function disturbance(
  { sizes, paced, balanced, idle }: ClusterResult,
): string[] {
  const shares = [sizes, paced.rows, balanced.rows, idle]
    .flatMap((rows) => rows.map(({ othersShare }) => othersShare));
  const most = Math.max(0, ...shares);
  if (most < DISTURBED_CORES) return [];
  return [
    `Measured beside other work, which used ${
      number(median(shares), 1)
    } cores of the machine in the median of these rows, and ${
      number(most, 1)
    } in the worst. Ratios of CPU time bear that; calls per second and latencies are worse than on a quiet machine.`,
  ];
}
