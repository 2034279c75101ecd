/**
 * Three Servers with one set of offices, in under a minute: a Redis, a balancer, five Computers, and
 * an Agent that calls them all the while. A Server is killed, and the calls go on.
 *
 * ```sh
 * deno task demo:cluster
 * ```
 *
 * @module
 */
import { SmcpAgent } from "../agent/mod.ts";
import { scriptedComputer } from "../testing/mod.ts";
import { missingPrograms } from "../tests/support/cluster/install.ts";
import { startRedis } from "../tests/support/cluster/redis.ts";
import {
  membersOf,
  startNode,
  type TestNode,
} from "../tests/support/cluster/node.ts";
import { startPageBalancer } from "../tests/support/cluster/balancers.ts";
import { startBalancer } from "./cluster_balancer.ts";

const OFFICE = "demo";
const COMPUTERS = ["laptop", "tablet", "phone", "desk", "rack"];

/** How long the Agent calls between two events of the demo. */
const CALLS_BETWEEN = 100;

if ((await missingPrograms(["redis-server"])).length > 0) {
  console.error(`error: this demo needs redis-server, and there is none here
Install it: apt-get install redis-server (Debian, Ubuntu), brew install redis (macOS), dnf install valkey (Fedora), or run it elsewhere and give it to the Servers yourself, as docs/scaling.md shows.`);
  Deno.exit(1);
}

async function demo(): Promise<void> {
  step("Start a Redis, and three Servers that share their offices through it");
  const redis = running.use(await startRedis());
  const servers = await Promise.all(["a", "b", "c"].map(async (name) => {
    const server = running.use(
      await startNode({
        name,
        redis: redis.url,
        flags: ["--cluster-name", name, "--trust-proxy", "1"],
      }),
    );
    print(`$ smcp-server --cluster ${redis.url} --cluster-name ${name}`);
    return server;
  }));

  const hasProxy = (await missingPrograms(["haproxy"])).length === 0;
  step(`Put ${hasProxy ? "HAProxy" : "a balancer of our own"} before them`);
  const balancer = running.use(
    hasProxy
      ? await startPageBalancer("haproxy-session.cfg", servers)
      : await startBalancer(servers),
  );
  print(`clients connect to ${balancer.url}`);

  step("Let five Computers and an Agent join an office, wherever they land");
  for (const name of COMPUTERS) await joinComputer(balancer.url, name);
  const agent = running.use(
    new SmcpAgent({ url: balancer.url, name: "planner", offline: "wait" }),
  );
  await agent.connect();
  await agent.join(OFFICE);
  await picture(servers, (count) => count === COMPUTERS.length + 1);

  step("The Agent calls all Computers, one after the other, from now on");
  const calls = new Calls(agent);
  running.defer(() => calls.stop());
  await calls.answered(CALLS_BETWEEN);
  print(calls.summary());

  const victim =
    servers.find((server) =>
      !hosts(server, "planner") && membersOf(server).length > 0
    ) ?? servers[0];
  if (!victim) throw new Error("there is no Server");
  await killed(victim, servers, calls);

  const own = servers.find((server) => hosts(server, "planner"));
  if (!own) throw new Error("the Agent is nowhere");
  step("Now that of the Agent itself");
  await killed(own, servers, calls);
}

/** Kills a Server; resolves when its clients sit elsewhere, and calls were answered since. */
async function killed(
  victim: TestNode,
  servers: readonly TestNode[],
  calls: Calls,
): Promise<void> {
  const names = membersOf(victim).map(({ name }) => name);
  step(`kill -9 of Server ${victim.name}, where ${names.join(", ")} sit`);
  const before = calls.total;
  await victim.kill();
  await picture(servers, (count) => count === COMPUTERS.length + 1);
  await calls.answered(CALLS_BETWEEN);
  print(`${calls.total - before} calls since then. ${calls.summary()}`);
}

async function joinComputer(url: string, name: string): Promise<void> {
  const computer = running.use(
    scriptedComputer({
      url,
      name,
      script: (event) =>
        event === "client:get_tools"
          ? { req_id: "tools", tools: [] }
          : { content: [{ type: "text", text: `hello from ${name}` }] },
    }),
  );
  await computer.connect();
  await computer.join(OFFICE);
}

/** An Agent's calls, one after the other, that count what comes of them. */
class Calls {
  total = 0;
  readonly #agent: SmcpAgent;
  readonly #failures = new Map<string, number>();
  #slowestMs = 0;
  #answered = 0;
  #isOver = false;
  readonly #done: Promise<void>;

  constructor(agent: SmcpAgent) {
    this.#agent = agent;
    this.#done = this.#run();
  }

  /** Resolves when so many more calls were answered with a result. */
  async answered(more: number): Promise<void> {
    const enough = this.#answered + more;
    while (this.#answered < enough) await pause(20);
  }

  summary(): string {
    const failed = [...this.#failures].map(([why, n]) => `${n} × ${why}`);
    return `All in all ${this.#answered} results, the slowest after ${
      Math.round(this.#slowestMs)
    } ms; ${failed.join(", ") || "no call failed"}`;
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#done;
  }

  async #run(): Promise<void> {
    for (let i = 0; !this.#isOver; i++) {
      const computer = COMPUTERS[i % COMPUTERS.length] ?? "";
      const began = performance.now();
      try {
        await this.#agent.callTool(computer, "hello");
        this.#answered++;
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        this.#failures.set(why, (this.#failures.get(why) ?? 0) + 1);
      }
      this.total++;
      this.#slowestMs = Math.max(this.#slowestMs, performance.now() - began);
      await pause(10);
    }
  }
}

const hosts = (server: TestNode, name: string): boolean =>
  server.isRunning && membersOf(server).some((member) => member.name === name);

/** Shows the members of each Server, by the Servers' own logs, once there are enough. */
async function picture(
  servers: readonly TestNode[],
  isEnough: (members: number) => boolean,
): Promise<void> {
  const living = servers.filter(({ isRunning }) => isRunning);
  while (!isEnough(living.flatMap(membersOf).length)) await pause(20);
  console.log();
  for (const server of servers) {
    const names = membersOf(server).map(({ name, role }) =>
      role === "agent" ? `${name} (Agent)` : name
    );
    console.log(
      server.isRunning
        ? `      Server ${server.name} ┤ ${names.join(", ") || "no member"}`
        : `      Server ${server.name} ┘ killed`,
    );
  }
  console.log();
}

function step(title: string): void {
  console.log(`\n${title}`);
}

function print(line: string): void {
  console.log(`  ${line}`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const running = new AsyncDisposableStack();
try {
  await demo();
  step("Stop everything");
} finally {
  await running.disposeAsync();
}
console.log("\nDone. Nothing is left running.");
Deno.exit();
