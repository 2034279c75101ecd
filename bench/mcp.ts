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
import { median, ratios, type Spread, spreadOf } from "./statistics.ts";
import { attempt, type Tools } from "./tools.ts";

/** What each way of a client to the same MCP server costs. */
export interface McpResult {
  readonly rows: readonly McpRow[];
  /** Why others were left out, by their names: one that does not run here is no failure of ours. */
  readonly leftOut: Readonly<Record<string, string>>;
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

/** Calls of a round, so that those of all sizes take about as long, and the compilers of all have done their work. */
const callsOf = (bytes: number): number =>
  Math.round(30_000_000 / (bytes + 10_000));
/** Rounds that do not count. */
const WARMING_ROUNDS = 2;
/** Calls before them: the compilers of all take some thousand. */
const WARMING_CALLS = 2_000;

/** How many clients call at once, each one after another, and for how large an answer. */
export const LOADS: Readonly<
  Record<string, { clients: number; bytes: number }>
> = {
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
  /** Of the last call: each has another id, since context-forge gives an answer to all whose call has its id. */
  #id = 1;
  #isAlive = true;

  constructor(
    children: readonly Deno.ChildProcess[],
    url: string,
    tool: string,
  ) {
    this.#pids = children.map(({ pid }) => pid);
    this.#url = url;
    this.#tool = tool;
    for (const { status } of children) {
      void status.then(() => this.#isAlive = false);
    }
  }

  /** Whether none of its processes has ended. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Connects a client; returns a call of it, for an answer of so many bytes. */
  async client(kind: Kind): Promise<Call> {
    const session = kind === "2026-07-28" ? undefined : await this.open(kind);
    return async (count) => {
      const params = { name: this.#tool, arguments: { count } };
      const id = ++this.#id;
      const { status, body } = await this.#post(
        session
          ? { headers: session, body: message(id, "tools/call", params) }
          : modernRequest("tools/call", params, id),
      );
      const ends = body.slice(0, 100) + body.slice(-100);
      const isAnswer = new RegExp(`"id":\\s*${id}\\b`).test(ends);
      if (isAnswer && body.includes(LETTERS) && body.length > count) return;
      throw new Error(`${status} ${body.slice(0, 100)}`);
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
    for (const pid of await this.#tree().catch(() => this.#pids)) kill(pid);
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
  const children: Deno.ChildProcess[] = [];
  const output: string[] = [];
  for (const [command = "", ...args] of commands) {
    if (children.length > 0) await inTime(() => fetch(url), output);
    const { env = {} } = bridge;
    const quiet = { stdout: "null", stderr: "piped", cwd: folder } as const;
    const child = spawn(command, { args, env, ...quiet });
    children.push(child);
    void keepLast(child, output);
  }
  const running = new Running(children, url, bridge.tool);
  const call = async () => await (await running.client("session"))(100);
  await inTime(call, output).catch(async (error) => {
    await running.end();
    throw error;
  });
  return running;
}

/** Keeps the last line of what a process writes to stderr, and how it ended. */
async function keepLast(
  { stderr, status }: Deno.ChildProcess,
  output: string[],
): Promise<void> {
  for await (const text of stderr.pipeThrough(new TextDecoderStream())) {
    output[0] = text.trim().split("\n").at(-1) || output[0] || "";
  }
  output[1] = `it ended with ${(await status).code}`;
}

/** The bridges by name: each is started when it is used, and again after its end. */
class Bridges {
  readonly #running = new Map<string, Running>();
  readonly #tools: Tools;
  readonly #isQuick: boolean;
  /** Why others were left out. */
  readonly leftOut: Record<string, string>;

  /**
   * @param isQuick whether those are left out that take minutes to install
   * @param leftOut who was left out before, and is not tried again
   */
  constructor(
    tools: Tools,
    isQuick: boolean,
    leftOut: Record<string, string> = {},
  ) {
    this.#tools = tools;
    this.#isQuick = isQuick;
    this.leftOut = leftOut;
  }

  /** Returns a bridge that runs; `undefined` for one that cannot, of which others are left out. */
  async get(name: string): Promise<Running | undefined> {
    const running = this.#running.get(name);
    if (running?.isAlive) return running;
    const bridge = BRIDGES[name];
    if (bridge === undefined || name in this.leftOut) return undefined;
    const isOurs = name === OURS || name === TWO || name === BASE;
    if (this.#isQuick && !isOurs) {
      this.leftOut[name] = "a quick run proves that ours runs";
      return undefined;
    }
    this.#tools.tell(name);
    try {
      const started = await start(bridge);
      this.#running.set(name, started);
      if (!this.#isQuick) await warmUp(started);
      return started;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.leftOut[name] = reason;
      if (isOurs) this.#tools.failures.push(`${name}: ${reason}`);
      else this.#tools.tell(`${name} is left out: ${reason}`);
      return undefined;
    }
  }

  /** Ends all. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running.values()].map((one) => one.end()));
  }
}

/** Tries until it works; fails with what its program said. */
async function inTime(
  run: () => Promise<unknown>,
  output: readonly string[],
): Promise<void> {
  const until = performance.now() + START_MS;
  for (;;) {
    try {
      return void await run();
    } catch (error) {
      const hasEnded = output[1] !== undefined;
      if (performance.now() < until && !hasEnded) {
        await pause(200);
        continue;
      }
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error([reason, ...output].filter((each) => each).join("; "));
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

/** What was measured of a way in a round. */
interface Sample {
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
  const leftOut: Record<string, string> = {};
  const rows: McpRow[] = [];
  for (const load of Object.keys(LOADS)) {
    tools.tell(load);
    // New ones for each load: some keep all of their answers, until their memory is full.
    await using bridges = new Bridges(tools, plan.quick, leftOut);
    for (const row of await rowsOf(load, bridges, plan, tools)) {
      const sessionKib = sessions.get(row.way);
      rows.push({ ...row, ...(sessionKib !== undefined && { sessionKib }) });
    }
  }
  return { rows, leftOut };
}

/** Measures all ways under one load, each in turn with the first bridge. */
async function rowsOf(
  load: string,
  bridges: Bridges,
  { quick, rounds }: Plan,
  tools: Tools,
): Promise<McpRow[]> {
  const { clients = 0, bytes = 0 } = LOADS[load] ?? {};
  const rows: McpRow[] = [];
  for (const [way, name, kind] of WAYS) {
    const row = await attempt(`${way}, ${load}`, tools, async () => {
      const base = await bridges.get(BASE);
      const bridge = await bridges.get(name);
      if (base === undefined || bridge === undefined) return undefined;
      const open = (one: Running, kind: Kind) =>
        Promise.all(Array.from({ length: clients }, () => one.client(kind)));
      const own = await open(bridge, kind);
      const others = await open(base, "session");
      const calls = quick ? 8 : callsOf(bytes);
      const samples: [own: Sample, base: Sample][] = [];
      for (let round = quick ? -1 : -WARMING_ROUNDS; round < rounds; round++) {
        const first = await measure(bridge, own, bytes, calls);
        const second = await measure(base, others, bytes, calls);
        if (round >= 0) samples.push([first, second]);
      }
      return rowOf({ way, load }, samples, await bridge.mib());
    });
    if (row) rows.push(row);
  }
  return rows;
}

type Call = (bytes: number) => Promise<void>;

/** Calls a bridge until the compilers have done their work. */
async function warmUp(bridge: Running): Promise<void> {
  const clients = await Promise.all(
    Array.from({ length: 8 }, () => bridge.client("session")),
  );
  await load(clients, 100, WARMING_CALLS);
}

/** Measures calls, after half as many that do not count: an engine that is idle for seconds drops code. */
async function measure(
  bridge: Running,
  clients: readonly Call[],
  bytes: number,
  calls: number,
): Promise<Sample> {
  await load(clients, bytes, calls / 2);
  const cpu = await bridge.cpu();
  const began = performance.now();
  const times = await load(clients, bytes, calls);
  const ms = performance.now() - began;
  return {
    cpu: (await bridge.cpu() - cpu) / times.length,
    ms: median(times),
    rate: times.length / ms * 1000,
  };
}

/** Calls, each client one after another; returns how long each call took, in ms. */
async function load(
  clients: readonly Call[],
  bytes: number,
  calls: number,
): Promise<number[]> {
  const times: number[] = [];
  let left = calls;
  await Promise.all(clients.map(async (call) => {
    while (left-- > 0) {
      const start = performance.now();
      await call(bytes);
      times.push(performance.now() - start);
    }
  }));
  return times;
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
  await using bridges = new Bridges(tools, quick);
  const kib = new Map<string, number>();
  let before = new Map<string, number>();
  for (const most of quick ? [1, 10] : [300, 1_000]) {
    const now = new Map<string, number>();
    const opened = new Map<string, number>();
    for (const name of Object.keys(BRIDGES)) {
      const bridge = await bridges.get(name);
      if (bridge === undefined) continue;
      const fill = () => fillWith(bridge, most);
      const count = await attempt(`${name}, sessions`, tools, fill);
      if (count) opened.set(name, count);
    }
    tools.tell("sessions are idle");
    await pause(quick ? 0 : IDLE_MS);
    for (const [name, count] of opened) {
      const mib = await (await bridges.get(name))?.mib() ?? 0;
      const grown = Math.max(0, mib - (before.get(name) ?? mib));
      kib.set(name, grown * 1024 / count);
      now.set(name, mib);
    }
    before = now;
  }
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
  const of = (field: keyof Sample, which: 0 | 1) =>
    samples.map((sample) => sample[which][field]);
  const figure = (field: keyof Sample) => spreadOf(of(field, 0));
  const ratio = (field: keyof Sample) =>
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
