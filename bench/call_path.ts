import { Session } from "node:inspector/promises";
import { pathToFileURL } from "node:url";
import { HOUSE } from "../tools/lint/layering_rules.ts";
import { fixture } from "../tests/support/computer/mcp_servers.ts";
import { textTable } from "./report/text.ts";

const OFFICE = "call-path";
/** Calls before any is counted: connections are upgraded, and what is made once is made. */
const WARMUP_CALLS = 50;
/** Calls that are counted, each by itself. */
const COUNTED_CALLS = 9;

/** The part of a report of V8 that is read. */
interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly {
      readonly startOffset: number;
      readonly count: number;
    }[];
  }[];
}

/**
 * Counts the functions that one warm call of `echo` runs through, all roles in this process, the
 * MCP server in another; what packages run is not counted.
 *
 * @param root folder of the checkout that is measured, this one or an older
 */
export async function measureCallPath(root: string): Promise<FunctionCount[]> {
  const base = pathToFileURL(`${root}/`);
  const { createSmcpServer, SmcpAgent, SmcpComputer }:
    typeof import("../mod.ts") = await import(new URL("mod.ts", base).href);
  await using server = createSmcpServer();
  const { url } = await server.listen({ port: 0 });
  await using computer = new SmcpComputer({
    url,
    name: "pc",
    servers: {
      files: fixture({ only: ["echo"] }, {
        default_tool_meta: { auto_apply: true },
      }),
    },
  });
  await computer.connect();
  await computer.serversSettled();
  await computer.join(OFFICE);
  await using agent = new SmcpAgent({ url, name: "agent" });
  await agent.connect();
  await agent.join(OFFICE);
  await agent.toolsSettled();
  const call = async () => {
    const { isError } = await agent.callTool("pc", "echo", { message: "hi" });
    if (isError) throw new Error("The tool failed");
  };
  for (let i = 0; i < WARMUP_CALLS; i++) await call();
  return await countEach(call, base.href);
}

async function countEach(
  call: () => Promise<void>,
  base: string,
): Promise<FunctionCount[]> {
  const session = new Session();
  session.connect();
  const runs: FunctionCount[][] = [];
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true });
    for (let i = 0; i < COUNTED_CALLS; i++) {
      await session.post("Profiler.takePreciseCoverage"); // begins at 0 again
      await call();
      const { result } = await session.post("Profiler.takePreciseCoverage") as {
        result: ScriptCoverage[];
      };
      runs.push(countsOf(result, base));
    }
  } finally {
    session.disconnect();
  }
  return commonCounts(runs);
}

/** Returns the executed functions of the package itself. */
const countsOf = (
  scripts: readonly ScriptCoverage[],
  base: string,
): FunctionCount[] =>
  scripts.filter(({ url }) => url.startsWith(base)).flatMap((script) => {
    const file = script.url.slice(base.length);
    if (!HOUSE.some((room) => file.startsWith(`${room}/`))) return [];
    return script.functions.flatMap(({ functionName: name, ranges }) => {
      const [{ startOffset: offset, count: invocations } = none] = ranges;
      return invocations > 0 ? [{ file, name, offset, invocations }] : [];
    });
  });

const none = { startOffset: 0, count: 0 };

/** The number of invocations of a function. */
export interface FunctionCount {
  /** Path from the root of the checkout, with `/`. */
  readonly file: string;
  /** Empty for one without a name. */
  readonly name: string;
  /** Its offset in its file, as V8 counts; identifies it together with the file. */
  readonly offset: number;
  /** The number of invocations. */
  readonly invocations: number;
}

/** The coverage of a part of the source by a call. */
export interface PathCount {
  /** A top folder, or a file. */
  readonly part: string;
  readonly files: number;
  readonly functions: number;
  readonly invocations: number;
}

/**
 * Leaves what belongs to a call: functions that ran in every run, as often as in the run where
 * they ran least. Timers and heartbeats fall out.
 */
export function commonCounts(
  runs: readonly (readonly FunctionCount[])[],
): FunctionCount[] {
  const [first = [], ...others] = runs.map((run) =>
    new Map(run.map((count) => [idOf(count), count]))
  );
  return [...first].flatMap(([id, count]) => {
    const all = others.map((run) => run.get(id)?.invocations ?? 0);
    const invocations = Math.min(count.invocations, ...all);
    return invocations > 0 ? [{ ...count, invocations }] : [];
  });
}

/** Counts files, functions and invocations by top folder, and `all` of them. */
export const byRole = (counts: readonly FunctionCount[]): PathCount[] => [
  ...grouped(counts, ({ file }) => file.split("/")[0] ?? ""),
  ...grouped(counts, () => "all"),
];

/** Counts by file. */
export const byFile = (counts: readonly FunctionCount[]): PathCount[] =>
  grouped(counts, ({ file }) => file);

/** Writes a table for each of several such lists. */
export const pathTables = (lists: readonly (readonly PathCount[])[]): string =>
  lists.map((list) =>
    textTable(
      ["", "files", "functions", "invocations"],
      list.map(({ part, files, functions, invocations }) => [
        part,
        ...[files, functions, invocations].map(String),
      ]),
    )
  ).join("\n\n");

function grouped(
  counts: readonly FunctionCount[],
  partOf: (count: FunctionCount) => string,
): PathCount[] {
  const groups = Map.groupBy(counts, partOf);
  return [...groups].map(([part, of]) => ({
    part,
    files: new Set(of.map(({ file }) => file)).size,
    functions: of.length,
    invocations: of.reduce((sum, { invocations }) => sum + invocations, 0),
  })).toSorted((a, b) => a.part < b.part ? -1 : 1);
}

const idOf = ({ file, name, offset }: FunctionCount): string =>
  JSON.stringify([file, name, offset]);
