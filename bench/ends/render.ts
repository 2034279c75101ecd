import {
  type BundleSize,
  type CommandCost,
  type EndsResult,
  type Overhead,
  type PathCost,
  type PayloadOverhead,
  type Stage,
  STAGES,
} from "./result.ts";

/** Writes the results as a section of a Markdown page. */
export const renderEnds = (
  { overhead, commands, bundle }: EndsResult,
): string =>
  [
    "## The other ends",
    ...renderOverhead(overhead),
    ...renderCommands(commands),
    ...renderBundle(bundle),
  ].join("\n\n") + "\n";

function renderOverhead({ rounds, calls, payloads }: Overhead): string[] {
  const columns = payloads.map(({ bytes }) => size(bytes));
  const row = (
    name: string,
    cell: (payload: PayloadOverhead) => string,
  ): string[] => [name, ...payloads.map(cell)];
  return [
    "### A tool call beside the same MCP call",
    `\`echo\` of \`@modelcontextprotocol/server-everything\`, a child process over stdio: called by the MCP SDK's own client, and by an Agent over a Server at a Computer, each a process of its own or all in one. One call at a time, ${calls} of each in turn, median of ${rounds} rounds' p50. The argument has the size in the heading, and so has the answer.`,
    table(["", ...columns], [
      row("direct MCP call", ({ paths }) => micro(paths.direct.p50)),
      row("Agent, Server, Computer", ({ paths }) => micro(paths.agent.p50)),
      row("… / direct", ({ paths }) => ratio(paths.agent, paths.direct)),
      row(
        "… in one process",
        ({ paths: { here } }) => here ? micro(here.p50) : "",
      ),
      row(
        "… in one process / direct",
        ({ paths }) => paths.here ? ratio(paths.here, paths.direct) : "",
      ),
      row("… and a VRL program", ({ paths }) => micro(paths.vrl.p50)),
    ]),
    "Where the time goes: the median of each part, direct → through the protocol. What the Agent waits for and the Computer does not spend is the Server's and the wires'.",
    table(
      ["part", ...columns],
      (Object.keys(STAGES) as Stage[]).map((stage) =>
        row(
          STAGES[stage],
          ({ paths: { direct, agent } }) =>
            [direct, agent].flatMap(({ stages }) =>
              stages[stage] === undefined ? [] : [micro(stages[stage])]
            ).join(" → "),
        )
      ),
    ),
    ...renderCpu(payloads, columns),
  ];
}

/** Nothing where the operating system does not tell. */
function renderCpu(
  payloads: readonly PayloadOverhead[],
  columns: readonly string[],
): string[] {
  const processes = Object.keys(payloads[0]?.paths.agent.cpu ?? {});
  if (processes.length === 0) return [];
  const cpu = (
    path: "direct" | "agent",
    name: string,
  ): string[] => [
    path === "direct" ? `direct: ${name}` : name,
    ...payloads.map(({ paths }) => {
      const used = paths[path].cpu[name];
      return used === undefined ? "" : micro(used);
    }),
  ];
  return [
    "CPU time of a call by process, from `/proc`, while one call follows the other:",
    table(["process", ...columns], [
      ...Object.keys(payloads[0]?.paths.direct.cpu ?? {})
        .map((name) => cpu("direct", name)),
      ...processes.map((name) => cpu("agent", name)),
    ]),
  ];
}

/** Commands that are not written as `smcp-` and a name. */
const NAMES: Readonly<Record<string, string>> = {
  nothing: "nothing",
  up: "smcp up",
};

function renderCommands(commands: readonly CommandCost[]): string[] {
  const runtimes = [...new Set(commands.map(({ runtime }) => runtime))];
  const names = [...new Set(commands.map(({ command }) => command))];
  return [
    "### Start-up and memory of the commands",
    "From the start of the process to the line that says it is ready (the Server answers `/health`, the Computer and the Agent have joined an office, a call has its answer), and the memory half a second later, of a call the most; medians. `nothing` prints a line: what the runtime itself takes. The Computer hosts no MCP server.",
    table(
      ["command", ...runtimes.flatMap((name) => [name, "memory"])],
      names.map((name) => [
        NAMES[name] ?? `smcp-${name}`,
        ...runtimes.flatMap((runtime) => {
          const cost = commands.find((one) =>
            one.command === name && one.runtime === runtime
          );
          return [
            cost ? `${cost.ready.toFixed(0)} ms` : "",
            cost?.memory === undefined ? "" : `${cost.memory.toFixed(0)} MiB`,
          ];
        }),
      ]),
    ),
  ];
}

function renderBundle({ minified, gzip, brotli, parts }: BundleSize): string[] {
  return [
    "### The Agent in browsers",
    `\`SmcpAgent\` of the npm package, bundled and minified by esbuild: ${
      kilo(minified)
    }, ${kilo(gzip)} with gzip, ${
      kilo(brotli)
    } with Brotli. Minified, by package:`,
    table(
      ["package", "size", "share"],
      parts.map(([name, bytes]) => [
        name,
        kilo(bytes),
        `${(100 * bytes / minified).toFixed(0)} %`,
      ]),
    ),
  ];
}

/** The first column to the left, figures to the right. */
function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, i) => i === 0 ? "---" : "--:");
  return [head, rule, ...rows].map(line).join("\n");
}

/** The median, and the lowest and the highest of the rounds where they are known. */
const ratio = ({ p50, ratio }: PathCost, direct: PathCost): string => {
  const mid = `${(ratio?.mid ?? p50 / direct.p50).toFixed(1)}×`;
  return ratio === undefined
    ? mid
    : `${mid} (${ratio.low.toFixed(1)}–${ratio.high.toFixed(1)})`;
};

const micro = (time: number): string => `${time.toFixed(0)} µs`;
const kilo = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`;
const size = (bytes: number): string =>
  bytes < 1000 ? `${bytes} B` : `${bytes / 1000} KB`;
