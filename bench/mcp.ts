/**
 * Measures an office as one MCP server beside other programs that serve an MCP server over HTTP: each is
 * started as a new user does it, with the same server behind it, and all are measured in turn in each round.
 * Another program is one more entry of `BRIDGES`.
 *
 * @module
 */
import { Agent, request } from "node:http";
import { createServer } from "node:net";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import {
  BASE,
  type Bridge,
  BRIDGES,
  commandsOf,
  OURS,
  TWO,
} from "../tests/support/mcp/bridges.ts";
import { modernRequest } from "../tests/support/mcp/post.ts";
import type { Plan } from "./cases.ts";
import {
  childrenOf,
  memoryOf,
  pause,
  spawn,
  temporaryFolder,
} from "./processes.ts";
import type { Goal } from "./report/goals.ts";
import { number, textTable } from "./report/text.ts";
import {
  median,
  ratios,
  type Spread,
  spreadOf,
  spreadText,
} from "./statistics.ts";
import { attempt, type Tools } from "./tools.ts";

/** What each way of a client to the same MCP server costs. */
export interface McpResult {
  readonly rows: readonly McpRow[];
}

/** One way under one load. */
export interface McpRow {
  readonly way: string;
  /** A key of {@linkcode LOADS}. */
  readonly load: string;
  /** CPU of a call in all its processes, in µs, and over that of the first bridge in the same round. */
  readonly cpu: Spread;
  readonly cpuRatio: Spread;
  /** The median of a call in ms, and over that of the first bridge. */
  readonly ms: Spread;
  readonly msRatio: Spread;
  readonly callsPerSecond: Spread;
  /** Resident MiB of all its processes after the load. */
  readonly mib: number;
  /** KiB that a session without a request takes; absent without sessions. */
  readonly sessionKib?: number;
}

/** How many clients call at once, each one after another, and for how large an answer. */
const LOADS: Readonly<Record<string, { clients: number; bytes: number }>> = {
  "100 B, 8 clients": { clients: 8, bytes: 100 },
  "10 KB, 8 clients": { clients: 8, bytes: 10_000 },
  "100 KB, 8 clients": { clients: 8, bytes: 100_000 },
  "1 MB, 8 clients": { clients: 8, bytes: 1_000_000 },
  "100 B, one client": { clients: 1, bytes: 100 },
};

/** How clients speak: in a session, which may be one that can be asked, or without one. */
type Kind = "session" | "asked" | "2026-07-28";

/** The ways that are measured: a bridge, and how its clients speak. */
const WAYS: readonly (readonly [way: string, bridge: string, kind: Kind])[] = [
  ...Object.keys(BRIDGES).map((name) => [name, name, "session"] as const),
  [`${OURS}, clients that can be asked`, OURS, "asked"],
  [`${OURS}, MCP 2026-07-28`, OURS, "2026-07-28"],
];

/** Calls over connections that stay open. */
const connections = new Agent({ keepAlive: true, maxSockets: 64 });

async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
) {
  const sent = request(url, {
    method: "POST",
    agent: connections,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "content-length": new TextEncoder().encode(body).length,
      ...headers,
    },
  });
  sent.end(body);
  const [response] = await once(sent, "response");
  const { statusCode, headers: got } = response;
  return { status: statusCode, headers: got, body: await text(response) };
}

/** A bridge that runs, and its clients of each kind. */
class Running {
  readonly #pids: readonly number[];
  readonly #url: string;
  readonly #tool: string;

  constructor(pids: readonly number[], url: string, tool: string) {
    this.#pids = pids;
    this.#url = url;
    this.#tool = tool;
  }

  /** Connects a client; returns a call of it, for an answer of so many bytes. */
  async client(kind: Kind): Promise<(bytes: number) => Promise<void>> {
    const session = kind === "2026-07-28" ? undefined : await this.open(kind);
    return async (count) => {
      const params = { name: this.#tool, arguments: { count } };
      const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params };
      const { headers, body } = session
        ? { headers: session, body: JSON.stringify(call) }
        : modernRequest("tools/call", params);
      const answer = await post(this.#url, headers, body);
      if (answer.body.includes(LETTERS) && answer.body.length > count) return;
      throw new Error(`${answer.status} ${answer.body.slice(0, 100)}`);
    };
  }

  /** Opens a session. */
  async open(kind: Kind): Promise<Record<string, string>> {
    const asked = kind === "asked" ? { elicitation: {} } : {};
    const params = {
      protocolVersion: "2025-06-18",
      capabilities: asked,
      clientInfo: { name: "bench", version: "1" },
    };
    const begin = { jsonrpc: "2.0", id: 1, method: "initialize", params };
    const opened = await post(this.#url, {}, JSON.stringify(begin));
    const id = opened.headers["mcp-session-id"];
    if (opened.status !== 200) throw new Error(opened.body.slice(0, 100));
    const headers = {
      "mcp-protocol-version": "2025-06-18",
      ...(id && { "mcp-session-id": String(id) }),
    };
    const begun = { jsonrpc: "2.0", method: "notifications/initialized" };
    await post(this.#url, headers, JSON.stringify(begun));
    return headers;
  }

  /** The CPU that all its processes have used, in µs. */
  async cpu(): Promise<number> {
    const used = await Promise.all((await this.#tree()).map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return (Number(fields[11]) + Number(fields[12])) * 10_000;
    }));
    return used.reduce((sum, one) => sum + one, 0);
  }

  /** The resident MiB of all its processes. */
  async mib(): Promise<number> {
    const all = await Promise.all((await this.#tree()).map(memoryOf));
    return all.reduce((sum, { now }) => sum + now, 0) / 2 ** 20;
  }

  async #tree(pids = this.#pids): Promise<number[]> {
    const children = (await Promise.all(pids.map(childrenOf))).flat();
    return children.length === 0
      ? [...pids]
      : [...pids, ...await this.#tree(children)];
  }
}

/** Starts a bridge, and waits for its first call. */
async function start(bridge: Bridge): Promise<Running> {
  const folder = temporaryFolder();
  const port = await freePort();
  const commands = await commandsOf(bridge, folder, port);
  const url = `http://127.0.0.1:${port}${bridge.path}`;
  const pids: number[] = [];
  for (const [command = "", ...args] of commands) {
    if (pids.length > 0) await inTime(() => fetch(url));
    const { env = {} } = bridge;
    const quiet = { stdout: "null", stderr: "null", cwd: folder } as const;
    pids.push(spawn(command, { args, env, ...quiet }).pid);
  }
  const running = new Running(pids, url, bridge.tool);
  await inTime(async () => await (await running.client("session"))(100));
  return running;
}

/** Tries until it works. */
async function inTime(run: () => Promise<unknown>): Promise<void> {
  const until = performance.now() + START_MS;
  for (;;) {
    try {
      return void await run();
    } catch (error) {
      if (performance.now() > until) throw error;
      await pause(200);
    }
  }
}

/** What each answer has. */
const LETTERS = "x".repeat(100);
/** Rounds that do not count: the compilers of all take some thousand calls. */
const WARMING_ROUNDS = 3;
/** How long a bridge may take to start. */
const START_MS = 60_000;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address ? address.port : 0;
}

/** What was measured of a way in a round. */
interface Sample {
  readonly cpu: number;
  readonly ms: number;
  readonly rate: number;
}

/** Measures all ways, in turn in each round. */
export async function measureMcp(
  { quick, rounds }: Plan,
  tools: Tools,
): Promise<McpResult> {
  const running = new Map<string, Running>();
  for (const [name, bridge] of Object.entries(BRIDGES)) {
    const started = await attempt(name, tools, () => start(bridge));
    if (started) running.set(name, started);
  }
  const ways = WAYS.flatMap(([way, name, kind]) => {
    const bridge = running.get(name);
    return bridge ? [{ way, bridge, kind }] : [];
  });
  const rows: McpRow[] = [];
  for (const [load, { clients, bytes }] of Object.entries(LOADS)) {
    tools.tell(load);
    const calls = quick ? 10 : Math.max(50, 10_000_000 / (bytes + 10_000));
    const samples = new Map<string, Sample[]>();
    const warming = quick ? 1 : WARMING_ROUNDS;
    for (let round = -warming; round < rounds; round++) {
      for (const { way, bridge, kind } of ways) {
        const all = await Promise.all(
          Array.from({ length: clients }, () => bridge.client(kind)),
        );
        const sample = await attempt(
          `${way}, ${load}`,
          tools,
          () => measure(bridge, all, bytes, calls),
        );
        if (round < 0 || !sample) continue;
        samples.set(way, [...samples.get(way) ?? [], sample]);
      }
    }
    const base = samples.get(BASE) ?? [];
    for (const { way, bridge } of ways) {
      const own = samples.get(way);
      if (own) rows.push(rowOf({ way, load }, own, base, await bridge.mib()));
    }
  }
  const sessions = new Map<string, number>();
  for (const [name, bridge] of running) {
    const kib = await attempt(
      `${name}, sessions`,
      tools,
      () => sessionKib(bridge, quick ? 10 : 500),
    );
    if (kib !== undefined) sessions.set(name, kib);
  }
  return {
    rows: rows.map((row) => {
      const sessionKib = sessions.get(row.way);
      return sessionKib === undefined ? row : { ...row, sessionKib };
    }),
  };
}

async function measure(
  bridge: Running,
  clients: readonly ((bytes: number) => Promise<void>)[],
  bytes: number,
  calls: number,
): Promise<Sample> {
  const times: number[] = [];
  let left = calls;
  const cpu = await bridge.cpu();
  const began = performance.now();
  await Promise.all(clients.map(async (call) => {
    while (left-- > 0) {
      const start = performance.now();
      await call(bytes);
      times.push(performance.now() - start);
    }
  }));
  const ms = performance.now() - began;
  return {
    cpu: (await bridge.cpu() - cpu) / times.length,
    ms: median(times),
    rate: times.length / ms * 1000,
  };
}

/** How much memory sessions may take in all. */
const MOST_MIB = 300;

/** Returns the KiB of a session without a request. */
async function sessionKib(bridge: Running, count: number): Promise<number> {
  const before = await bridge.mib();
  let grown = 0;
  let opened = 0;
  // Some start a process for each.
  while (opened < count && grown < MOST_MIB) {
    for (const end = opened + 10; opened < end; opened++) {
      await bridge.open("session");
    }
    grown = await bridge.mib() - before;
  }
  return Math.max(0, grown) * 1024 / opened;
}

function rowOf(
  key: Pick<McpRow, "way" | "load">,
  own: readonly Sample[],
  base: readonly Sample[],
  mib: number,
): McpRow {
  const of = (field: keyof Sample, samples = own) =>
    samples.map((sample) => sample[field]);
  const ratio = (field: keyof Sample) =>
    spreadOf(ratios(of(field), of(field, base)));
  return {
    ...key,
    cpu: spreadOf(of("cpu")),
    cpuRatio: ratio("cpu"),
    ms: spreadOf(of("ms")),
    msRatio: ratio("ms"),
    callsPerSecond: spreadOf(of("rate")),
    mib,
  };
}

/** Most CPU of a call over that of the first bridge, by way and load. */
const CPU_GOALS:
  readonly (readonly [way: string, load: string, most: number])[] = [
    [OURS, "100 B, 8 clients", 0.33],
    [OURS, "10 KB, 8 clients", 0.5],
    [OURS, "100 KB, 8 clients", 0.4],
    [OURS, "1 MB, 8 clients", 0.3],
    [`${OURS}, clients that can be asked`, "100 B, 8 clients", 0.4],
    [`${OURS}, MCP 2026-07-28`, "100 B, 8 clients", 0.4],
    [TWO, "100 B, 8 clients", 0.5],
  ];
/** Most of a median call of one client over that of the first bridge. */
const MS_GOAL = 0.75;

/** Returns which goals an office meets as one MCP server. */
export function mcpGoals({ rows }: McpResult): Goal[] {
  const find = (way: string, load: string) =>
    rows.find((row) => row.way === way && row.load === load);
  const goalOf = (figure: string, most: number, ratio: Spread): Goal => ({
    figure: `MCP, ${figure} / ${BASE}`,
    goal: `≤ ${most}`,
    measured: spreadText(ratio),
    met: ratio.mid <= most,
  });
  const one = find(OURS, "100 B, one client");
  return [
    ...CPU_GOALS.flatMap(([way, load, most]) => {
      const row = find(way, load);
      return row ? [goalOf(`CPU, ${way}, ${load}`, most, row.cpuRatio)] : [];
    }),
    ...one ? [goalOf("p50, one client", MS_GOAL, one.msRatio)] : [],
  ];
}

/** Writes a line for each way and load. */
export const mcpTable = ({ rows }: McpResult): string =>
  textTable(
    [
      "",
      "CPU, µs",
      "ratio",
      "p50, ms",
      "ratio",
      "calls/s",
      "MiB",
      "session, KiB",
    ],
    Object.keys(LOADS).flatMap((load) => [
      [load],
      ...rows.filter((row) => row.load === load).map((row) => [
        `  ${row.way}`,
        number(row.cpu.mid),
        spreadText(row.cpuRatio),
        number(row.ms.mid, 2),
        spreadText(row.msRatio),
        number(row.callsPerSecond.mid),
        number(row.mib),
        row.sessionKib === undefined ? "" : number(row.sessionKib),
      ]),
    ]),
  );
