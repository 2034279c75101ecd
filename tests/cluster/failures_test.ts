/**
 * Nodes that are killed, stopped or replaced: the ends of their calls, members and seats are reported at
 * once, and no office ever has two Agents.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { SmcpAgent } from "../../agent/mod.ts";
import {
  IS_LONG,
  startCluster,
  type TestCluster,
  timeoutOf,
  times,
} from "../support/cluster/cluster.ts";
import {
  askForSeat,
  callTool,
  comings,
  heard,
  joinAgent,
  joinComputer,
  joinSoon,
  leaves,
  pause,
  roomOf,
  startTraffic,
} from "../support/cluster/members.ts";
import {
  type AuditLine,
  membersOf,
  type NodeHistory,
  readAudit,
  rivals,
  type TestNode,
} from "../support/cluster/node.ts";
import { until } from "../support/cluster/programs.ts";
import { scriptedComputer } from "../support/office.ts";
import { startProxy } from "../support/proxy.ts";
import { seeded } from "../support/wire/hostile_payloads.ts";

const KILLS = times("SMCP_CLUSTER_KILLS", { short: 5, long: 50 });
const SECONDS = times("SMCP_CLUSTER_CHURN_SECONDS", { short: 20, long: 1800 });
const TIMEOUT_MS = 240_000;

Deno.test({
  name:
    `kill -9 of a node ${KILLS} times in a row with calls running: each is answered at once, leave notices come once`,
  timeout: timeoutOf(KILLS, 25_000),
}, async () => {
  await using cluster = await startCluster();
  const random = seeded(7);
  for (let kill = 1; kill <= KILLS; kill++) {
    await cluster.grown();
    const living = cluster.nodes.filter(({ isRunning }) => isRunning);
    const victim = living[Math.floor(random() * living.length)];
    const [home, third] = living.filter((node) => node !== victim);
    assert(victim && home && third);
    await killOne({ victim, home, third, office: `kill ${kill}` });
    await cluster.add();
  }
  await cluster.proved();
});

async function killOne(
  { victim, home, third, office }: {
    readonly victim: TestNode;
    readonly home: TestNode;
    readonly third: TestNode;
    readonly office: string;
  },
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const agent = stack.use(await joinAgent(home.url, "planner", office));
  const join = async (node: TestNode, name: string, where = office) =>
    stack.use(await joinComputer(node.url, name, where));
  const dying = [await join(victim, "v1"), await join(victim, "v2")];
  const safe = [await join(third, "safe"), await join(home, "own")];
  const all = ["v1", "v2", "safe", "own"];
  for (const name of all) await heard(agent, `enter ${name}`);
  const call = (computer: string) =>
    callTool(agent, "planner", computer, { hold: true });
  const lost = ["v1", "v2"].flatMap((name) => Array(5).fill(name).map(call));
  const kept = ["safe", "own"].map(call);
  await Promise.all([
    ...dying.map((pc) => pc.arrived(5)),
    ...safe.map((pc) => pc.arrived(1)),
  ]);
  // The home of this office is killed: its members come back elsewhere, to another home.
  const moved = `${office}, of the victim`;
  stack.use(await joinAgent(victim.url, "first", moved));
  const carried = await join(home, "carried", moved);
  const closed = carried.client.disconnected();

  await victim.kill();
  const began = performance.now();
  const inTime = (ms: number, what: string) =>
    assert(!IS_LONG || performance.now() - began <= ms, what);
  for (const { code } of await Promise.all(lost)) assertEquals(code, 404);
  const watchers = [agent, ...safe.map(({ client }) => client)];
  const left = () => watchers.map((client) => leaves(client).sort().join());
  await until(() => left().every((text) => text === "leave v1,leave v2"));
  await closed;
  inTime(1500, "answers and notices");
  assertEquals(await roomOf(agent, "planner", office), [
    "agent planner",
    "computer own",
    "computer safe",
  ]);

  // Nobody else's call noticed anything, and names are free again at once.
  for (const pc of safe) pc.release();
  for (const { code } of await Promise.all(kept)) assertEquals(code, undefined);
  const again = await join(third, "v1");
  await heard(agent, "enter v1", 2);
  assertEquals((await callTool(agent, "planner", "v1")).code, undefined);
  assertEquals(again.called.length, 1);
  // One Agent gets the seat at the new home, when the lease of the old one has ended.
  const asked = await Promise.all(
    [home, third].map(({ url }, i) =>
      askForSeat(url, "agent", `next ${i}`, moved)
    ),
  );
  await join(third, "carried", moved);
  inTime(6000 + 2000, "the seats of an office whose home was killed");
  for (const one of asked) if ("client" in one) stack.use(one.client);
  assertEquals(
    asked.filter((one) => "refusal" in one),
    [{ refusal: "Room already has an agent" }],
  );
  assertEquals(left()[0], "leave v1,leave v2", "exactly once");
}

const OFFICES = ["o0", "o1", "o2"];
const COMPUTERS = ["pc0", "pc1", "pc2"];

Deno.test({
  name:
    `${SECONDS} s of joins, leaves and calls on three nodes, with kills and a restart of Redis: no ghost, no two Agents, each notice once`,
  timeout: timeoutOf(SECONDS, 1000) + 120_000,
}, async () => {
  await using cluster = await startCluster({ redis: { persistent: true } });
  await using watcher = await joinAgent(
    cluster.node(0).url,
    "watcher",
    "watched",
  );
  const churn = new Churn(cluster);
  await Promise.all([
    churn.kills(),
    ...["watched", ...OFFICES].flatMap((office) =>
      COMPUTERS.map((name) => churn.computers(name, office))
    ),
    ...OFFICES.flatMap((office) =>
      ["one", "two"].map((name) => churn.agents(name, office))
    ),
  ]);
  await until(async () =>
    (await roomOf(watcher, "watcher", "watched")).join() === "agent watcher"
  );
  await cluster.proved();
  // Nobody enters twice, or leaves who is not there.
  const present = () => {
    const names = new Set<string>();
    for (const [i, text] of comings(watcher).entries()) {
      const [verb, name = ""] = text.split(" ");
      assertEquals(names.has(name), verb === "leave", `notice ${i}: ${text}`);
      if (verb === "enter") names.add(name);
      else names.delete(name);
    }
    return names.size;
  };
  await until(() => present() === 0);
  const { joins, calls, killed } = churn;
  assert(joins > 20 && calls > 20 && killed > 0, `${joins}, ${calls}`);
});

/** Members that come and go, and nodes that are killed, for a while. */
class Churn {
  joins = 0;
  calls = 0;
  killed = 0;
  readonly #random = seeded(5);
  readonly #over = Date.now() + SECONDS * 1000;

  constructor(readonly cluster: TestCluster) {}

  /** Computers of one name that come, are called, and go in every way. */
  async computers(name: string, office: string): Promise<void> {
    while (!this.#isOver) {
      try {
        await using pc = await joinComputer(this.#any.url, name, office);
        this.joins++;
        await pause(100 + this.#random() * 300);
        if (this.#random() < 0.5) {
          await Promise.race([
            pc.client.request("server:leave_office", { office_id: office }),
            pc.client.disconnected(),
          ]);
        }
      } catch {
        await pause(20); // its node was killed, or its name is not free yet
      }
    }
  }

  /** Agents that want one seat, and call while they have it. */
  async agents(name: string, office: string): Promise<void> {
    while (!this.#isOver) {
      const asked = await askForSeat(this.#any.url, "agent", name, office);
      if ("refusal" in asked) {
        await pause(20);
        continue;
      }
      this.joins++;
      await using agent = asked.client;
      const lost = agent.disconnected().then(() => undefined);
      for (let i = 0; i < 30 && agent.socket.connected; i++) {
        const call = callTool(agent, name, COMPUTERS[i % 3] ?? "");
        if (await Promise.race([call, lost]) !== undefined) this.calls++;
        await pause(10);
      }
    }
  }

  /** Kills nodes other than the first, and restarts Redis in the middle. */
  async kills(): Promise<void> {
    const middle = this.#over - SECONDS * 500;
    let isRestarted = false;
    while (!this.#isOver) {
      await pause(SECONDS > 60 ? 15_000 : 4000);
      if (!isRestarted && Date.now() > middle) {
        isRestarted = true;
        const keepData = this.#random() < 0.5;
        await this.cluster.redis.restart({ keepData });
        continue;
      }
      const [, ...others] = this.#running;
      await others[Math.floor(this.#random() * others.length)]?.kill();
      this.killed++;
      await this.cluster.add();
    }
  }

  get #isOver(): boolean {
    return Date.now() >= this.#over;
  }

  get #running(): TestNode[] {
    return this.cluster.nodes.filter(({ isRunning }) => isRunning);
  }

  get #any(): TestNode {
    const running = this.#running;
    return running[Math.floor(this.#random() * running.length)] ??
      this.cluster.node(0);
  }
}

Deno.test({
  name:
    "a node that is ended by a signal finishes the calls to its Computers, and leaves no seat behind",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster();
  const a = cluster.node(0);
  const b = cluster.node(1);
  await using agent = await joinAgent(a.url, "planner", "o");
  await using far = await joinComputer(b.url, "far", "o");
  await using other = await joinAgent(b.url, "other", "p");
  await using pc = await joinComputer(a.url, "pc", "p");
  await Promise.all([heard(agent, "enter far"), heard(other, "enter pc")]);
  const calls = [
    callTool(agent, "planner", "far", { hold: true }),
    callTool(other, "other", "pc", { hold: true }),
  ];
  await Promise.all([far.arrived(1), pc.arrived(1)]);
  const gone = b.drain();
  await until(async () => {
    const ready = await fetch(`${b.url}/ready`);
    await ready.body?.cancel();
    return ready.status === 503;
  });
  far.release();
  pc.release();
  for (const { code } of await Promise.all(calls)) {
    assertEquals(code, undefined);
  }
  assertEquals(await gone, 0);
  await heard(agent, "leave far");
  await heard(pc.client, "leave other");
  assertEquals(comings(agent), ["enter far", "leave far"]);
  assertEquals(comings(pc.client), ["leave other"]);
  await cluster.proved();
});

Deno.test({
  name:
    "a rolling deploy: one node after the other is replaced while an Agent calls, and every call is answered",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster();
  // A balancer's view: addresses that stay, behind which nodes change.
  await using stack = new AsyncDisposableStack();
  const slots = await Promise.all(
    cluster.nodes.map(async ({ url }) => stack.use(await startProxy(url))),
  );
  for (const [i, { url }] of slots.entries()) {
    const name = `pc${i}`;
    const script = (event: string) =>
      event === "client:get_tools"
        ? { req_id: "t", tools: [] }
        : { content: [{ type: "text", text: name }] };
    const computer = stack.use(scriptedComputer({ url, name, script }));
    await computer.connect();
    await computer.join("o");
  }
  const url = slots[0]?.url ?? "";
  const agent = stack.use(
    new SmcpAgent({ url, name: "planner", offline: "wait" }),
  );
  await agent.connect();
  await agent.join("o");
  let isOver = false;
  let answered = 0;
  const calling = COMPUTERS.map(async (name) => {
    while (!isOver) {
      try {
        const { content } = await agent.callTool(name, "echo");
        assertEquals(content[0]?.text, name);
        answered++;
      } catch (error) {
        // A Computer between two nodes is absent: its calls fail, and none waits.
        assertMatch(
          String(error),
          /left before|not in your office|cannot be reached now|shutting down|connection was lost|cluster/i,
        );
      }
      await pause(20);
    }
  });
  for (const [i, slot] of slots.entries()) {
    const next = await cluster.add();
    slot.turnTo(next.url);
    assertEquals(await cluster.node(i).drain(), 0);
    const before = answered;
    await until(() => answered > before + 20);
  }
  isOver = true;
  await Promise.all(calling);
  await cluster.proved();
});

Deno.test({
  name:
    "a node that is stopped for a second is missed by nobody; one that is silent for 8 of the 15 seconds of its lease ends the calls to it, and its clients come back",
  timeout: TIMEOUT_MS,
}, async () => {
  const lease = ["--cluster-lease", "15"];
  await using cluster = await startCluster({ flags: lease });
  const a = cluster.node(0);
  const b = cluster.node(1);
  const c = cluster.node(2);
  await using agent = await joinAgent(a.url, "planner", "o");
  await using far = await joinComputer(b.url, "far", "o");
  await heard(agent, "enter far");
  b.freeze();
  const call = callTool(agent, "planner", "far");
  await pause(1000);
  b.thaw();
  assertEquals((await call).code, undefined);
  assertEquals([far.called.length, leaves(agent)], [1, []]);

  await using near = await joinComputer(c.url, "near", "o");
  await heard(agent, "enter near");
  const others = startTraffic(agent, "planner", "near");
  const stopped = pause(8000);
  b.freeze();
  const lost = await callTool(agent, "planner", "far");
  assertEquals(lost.code, 404); // while it stands still
  await stopped;
  const gone = far.client.disconnected();
  b.thaw();
  await gone;
  await using back = await joinComputer(b.url, "far", "o");
  for (const { outcome } of await others.stop()) assertEquals(outcome, "ok");
  assertEquals((await callTool(agent, "planner", "far")).code, undefined);
  assert(back.called.length > 0 && near.called.length > 0);
  assertEquals(leaves(agent), ["leave far"]);
  assertEquals((await roomOf(agent, "planner", "o")).length, 3);
  await cluster.proved();
});

Deno.test({
  name:
    "a node that is stopped for longer than its lease is fenced when it goes on, and disturbs nobody",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster();
  const a = cluster.node(0);
  const b = cluster.node(1);
  const c = cluster.node(2);
  await using agent = await joinAgent(a.url, "planner", "o");
  await using far = await joinComputer(b.url, "far", "o");
  await heard(agent, "enter far");
  await using first = await joinAgent(b.url, "first", "of b");
  await using pc = await joinComputer(a.url, "pc", "of b");
  await using own = await joinComputer(b.url, "own", "of b");
  await heard(first, "enter own");
  const stopped = pause(15_000);
  const lost = pc.client.disconnected();
  b.freeze();
  await lost; // its office lives at the node that stands still
  await heard(agent, "leave far");
  await using again = await joinComputer(c.url, "far", "o");
  await heard(agent, "enter far", 2);
  await using moved = await joinComputer(a.url, "pc", "of b");
  await using second = await joinAgent(c.url, "second", "of b");
  const traffic = [
    startTraffic(agent, "planner", "far"),
    startTraffic(second, "second", "pc"),
  ];
  // What it still has to read are events of its own clients: they must reach nobody.
  void callTool(first, "first", "own", { req_id: "late" });
  void callTool(first, "first", "pc", { req_id: "late" });
  far.client.socket.emit("server:update_tool_list", { computer: "far" });
  await stopped;
  const gone = [first.disconnected(), far.client.disconnected()];
  b.thaw();
  await Promise.all(gone);
  // It serves again, as a new node.
  await using back = (await joinSoon(b.url, "computer", "back", "o")).client;
  await heard(agent, "enter back");
  assert(back.socket.connected);
  for (const each of traffic) {
    for (const { outcome } of await each.stop()) assertEquals(outcome, "ok");
  }
  for (const { called } of [pc, moved, own]) assert(!called.includes("late"));
  const updates = agent.heard.filter(({ event }) => /update/.test(event));
  assertEquals([updates, leaves(agent)], [[], ["leave far"]]);
  assert(again.called.length > 0);
  await cluster.proved();
});

Deno.test("rivals() finds two Agents of one office that were served at one time, by the log of each one's own node", () => {
  const line = (name: string, time: number, event = "joined"): AuditLine => ({
    time,
    event,
    name,
    office: "o",
    role: "agent",
    socket: `of ${name}`,
  });
  const stay = [line("one", 1), line("one", 9, "left")];
  const call = { ...line("one", 9, "tool_call"), agent: "one", outcome: "ok" };
  const frozen = [[2, 8]] as const;
  const RIVALS = [["one", "two"]];
  const rows: readonly (readonly [
    string,
    Partial<NodeHistory>,
    readonly AuditLine[],
    readonly string[][],
  ])[] = [
    ["at one time", { audit: stay }, [line("two", 5)], RIVALS],
    ["one after the other", { audit: stay }, [line("two", 9)], []],
    ["the same one", { audit: stay }, [line("one", 5)], []],
    [
      "the word of another node",
      { audit: [line("one", 1)] },
      [line("one", 4, "left"), line("two", 5)],
      RIVALS,
    ],
    [
      "an end of the process",
      { audit: [line("one", 1)], endedAt: 4 },
      [line("two", 5)],
      [],
    ],
    ["a stop", { audit: stay, frozen }, [line("two", 5)], []],
    [
      "a stop, and a call after it",
      { audit: [...stay, call], frozen },
      [line("two", 5)],
      RIVALS,
    ],
  ];
  for (const [name, over, audit, expected] of rows) {
    const node = { name: "", audit, endedAt: undefined, frozen: [] };
    assertEquals(rivals([{ ...node, ...over }, node]), expected, name);
  }
  const read = readAudit(
    '{"time":"2026-01-01T00:00:00.000Z","level":"info","logger":"a2c-smcp.audit","message":"joined","office":"o","role":"agent","name":"one","socket":"s"}',
  );
  assertEquals(membersOf({ audit: read ? [read] : [] }).length, 1);
  for (const other of ["Listening", '{"logger":"a2c-smcp.audit","mess']) {
    assertEquals(readAudit(other), undefined);
  }
});
