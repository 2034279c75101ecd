import { Session } from "node:inspector/promises";
import { pathToFileURL } from "node:url";
import { HOUSE } from "../../tools/lint/layering_rules.ts";
import { fixture } from "../../tests/support/computer/mcp_servers.ts";
import { commonCounts, type FunctionCount } from "./count.ts";

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
  const load = (role: string) => import(new URL(`${role}/mod.ts`, base).href);
  const { createSmcpServer }: typeof import("../../server/mod.ts") = await load(
    "server",
  );
  const { SmcpComputer }: typeof import("../../computer/mod.ts") = await load(
    "computer",
  );
  const { SmcpAgent }: typeof import("../../agent/mod.ts") = await load(
    "agent",
  );
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
