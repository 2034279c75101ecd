/**
 * Measures a tool call through Agent, Server and Computer, and the same call made directly with the MCP
 * SDK's own client. The Agent and that client are this process, so that disturbances affect both.
 *
 * @module
 */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { SmcpComputer } from "../computer/mod.ts";
import { createSmcpServer, SmcpAgent } from "../mod.ts";
import { startMain } from "../tests/support/command.ts";
import { DENO_ENV, everything } from "../tests/support/computer/mcp_servers.ts";
import { OFFICE } from "../tests/support/office.ts";
import type { Plan } from "./cases.ts";
import { temporaryFolder } from "./processes.ts";
import type { Goal } from "./report/goals.ts";
import { number, textTable } from "./report/text.ts";
import {
  median,
  ratios,
  type Spread,
  spreadOf,
  spreadText,
} from "./statistics.ts";

/** Each way of a call, by the size of its argument, which is that of its answer. */
export type EndsResult = readonly EndsRow[];

/** Calls of one way. */
export interface EndsRow {
  /** Bytes of the argument. */
  readonly bytes: number;
  readonly way: keyof typeof WAYS;
  /** The medians of the rounds, in ms, and their ratios to those of direct calls. */
  readonly ms: Spread;
  readonly ratio: Spread;
}

type Call = (message: string) => Promise<unknown>;

/** The ways, which open what they need. */
const WAYS = {
  "a direct MCP call": directCall,
  "a call through Agent, Server and Computer": callOfAgent,
  "a call through a Computer in process": callWithin,
};

const SIZES = [100, 10_000, 100_000];

/** Measures calls one after another, each way in turn. */
export async function measureEnds(
  { quick, rounds }: Plan,
): Promise<EndsResult> {
  await using stack = new AsyncDisposableStack();
  const names = Object.keys(WAYS) as (keyof typeof WAYS)[];
  const calls: Call[] = [];
  for (const way of names) calls.push(await WAYS[way](stack));
  const rows: EndsRow[] = [];
  for (const bytes of quick ? SIZES.slice(0, 1) : SIZES) {
    const message = "x".repeat(bytes);
    const turns = calls.map((call) => () => call(message));
    const medians: number[][] = [];
    for (let round = -1; round < rounds; round++) { // the first one warms up
      const found = await mediansOf(turns, quick ? 10 : 200);
      if (round >= 0) medians.push(found);
    }
    const direct = medians.map(([first = 0]) => first);
    for (const [at, way] of names.entries()) {
      const mine = medians.map((found) => found[at] ?? 0);
      const ratio = spreadOf(ratios(mine, direct));
      rows.push({ bytes, way, ms: spreadOf(mine), ratio });
    }
  }
  return rows;
}

const SERVER = { ...everything(), default_tool_meta: { auto_apply: true } };

async function directCall(stack: AsyncDisposableStack): Promise<Call> {
  const { command, args = [] } = SERVER.server_parameters;
  const client = new Client({ name: "direct", version: "1.0.0" });
  const options = { command, args, env: DENO_ENV, stderr: "ignore" } as const;
  await client.connect(new StdioClientTransport(options));
  stack.defer(() => client.close());
  return (message) => client.callTool({ name: "echo", arguments: { message } });
}

async function callOfAgent(stack: AsyncDisposableStack): Promise<Call> {
  const server = stack.use(startMain("server", ["--port=0", "--no-limits"]));
  const [url = ""] = await server.line(/http:\/\/127\.0\.0\.1:\d+/);
  const config = `${temporaryFolder()}/computer.json`;
  await Deno.writeTextFile(config, JSON.stringify({ servers: { SERVER } }));
  const computer = stack.use(startMain("computer", [
    "run",
    `--url=${url}`,
    `--office=${OFFICE}`,
    "--name=pc",
    `--config=${config}`,
  ]));
  await computer.line(/SERVER.*running/);
  const agent = stack.use(new SmcpAgent({ url, name: "planner" }));
  return await echoOf(agent);
}

async function callWithin(stack: AsyncDisposableStack): Promise<Call> {
  const server = stack.use(createSmcpServer({ limits: false }));
  const office = { connection: server.connect(), servers: { SERVER } };
  stack.use(await joinedComputer({ ...office, name: "pc" }, OFFICE));
  const connection = server.connect();
  return await echoOf(
    stack.use(new SmcpAgent({ connection, name: "planner" })),
  );
}

async function echoOf(agent: SmcpAgent): Promise<Call> {
  await agent.connect();
  await agent.join(OFFICE);
  await agent.toolsSettled();
  const { tool: { name } } = await agent.findTool("echo");
  return (message) => agent.callTool("pc", name, { message });
}

/** Most time of the smallest calls, relative to the direct one. */
const GOALS: Readonly<Partial<Record<keyof typeof WAYS, number>>> = {
  "a call through Agent, Server and Computer": 1.5,
  "a call through a Computer in process": 1.15,
};

/** Returns which goals the smallest calls meet. */
export const endsGoals = (rows: EndsResult): Goal[] =>
  rows.flatMap(({ bytes, way, ratio }) => {
    const goal = GOALS[way];
    return goal === undefined || bytes !== SIZES[0] ? [] : [{
      figure: `${way} / the same MCP call made directly, p50, ${bytes} B`,
      goal: `≤ ${goal}`,
      measured: spreadText(ratio),
      met: ratio.mid <= goal,
    }];
  });

/** Writes a line for each size and way. */
export const endsTable = (rows: EndsResult): string =>
  textTable(
    ["way", "argument", "p50 ms", "× direct"],
    rows.map(({ bytes, way, ms, ratio }) => [
      way,
      `${number(bytes)} B`,
      number(ms.mid, 2),
      spreadText(ratio),
    ]),
  );

/** Joins a Computer to an office; its MCP servers run. */
async function joinedComputer(
  options: ConstructorParameters<typeof SmcpComputer>[0],
  office: string,
): Promise<SmcpComputer> {
  const computer = new SmcpComputer(options);
  await computer.connect();
  await computer.join(office);
  await computer.serversSettled();
  return computer;
}

/** Returns the median time of each of some calls, in ms: each in turn with the others, one after another. */
async function mediansOf(
  calls: readonly (() => Promise<unknown>)[],
  count: number,
): Promise<number[]> {
  const times = calls.map((): number[] => []);
  for (let left = count; left > 0; left--) {
    for (const [at, call] of calls.entries()) {
      const start = performance.now();
      await call();
      times[at]?.push(performance.now() - start);
    }
  }
  return times.map(median);
}
