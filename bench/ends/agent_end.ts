/**
 * The Agent of the benchmark, and the client that calls the same MCP server directly: one process,
 * so that disturbances of the machine affect both. Its argument is a {@linkcode Plan} as JSON;
 * its last line of output is {@linkcode Findings} as JSON.
 *
 * @module
 */
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
// @ts-types="@modelcontextprotocol/sdk/shared/stdio"
import { ReadBuffer } from "@modelcontextprotocol/sdk/shared/stdio.js";
import { createSmcpServer, SmcpAgent, SmcpComputer } from "../../mod.ts";
import { everything } from "../../tests/support/computer/mcp_servers.ts";
import { OFFICE } from "../../tests/support/office.ts";
import type { Times } from "./call_stages.ts";
import { childrenOf, cpuOf } from "./process_usage.ts";
import { type Path, PATHS } from "./result.ts";
import { Marks, tap } from "./taps.ts";
import { tapWire } from "./wire_taps.ts";

/** The settings of the measurement. */
export interface Plan {
  /** The Server's URL. */
  readonly url: string;
  /** Process ids of the others, whose CPU time is measured. */
  readonly server: number;
  readonly computer: number;
  /** Number of rounds. */
  readonly rounds: number;
  /** Calls of each path in a round. */
  readonly calls: number;
  /** Sizes of the argument, in bytes. */
  readonly payloads: readonly number[];
}

/** One call. */
export interface TimedCall {
  /** Its `req_id`. */
  readonly id: string;
  readonly bytes: number;
  readonly round: number;
  readonly path: Path;
  /** When it passed each point. */
  readonly times: Times;
}

/** CPU time of one call in a round. */
export interface CpuSample {
  readonly bytes: number;
  readonly path: Path;
  /** CPU time in µs, by process. */
  readonly cpu: Readonly<Record<string, number>>;
}

/** The results. */
export interface Findings {
  readonly calls: readonly TimedCall[];
  readonly cpu: readonly CpuSample[];
}

const plan: Plan = JSON.parse(Deno.args[0] ?? "{}");
const marks = new Marks();
tapWire(marks);
tap(StdioClientTransport.prototype, "send", {
  enter: () => marks.mark("sent"),
});
tap(ReadBuffer.prototype, "append", { enter: () => marks.mark("line") });

const { server_parameters: { command, args = [], env = {} } } = everything();
const transport = new StdioClientTransport({
  command,
  args,
  env: Object.fromEntries(
    Object.entries(env ?? {}).map(([name, value]) => [name, `${value}`]),
  ),
  stderr: "ignore",
});
const client = new Client({ name: "direct", version: "1.0.0" });
await client.connect(transport);
await using agent = new SmcpAgent({ url: plan.url, name: "planner" });
await agent.connect();
await agent.join(OFFICE);
await agent.toolsSettled();

// All in this process, as `smcp up` has it for MCP clients.
await using server = createSmcpServer({ limits: false });
await using computer = new SmcpComputer({
  connection: server.connect(),
  name: "pc",
  servers: {
    here: { ...everything(), default_tool_meta: { auto_apply: true } },
  },
});
await computer.connect();
await computer.join(OFFICE);
await computer.serversSettled();
await using near = new SmcpAgent({
  connection: server.connect(),
  name: "planner",
});
await near.connect();
await near.join(OFFICE);
const { tool: { name: nearEcho } } = await near.findTool("echo");

const make: Record<Path, (message: string, reqId: string) => Promise<unknown>> =
  {
    direct: (message) =>
      client.callTool({ name: "echo", arguments: { message } }),
    agent: (message, reqId) =>
      agent.callTool("pc", "echo_agent", { message }, { reqId }),
    here: (message, reqId) =>
      near.callTool("pc", nearEcho, { message }, { reqId }),
    vrl: (message, reqId) =>
      agent.callTool("pc", "echo_vrl", { message }, { reqId }),
  };

const found: { calls: TimedCall[]; cpu: CpuSample[] } = { calls: [], cpu: [] };
for (const bytes of plan.payloads) {
  const message = "x".repeat(bytes);
  for (let round = -1; round < plan.rounds; round++) { // the first one warms up
    for (let i = 0; i < plan.calls; i++) {
      for (const path of PATHS) {
        const id = [bytes, round, i, path].join("-");
        const times = await timed(path, message, id);
        if (round >= 0) found.calls.push({ id, bytes, round, path, times });
      }
    }
    for (const path of PATHS) {
      const cpu = await cpuOfCalls(path, message, `cpu-${bytes}-${round}`);
      if (round >= 0) found.cpu.push({ bytes, path, cpu });
    }
  }
}
await agent.close();
await client.close();
console.log(JSON.stringify(found satisfies Findings));

async function timed(path: Path, message: string, id: string): Promise<Times> {
  marks.take();
  marks.mark("start");
  await make[path](message, id);
  marks.mark("end");
  return marks.take();
}

async function cpuOfCalls(
  path: Path,
  message: string,
  id: string,
): Promise<Record<string, number>> {
  const processes = await processesOf(path);
  const before = await usage(processes);
  for (let i = 0; i < plan.calls; i++) {
    await make[path](message, `${id}-${i}-${path}`);
  }
  const after = await usage(processes);
  return Object.fromEntries(
    Object.keys(processes).flatMap((name) => {
      const from = before[name];
      const to = after[name];
      return from === undefined || to === undefined
        ? []
        : [[name, (to - from) / plan.calls]];
    }),
  );
}

async function processesOf(path: Path): Promise<Record<string, number[]>> {
  return path === "direct" || path === "here"
    ? { Client: [Deno.pid], "MCP server": await childrenOf(Deno.pid) }
    : {
      Agent: [Deno.pid],
      Server: [plan.server],
      Computer: [plan.computer],
      "MCP server": await childrenOf(plan.computer),
    };
}

async function usage(
  processes: Record<string, number[]>,
): Promise<Record<string, number | undefined>> {
  const sums = Object.entries(processes).map(async ([name, pids]) => {
    const times = await Promise.all(pids.map(cpuOf));
    const sum = times.length === 0 || times.includes(undefined)
      ? undefined
      : times.reduce<number>((sum, time) => sum + (time ?? 0), 0);
    return [name, sum] as const;
  });
  return Object.fromEntries(await Promise.all(sums));
}
