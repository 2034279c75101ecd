/**
 * Measures an office as one MCP server beside other programs that serve an MCP server over HTTP: each is
 * started as a new user does it, with the same server behind it, and all are measured in turn in each round.
 * Another program is one more entry of `BRIDGES`.
 *
 * @module
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent } from "node:http";
import { createServer } from "node:net";
import {
  BASE,
  type Bridge,
  BRIDGES,
  commandsOf,
  OURS,
  TWO,
} from "../tests/support/mcp/bridges.ts";
import {
  message,
  modernRequest,
  post,
  type Posting,
} from "../tests/support/mcp/post.ts";
import type { Plan } from "./cases.ts";
import {
  childrenOf,
  kill,
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
  readonly rateRatio: Spread;
  /** Resident MiB of all its processes after the load. */
  readonly mib: number;
  /** KiB that a session without a request takes; absent without sessions. */
  readonly sessionKib?: number;
}

/** Calls of a round, so that those of all sizes take about as long. */
const callsOf = (bytes: number): number =>
  Math.max(16, Math.round(10_000_000 / (bytes + 10_000)));
/** Parts of a round, in which a bridge and the first one take turns: an engine that is idle for seconds drops code. */
const TURNS = 4;
/** Rounds that do not count: the compilers of all take some thousand calls. */
const WARMING_ROUNDS = 4;

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
      const answer = await this.#post(
        session
          ? { headers: session, body: message(2, "tools/call", params) }
          : modernRequest("tools/call", params),
      );
      if (answer.body.includes(LETTERS) && answer.body.length > count) return;
      throw new Error(`${answer.status} ${answer.body.slice(0, 100)}`);
    };
  }

  /** Opens a session. */
  async open(kind: Kind): Promise<Record<string, string>> {
    const body = message(1, "initialize", {
      protocolVersion: "2025-06-18",
      capabilities: kind === "asked" ? { elicitation: {} } : {},
      clientInfo: { name: "bench", version: "1" },
    });
    const opened = await this.#post({ body });
    const id = opened.headers["mcp-session-id"];
    if (opened.status !== 200) throw new Error(opened.body.slice(0, 100));
    const headers = {
      "mcp-protocol-version": "2025-06-18",
      ...(id && { "mcp-session-id": String(id) }),
    };
    const method = "notifications/initialized";
    await this.#post({
      headers,
      body: JSON.stringify({ jsonrpc: "2.0", method }),
    });
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

  /** Ends all its processes. */
  async end(): Promise<void> {
    for (const pid of await this.#tree()) kill(pid);
  }

  #post(posting: Posting) {
    return post(this.#url, { ...posting, agent: connections });
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
/** How long a bridge may take to start. */
const START_MS = 60_000;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address ? address.port : 0;
}

/** The turns of a way in a round. */
type Sample = Turn[];

/** What was measured of a way in its turn. */
interface Turn {
  readonly cpu: number;
  readonly ms: number;
  readonly rate: number;
}

/** Measures all ways, in turn in each round; before that the memory of sessions. */
export async function measureMcp(
  plan: Plan,
  tools: Tools,
): Promise<McpResult> {
  const sessions = await sessionsKib(plan.quick, tools);
  const running = await startAll(tools);
  const rows: McpRow[] = [];
  for (const load of Object.keys(LOADS)) {
    tools.tell(load);
    for (const row of await rowsOf(load, running, plan, tools)) {
      const sessionKib = sessions.get(row.way);
      rows.push({ ...row, ...(sessionKib !== undefined && { sessionKib }) });
    }
  }
  await endAll(running);
  return { rows };
}

/** Starts all bridges, by name, but those that cannot be. */
async function startAll(tools: Tools): Promise<Map<string, Running>> {
  const running = new Map<string, Running>();
  for (const [name, bridge] of Object.entries(BRIDGES)) {
    tools.tell(name);
    const started = await attempt(name, tools, () => start(bridge));
    if (started) running.set(name, started);
  }
  return running;
}

const endAll = (running: ReadonlyMap<string, Running>) =>
  Promise.all([...running.values()].map((bridge) => bridge.end()));

/** Measures all ways under one load, each in turn with the first bridge. */
async function rowsOf(
  load: string,
  running: ReadonlyMap<string, Running>,
  { quick, rounds }: Plan,
  tools: Tools,
): Promise<McpRow[]> {
  const { clients = 0, bytes = 0 } = LOADS[load] ?? {};
  const base = running.get(BASE);
  const rows: McpRow[] = [];
  for (const [way, name, kind] of WAYS) {
    const bridge = running.get(name);
    if (base === undefined || bridge === undefined) continue;
    const row = await attempt(`${way}, ${load}`, tools, async () => {
      const open = (one: Running, kind: Kind) =>
        Promise.all(Array.from({ length: clients }, () => one.client(kind)));
      const own = await open(bridge, kind);
      const others = await open(base, "session");
      const calls = quick ? 2 : Math.ceil(callsOf(bytes) / TURNS);
      const samples: [own: Sample, base: Sample][] = [];
      for (let round = quick ? -1 : -WARMING_ROUNDS; round < rounds; round++) {
        const sums: [Sample, Sample] = [[], []];
        for (let turn = 0; turn < TURNS; turn++) {
          sums[0].push(await measure(bridge, own, bytes, calls));
          sums[1].push(await measure(base, others, bytes, calls));
        }
        if (round >= 0) samples.push(sums);
      }
      return rowOf({ way, load }, samples, await bridge.mib());
    });
    if (row) rows.push(row);
  }
  return rows;
}

async function measure(
  bridge: Running,
  clients: readonly ((bytes: number) => Promise<void>)[],
  bytes: number,
  calls: number,
): Promise<Turn> {
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

/** How much memory sessions may take in all: some bridges start a process for each. */
const MOST_MIB = 300;
/** How long sessions are idle: what was garbage at their beginning is no memory of theirs. */
const IDLE_MS = 30_000;

/** Returns the KiB of an idle session of each bridge that has had some already, by its name. */
async function sessionsKib(
  quick: boolean,
  tools: Tools,
): Promise<Map<string, number>> {
  const running = await startAll(tools);
  const kib = new Map<string, number>();
  let before = new Map<string, number>();
  for (const most of quick ? [1, 10] : [300, 1_000]) {
    const opened = new Map<string, number>();
    for (const [name, bridge] of running) {
      const fill = () => fillWith(bridge, most);
      const count = await attempt(`${name}, sessions`, tools, fill);
      if (count) opened.set(name, count);
    }
    tools.tell("sessions are idle");
    await pause(quick ? 0 : IDLE_MS);
    const now = new Map<string, number>();
    for (const [name, count] of opened) {
      const mib = await running.get(name)?.mib() ?? 0;
      const grown = Math.max(0, mib - (before.get(name) ?? mib));
      kib.set(name, grown * 1024 / count);
      now.set(name, mib);
    }
    before = now;
  }
  await endAll(running);
  return kib;
}

/** Opens sessions; returns how many. */
async function fillWith(bridge: Running, most: number): Promise<number> {
  const limit = await bridge.mib() + MOST_MIB;
  let count = 0;
  while (count < most && await bridge.mib() < limit) {
    await bridge.open("session");
    count++;
  }
  return count;
}

function rowOf(
  key: Pick<McpRow, "way" | "load">,
  samples: readonly (readonly [own: Sample, base: Sample])[],
  mib: number,
): McpRow {
  const of = (field: keyof Turn, which: 0 | 1) =>
    samples.map((sample) => {
      const turns = sample[which];
      return turns.reduce((sum, turn) => sum + turn[field], 0) / turns.length;
    });
  const figure = (field: keyof Turn) => spreadOf(of(field, 0));
  const ratio = (field: keyof Turn) =>
    spreadOf(ratios(of(field, 0), of(field, 1)));
  return {
    ...key,
    cpu: figure("cpu"),
    cpuRatio: ratio("cpu"),
    ms: figure("ms"),
    msRatio: ratio("ms"),
    callsPerSecond: figure("rate"),
    rateRatio: ratio("rate"),
    mib,
  };
}

const SMALL = "100 B, 8 clients";

/** Most of a figure over that of the first bridge under the same load; of calls per second the least. */
const GOALS: readonly (readonly [
  figure: keyof typeof FIGURES,
  way: string,
  load: string,
  bound: number,
])[] = [
  ["CPU", OURS, SMALL, 0.33],
  ["CPU", OURS, "10 KB, 8 clients", 0.5],
  ["CPU", OURS, "100 KB, 8 clients", 0.4],
  ["CPU", OURS, "1 MB, 8 clients", 0.3],
  ["CPU", `${OURS}, clients that can be asked`, SMALL, 0.4],
  ["CPU", `${OURS}, MCP 2026-07-28`, SMALL, 0.4],
  ["CPU", TWO, SMALL, 0.5],
  ["p50", OURS, "100 B, one client", 0.75],
  ["calls/s", OURS, SMALL, 3],
  ["memory after the load", OURS, SMALL, 1.1],
  ["memory of a session", OURS, SMALL, 0.3],
];

/** Returns a figure of a row, over that of the first bridge. */
const FIGURES = {
  "CPU": ({ cpuRatio }: McpRow) => cpuRatio,
  "p50": ({ msRatio }: McpRow) => msRatio,
  "calls/s": ({ rateRatio }: McpRow) => rateRatio,
  "memory after the load": ({ mib }: McpRow, base: McpRow) =>
    spreadOf([mib / base.mib]),
  "memory of a session": (
    { sessionKib = NaN }: McpRow,
    { sessionKib: most = NaN }: McpRow,
  ) => spreadOf([sessionKib / most]),
};

/** Returns which goals an office meets as one MCP server. */
export const mcpGoals = ({ rows }: McpResult): Goal[] =>
  GOALS.flatMap(([figure, way, load, bound]) => {
    const [row, base] = [way, BASE].map((name) =>
      rows.find((row) => row.way === name && row.load === load)
    );
    const ratio = row && base && FIGURES[figure](row, base);
    if (!ratio || Number.isNaN(ratio.mid)) return [];
    const isLeast = figure === "calls/s";
    return {
      figure: `MCP, ${figure}, ${way}${
        figure === "memory of a session" ? "" : `, ${load}`
      }`,
      goal: `${isLeast ? "≥" : "≤"} ${bound}`,
      measured: ratio.low === ratio.high
        ? ratio.mid.toFixed(2)
        : spreadText(ratio),
      met: isLeast ? ratio.mid >= bound : ratio.mid <= bound,
    };
  });

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
