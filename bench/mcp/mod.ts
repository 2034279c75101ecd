/**
 * Measures an office as one MCP server: the Server serves it at `/mcp/OFFICE`, a client of MCP
 * 2026-07-28 calls over HTTP and through `smcp-agent mcp`, beside an Agent in an office of its own.
 *
 * @module
 */
import { SmcpAgent } from "../../agent/mod.ts";
import { SmcpComputer } from "../../computer/mod.ts";
import { startMain } from "../../tests/support/command.ts";
import { fixture } from "../../tests/support/computer/mcp_servers.ts";
import { CLIENTS, type TestClient } from "../../tests/support/mcp/clients.ts";
import { pipeCommand } from "../../tests/support/mcp/gateway.ts";
import { OFFICE } from "../../tests/support/office.ts";
import { childrenOf, memoryOf } from "../ends/process_usage.ts";
import { median, spreadOf } from "../statistics.ts";
import type { McpResult } from "./result.ts";

/** Rounds, calls of each way in a round, and calls with many at once. */
const FULL = { rounds: 7, calls: 200, many: 2000 };
const QUICK = { rounds: 1, calls: 10, many: 100 };

const AT_ONCE = 50;
const ARGUMENTS = { text: "0123456789" };
const AGENT_OFFICE = "agents";

/** Measures all of it with MCP 2026-07-28. */
export async function measureMcp(
  { quick }: { quick: boolean },
): Promise<McpResult> {
  const { rounds, calls, many } = quick ? QUICK : FULL;
  await using stack = new AsyncDisposableStack();
  const server = stack.use(
    startMain("server", ["--port=0", "--no-limits", "--mcp"]),
  );
  const [url = ""] = await server.line(/http:\/\/127\.0\.0\.1:\d+/);
  for (const office of [AGENT_OFFICE, OFFICE]) {
    stack.use(await joined(url, office));
  }
  const http = new URL(`/mcp/${OFFICE}`, url);
  const first = await firstList(() => connect({ url: http }));
  const overHttp = stack.use(first.client);
  const agent = stack.use(new SmcpAgent({ url, name: "bench" }));
  await agent.connect();
  await agent.join(AGENT_OFFICE);
  const before = await childrenOf(Deno.pid);
  const piped = await firstList(() => connect(pipeCommand(url)));
  const overPipe = stack.use(piped.client);
  const [pipe] = (await childrenOf(Deno.pid)).filter((pid) =>
    !before.includes(pid)
  );
  const started = pipe && await memoryOf(pipe);
  const ways = {
    agent: () => agent.callTool("pc", "echo", ARGUMENTS),
    http: () => overHttp.call("pc__echo", ARGUMENTS),
    pipe: () => overPipe.call("pc__echo", ARGUMENTS),
  };
  const medians = { agent: [], http: [], pipe: [] } as Record<
    keyof typeof ways,
    number[]
  >;
  const rates: number[] = [];
  const lists = { first: [first.ms], http: [], pipe: [piped.ms] } as Record<
    "first" | "http" | "pipe",
    number[]
  >;
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const listed = await firstList(() => connect({ url: http }));
    await listed.client.close();
    const isCounted = round > 0;
    if (isCounted) lists.http.push(listed.ms);
    for (const way of ["agent", "http", "pipe"] as const) {
      const p50 = await medianOf(ways[way], calls);
      if (isCounted) medians[way].push(p50);
    }
    const rate = await rateOf(ways.http, many);
    if (isCounted) rates.push(rate);
  }
  const added = (way: "http" | "pipe") =>
    spreadOf(medians[way].map((ms, round) => ms - (medians.agent[round] ?? 0)));
  const used = pipe && await memoryOf(pipe);
  return {
    added: { http: added("http"), pipe: added("pipe") },
    agent: spreadOf(medians.agent),
    callsPerSecond: spreadOf(rates),
    firstList: {
      first: spreadOf(lists.first),
      http: spreadOf(lists.http),
      pipe: spreadOf(lists.pipe),
    },
    ...(started && used && { pipeMemory: { started, used } }),
  };
}

/** A Computer in an office, whose MCP server runs. */
async function joined(url: string, office: string): Promise<SmcpComputer> {
  const computer = new SmcpComputer({
    url,
    name: "pc",
    servers: {
      fix: { ...fixture(), default_tool_meta: { auto_apply: true } },
    },
  });
  await computer.connect();
  await computer.join(office);
  await computer.serversSettled();
  return computer;
}

const connect = (reach: Parameters<typeof CLIENTS[string]>[0]) => {
  const client = CLIENTS["v2, 2026"];
  if (client === undefined) throw new Error("No client of MCP 2026-07-28");
  return client(reach);
};

/** Connects a client, and takes the time until it has the list of tools. */
async function firstList(
  connect: () => Promise<TestClient>,
): Promise<{ client: TestClient; ms: number }> {
  const start = performance.now();
  const client = await connect();
  await client.tools();
  return { client, ms: performance.now() - start };
}

/** Returns the median time of calls one after another, in ms. */
async function medianOf(
  call: () => Promise<unknown>,
  calls: number,
): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < calls; count++) {
    const start = performance.now();
    await call();
    times.push(performance.now() - start);
  }
  return median(times);
}

/** Returns the calls per second with {@linkcode AT_ONCE} at once. */
async function rateOf(
  call: () => Promise<unknown>,
  calls: number,
): Promise<number> {
  let left = calls;
  const start = performance.now();
  const one = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return calls / (performance.now() - start) * 1000;
}
