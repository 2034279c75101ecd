/**
 * Measures an office as one MCP server: each door is a way of a client of MCP 2026-07-28 to a tool, beside
 * an Agent in an office of its own. A door of another program is one more entry of {@linkcode doorsAt}.
 *
 * @module
 */
import { SmcpAgent } from "../agent/mod.ts";
import { SmcpComputer } from "../computer/mod.ts";
import { startMain } from "../tests/support/command.ts";
import { fixture } from "../tests/support/computer/mcp_servers.ts";
import { CLIENTS, type TestClient } from "../tests/support/mcp/clients.ts";
import { pipeCommand } from "../tests/support/mcp/gateway.ts";
import { OFFICE } from "../tests/support/office.ts";
import type { Plan } from "./cases.ts";
import { childrenOf, memoryOf } from "./processes.ts";
import type { Goal } from "./report/goals.ts";
import { number, textTable } from "./report/text.ts";
import {
  median,
  ratios,
  type Spread,
  spreadOf,
  spreadText,
} from "./statistics.ts";

/** What an office costs as one MCP server. */
export interface McpResult {
  /** The median of a call of `SmcpAgent.callTool`, in ms. */
  readonly agentMs: Spread;
  /** From the start of an office's first client, which takes the seat, to its list of tools, in ms. */
  readonly firstOfOfficeMs: number;
  readonly doors: readonly DoorRow[];
}

/** What one door costs; answers of 10 B. */
export interface DoorRow {
  readonly door: string;
  /** What it adds to the median of the Agent's call in the same round, in ms. */
  readonly addedMs: Spread;
  /** Its median over that of {@linkcode HTTP} in the same round; absent in older results. */
  readonly timesHttp?: Spread;
  /** Calls per second with {@linkcode AT_ONCE} at once; absent in older results. */
  readonly callsPerSecond?: Spread;
  /** From a further client's start to its list of tools, in ms. */
  readonly firstListMs: Spread;
  /** Resident MiB of the process that the client starts: after its list, and after all calls. */
  readonly memory?: { readonly started: number; readonly used: number };
}

/** How a client reaches a tool. */
interface Door {
  readonly name: string;
  /** The tool's name there. */
  readonly tool: string;
  connect(): Promise<TestClient>;
}

/** Our own doors. */
const HTTP = "MCP over HTTP";
const PIPE = "through `smcp-agent mcp`";

const AT_ONCE = 50;
const ARGUMENTS = { text: "0123456789" };
const AGENT_OFFICE = "agents";

const connect = CLIENTS["v2, 2026"]!;

const doorsAt = (url: string): readonly Door[] => [
  {
    name: HTTP,
    tool: "pc__echo",
    connect: () => connect({ url: new URL(`/mcp/${OFFICE}`, url) }),
  },
  {
    name: PIPE,
    tool: "pc__echo",
    connect: () => connect(pipeCommand(url)),
  },
];

/** A door with a connected client. */
interface OpenDoor {
  readonly door: Door;
  readonly client: TestClient;
  readonly firstListMs: number;
  /** The process that the client has started, if any, and its MiB after the list of tools. */
  readonly pid: number | undefined;
  readonly startedMib: number | undefined;
  /** Of each round that counts. */
  readonly samples: Sample[];
}

/** What was measured of a door in a round. */
interface Sample {
  readonly listMs: number;
  readonly callMs: number;
  readonly rate: number;
}

/** Measures all doors, in turn in each round. */
export async function measureMcp({ quick, rounds }: Plan): Promise<McpResult> {
  const calls = quick ? 10 : 200;
  const many = quick ? 100 : 2000;
  await using stack = new AsyncDisposableStack();
  const server = stack.use(
    startMain("server", ["--port=0", "--no-limits", "--mcp"]),
  );
  const [url = ""] = await server.line(/http:\/\/127\.0\.0\.1:\d+/);
  const servers = {
    fix: fixture({}, { default_tool_meta: { auto_apply: true } }),
  };
  for (const office of [AGENT_OFFICE, OFFICE]) {
    stack.use(await joinedComputer({ url, name: "pc", servers }, office));
  }
  const agent = stack.use(new SmcpAgent({ url, name: "bench" }));
  await agent.connect();
  await agent.join(AGENT_OFFICE);
  const callAgent = () => agent.callTool("pc", "echo", ARGUMENTS);
  const doors: OpenDoor[] = [];
  for (const door of doorsAt(url)) doors.push(await enter(door, stack));
  const agentMs: number[] = [];
  for (let round = -1; round < rounds; round++) { // the first one warms up
    const [ms = 0] = await mediansOf([callAgent], calls);
    if (round >= 0) agentMs.push(ms);
    for (const door of doors) {
      const sample = await measureDoor(door, calls, many);
      if (round >= 0) door.samples.push(sample);
    }
  }
  const [http] = doors;
  const httpMs = http?.samples.map(({ callMs }) => callMs) ?? [];
  return {
    agentMs: spreadOf(agentMs),
    firstOfOfficeMs: http?.firstListMs ?? 0,
    doors: await Promise.all(doors.map((door) => rowOf(door, agentMs, httpMs))),
  };
}

/** Connects a client; a process that starts meanwhile is the door's. */
async function enter(
  door: Door,
  stack: AsyncDisposableStack,
): Promise<OpenDoor> {
  const before = await childrenOf(Deno.pid);
  const { client, ms } = await firstList(door);
  stack.use(client);
  const [pid] = (await childrenOf(Deno.pid)).filter((pid) =>
    !before.includes(pid)
  );
  const startedMib = pid === undefined ? undefined : await residentMib(pid);
  return { door, client, firstListMs: ms, pid, startedMib, samples: [] };
}

async function measureDoor(
  { door, client }: OpenDoor,
  calls: number,
  many: number,
): Promise<Sample> {
  const { client: further, ms: listMs } = await firstList(door);
  await further.close();
  const call = () => client.call(door.tool, ARGUMENTS);
  const [callMs = 0] = await mediansOf([call], calls);
  return { listMs, callMs, rate: await rateOf(call, many) };
}

async function rowOf(
  { door, pid, startedMib: started, samples }: OpenDoor,
  agentMs: readonly number[],
  httpMs: readonly number[],
): Promise<DoorRow> {
  const callMs = samples.map(({ callMs }) => callMs);
  const used = pid === undefined ? 0 : await residentMib(pid);
  return {
    door: door.name,
    addedMs: spreadOf(callMs.map((ms, at) => ms - (agentMs[at] ?? 0))),
    timesHttp: spreadOf(ratios(callMs, httpMs)),
    callsPerSecond: spreadOf(samples.map(({ rate }) => rate)),
    firstListMs: spreadOf(samples.map(({ listMs }) => listMs)),
    ...(started !== undefined && { memory: { started, used } }),
  };
}

const residentMib = async (pid: number): Promise<number> =>
  (await memoryOf(pid)).now / 2 ** 20;

/** Joins a Computer to an office; its MCP servers run. */
export async function joinedComputer(
  options: ConstructorParameters<typeof SmcpComputer>[0],
  office: string,
): Promise<SmcpComputer> {
  const computer = new SmcpComputer(options);
  await computer.connect();
  await computer.join(office);
  await computer.serversSettled();
  return computer;
}

/** Connects a client, and takes the time until it has the list of tools. */
async function firstList(
  door: Door,
): Promise<{ client: TestClient; ms: number }> {
  const start = performance.now();
  const client = await door.connect();
  await client.tools();
  return { client, ms: performance.now() - start };
}

/** Returns the median time of each of some calls, in ms: each in turn with the others, one after another. */
export async function mediansOf(
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

/** Most milliseconds that MCP over HTTP adds to a call. */
const ADDED_MS = 3;
/** Least calls per second with 50 at once. */
const CALLS_PER_SECOND = 1000;
/** Most milliseconds from a client's start to its first list of tools. */
const FIRST_LIST_MS = 500;

/** Returns which goals an office meets as one MCP server. */
export function mcpGoals({ doors, firstOfOfficeMs }: McpResult): Goal[] {
  const [http, pipe] = [HTTP, PIPE].map((name) =>
    doors.find(({ door }) => door === name)
  );
  if (http?.callsPerSecond === undefined || pipe === undefined) return [];
  const rate = http.callsPerSecond;
  return [
    {
      figure: "MCP over HTTP, added to a call of `SmcpAgent`, p50, 10 B",
      goal: `≤ ${ADDED_MS} ms`,
      measured: spreadText(http.addedMs, 1, " ms"),
      met: http.addedMs.mid <= ADDED_MS,
    },
    {
      figure: "MCP over HTTP, calls per second, 50 at once",
      goal: `≥ ${CALLS_PER_SECOND}`,
      measured: spreadText(rate, 0),
      met: rate.mid >= CALLS_PER_SECOND,
    },
    ...([
      ["the first of an office, over HTTP", firstOfOfficeMs],
      ["a further one over HTTP", http.firstListMs.mid],
      ["through `smcp-agent mcp`, with its start", pipe.firstListMs.mid],
    ] as const).map(([which, ms]) => ({
      figure: `MCP, from a client's start to its tools: ${which}`,
      goal: `< ${FIRST_LIST_MS} ms`,
      measured: `${ms.toFixed(0)} ms`,
      met: ms < FIRST_LIST_MS,
    })),
  ];
}

/** Writes a line for each door. */
export const mcpTable = ({ doors }: McpResult): string =>
  textTable(
    [
      "door",
      "added ms",
      "× HTTP",
      "calls/s",
      "first list, ms",
      "MiB started",
      "used",
    ],
    doors.map((row) => [
      row.door,
      spreadText(row.addedMs),
      row.timesHttp ? spreadText(row.timesHttp) : "",
      row.callsPerSecond ? number(row.callsPerSecond.mid) : "",
      number(row.firstListMs.mid),
      row.memory ? number(row.memory.started) : "",
      row.memory ? number(row.memory.used) : "",
    ]),
  );
