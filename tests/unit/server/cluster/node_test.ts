import { Buffer } from "node:buffer";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ClusterNode } from "../../../../server/cluster/cluster_node.ts";
import {
  type Beat,
  type LeasedDirectory,
  RegistryUnavailableError,
} from "../../../../server/cluster/directory.ts";
import type { LinkEvents } from "../../../../server/cluster/link.ts";
import {
  aboutOf,
  differences,
  readAbout,
} from "../../../../server/cluster/node_log.ts";
import type { Links } from "../../../../server/cluster/redis_links.ts";
import { FakeClock } from "../../../support/cluster/fake_clock.ts";
import { captureLog } from "../../../support/log_capture.ts";
import { plainOffices } from "../../../support/server/plain_offices.ts";

const SETTINGS = {
  protocols: ["0.2"],
  membersPerOffice: 1000,
  maxMessageBytes: 8 * 2 ** 20,
  pingIntervalMs: 25_000,
  pingTimeoutMs: 20_000,
} as const;

/** A beat each 3 seconds. */
const LEASE_MS = 12_000;
const AWAY = new Error("Redis cannot be reached");

Deno.test("ClusterNode serves once its first beat is answered and it has met the others", async () => {
  const { node, clock, lives, local, start } = newNode({ nodes: others("b") });
  const state = () => [node.isServing(), node.hindrance, node.node];
  assertEquals(state(), [false, "registry unavailable", ""]);
  assertEquals(start(), local);
  await node.joined();
  assertEquals(lives[0]?.asked, ["meet b"]);
  assertEquals(state(), [true, undefined, "n1"]);
  const status = { node: "n1", redis: "connected", nodes: 2 } as const;
  assertEquals(node.status(), { ...status, leaseMs: 11_000 });
  await clock.turn(1000);
  assertEquals(node.status(), { ...status, leaseMs: 10_000 });
  assertThrows(start, TypeError, "Cannot use a cluster twice");
  await node.leave();
});

Deno.test("ClusterNode beats four times in a lease, every 500 ms after a beat without an answer, and at once when Redis is connected again", async () => {
  await using all = await joined();
  const { node, clock, life } = all;
  const state = () => [node.isServing(), node.hindrance, node.status().redis];
  await clock.turn(9000);
  assertEquals(life.beats, [0, 3000, 6000, 9000]);
  life.answers = [AWAY, AWAY, {}];
  await clock.turn(3000);
  assertEquals(state(), [true, "registry unavailable", "away"]);
  await clock.turn(4000);
  assertEquals(life.beats.slice(4), [12000, 12500, 13000, 16000]);
  assertEquals(state(), [true, undefined, "connected"]);
  life.events.connected(false);
  assertEquals(state(), [true, "registry unavailable", "away"]);
  life.events.connected(true);
  await clock.turn(1);
  assertEquals(life.beats.slice(8), [16_000]);
  assertEquals(all.tunnel.calls, []);
});

Deno.test("ClusterNode is fenced a second before its lease ends, counted from the last answered beat, and joins again under a new id", async () => {
  const all = await joined();
  const { node, clock, life, lives, cluster, tunnel } = all;
  await clock.turn(3000);
  life.answers = [AWAY];
  cluster.failure = AWAY;
  await clock.turn(10_900);
  assertEquals([tunnel.calls, node.isServing()], [[], true]);
  await clock.turn(100);
  assertEquals(tunnel.calls, [
    "fence: its server has lost Redis, serving: false",
  ]);
  assertEquals(
    [node.isServing(), node.hindrance, life.asked, node.status().node],
    [false, "fenced", ["leave", "close"], ""],
  );
  await assertRejects(() => node.claim("x"), Error, "The registry of offices");
  const beats = life.beats.length;
  await clock.turn(60_000);
  const { fences, beatsFailed } = node.figures();
  assertEquals([life.beats.length, beatsFailed, fences], [beats, beats - 2, 1]);
  assertEquals([lives.length, node.hindrance], [1, "fenced"]);
  cluster.failure = undefined;
  await clock.turn(1000);
  assertEquals([node.isServing(), node.node], [true, "n2"]);
  assertEquals(node.hindrance, undefined);
  await node.leave();
});

Deno.test("ClusterNode that Redis has taken for dead is fenced at once, and passes nothing of that term on", async () => {
  await using all = await joined();
  const { clock, life, lives, tunnel } = all;
  life.answers = ["reaped"];
  await clock.turn(3000);
  life.events.received("other", Buffer.alloc(1));
  life.events.failed("other", "gone");
  assertEquals(tunnel.calls, [
    "fence: its server was taken for dead, serving: false",
  ]);
  assertEquals([life.asked, lives.length], [["close"], 2], "no lease to leave");
});

Deno.test("ClusterNode of a process that was frozen longer than its lease passes nothing on before it is fenced", async () => {
  await using all = await joined();
  const { node, clock, life, tunnel } = all;
  clock.freeze(30_000);
  assertEquals(node.isServing(), false);
  life.events.received("other", Buffer.alloc(1));
  assertEquals(tunnel.calls, []);
  await Promise.resolve();
  assertEquals(tunnel.calls, [
    "fence: its server has lost Redis, serving: false",
  ]);
});

Deno.test("ClusterNode refuses while its clocks disagree, and beats at once to find out", async () => {
  await using all = await joined();
  const { node, clock, life } = all;
  await clock.turn(1000);
  clock.ahead = 20_000; // the machine slept, or its clock was set
  assertEquals(node.isServing(), false);
  await clock.turn(1);
  assertEquals(life.beats, [0, 1000]);
  assertEquals([node.isServing(), all.tunnel.calls], [true, []]);
});

Deno.test("ClusterNode ends the homes that another node has after lost data, and logs the loss, but no fail-over", async () => {
  using log = captureLog();
  await using all = await joined({ settleMs: 5200, isEmpty: true });
  const waits = log.records.map(({ properties }) => properties.seconds);
  assertEquals(waits.filter((seconds) => seconds !== undefined), [6]);
  const { node, clock, life, tunnel } = all;
  const lost = () => {
    const { dataLost, homesLost } = node.figures();
    return [dataLost, homesLost];
  };
  life.answers = [{ isNew: true, isEmpty: false }, {}];
  await clock.turn(3000);
  assertEquals(lost(), [0, 0]);
  life.answers = [{ isNew: true, isEmpty: true, lost: ["lost"] }, {}];
  await clock.turn(3000);
  assertEquals([tunnel.calls, lost()], [["lost home lost"], [1, 1]]);
  const lines = log.records.map(({ message }) => message.join(""));
  assertEquals(lines.filter((line) => /lost its data|^1 off/.test(line)), [
    "Redis at redis:6379 has lost its data: the 0 offices that live here are registered again. Unless it was emptied on purpose, check that no other program uses it, and its maxmemory-policy",
    "1 offices that lived here have moved to other nodes: their members are disconnected. Give all nodes the same lease",
  ]);
});

Deno.test("ClusterNode meets nodes that are new, and drops those that said goodbye or whose lease has ended", async () => {
  using log = captureLog();
  await using all = await joined({ nodes: others("b", "c") });
  const { clock, life, tunnel } = all;
  const told = () =>
    log.records.map(({ rawMessage }) => String(rawMessage))
      .flatMap((line) => /has left|has ended\b/.exec(line)?.[0] ?? []);
  life.answers = [{ nodes: others("b", "c", "d") }, { nodes: others("d") }];
  life.peers.delete("c"); // its goodbye
  await clock.turn(6000);
  assertEquals(life.asked, ["meet b", "meet c", "meet d", "drop c"]);
  assertEquals(told(), ["has left"]);
  await clock.turn(3000);
  assertEquals(life.asked.slice(4), ["drop b"]);
  assertEquals(told(), ["has left", "has ended"]);
  assertEquals(tunnel.calls, ["gone c", "gone b"]);
});

Deno.test("ClusterNode keeps nodes that are missing while homes are not known again, or that seem gone: they may be back", async () => {
  const nodes = others("b");
  await using all = await joined({ nodes });
  const { node, clock, life, tunnel } = all;
  life.answers = [
    { isNew: true, settleMs: 6000 },
    { settleMs: 3000 },
    { settleMs: 1 },
    // Missing once, and once again.
    { nodes },
    {},
    { nodes },
    {},
    { nodes },
  ];
  await clock.turn(30_000);
  life.peers.delete("b");
  life.events.failed("b", "gone");
  await clock.turn(6000);
  assertEquals(tunnel.calls, ["gone b"]);
  assertEquals([life.asked, node.figures().nodesGone], [["meet b"], 1]);
});

Deno.test("ClusterNode says once which settings differ, with both values", async () => {
  using log = captureLog();
  const about = aboutNode("b", { maxMessageBytes: 4096 });
  await using _ = await joined({
    nodes: new Map([["b", about], ["c", about]]),
  });
  const warnings = log.records.filter(({ level }) => level === "warning");
  assertEquals(warnings.map(({ properties }) => properties), [{
    setting: "--max-message-bytes",
    own: "8388608",
    other: "4096",
    node: "b",
    name: "b",
  }]);
});

Deno.test("differences() names what two nodes have not alike, and nothing that one of them does not know", () => {
  const own = aboutOf("own", { ...SETTINGS, leaseMs: LEASE_MS });
  const text = aboutNode("b", { membersPerOffice: 10, protocols: ["0.4"] });
  assertEquals(differences(own, readAbout(text)), [
    { setting: "--protocol", own: "0.2", other: "0.4" },
    { setting: "--max-members-per-office", own: "1000", other: "10" },
  ]);
  for (const old of ["", "null", "{}", '{"settings":{"--protocol":1}}']) {
    assertEquals(differences(own, readAbout(old)), []);
  }
});

Deno.test("ClusterNode gives up its lease and closes when it leaves, also while it cannot join, or was never started", async () => {
  const { node, life, tunnel } = await joined();
  await node.leave();
  assertEquals([life.asked, tunnel.calls], [["leave", "close"], ["close"]]);
  const away = newNode();
  away.cluster.failure = AWAY;
  away.start();
  await away.clock.turn(5000);
  await away.node.leave();
  assertEquals([away.lives.length, away.cluster.closed], [0, 0]);
  const unused = newNode();
  await unused.node.leave();
  assertEquals(unused.cluster.closed, 1);
});

Deno.test("ClusterNode.joined() rejects with the reason of each try, which is logged once", async () => {
  using log = captureLog();
  const { node, clock, cluster, start } = newNode();
  cluster.failure = AWAY;
  start();
  for (let attempt = 0; attempt < 3; attempt++) {
    const rejected = assertRejects(
      () => node.joined(),
      Error,
      "Cannot join the cluster at redis:6379: Redis cannot be reached",
    );
    await clock.turn(1000);
    await rejected;
  }
  cluster.failure = undefined;
  await clock.turn(1000);
  await node.joined();
  const errors = log.records.filter(({ level }) => level === "error");
  assertEquals(
    errors.map(({ properties }) => properties.reason),
    [AWAY.message],
  );
  await node.leave();
});

Deno.test("ClusterNode counts requests of sessions of living nodes, and explains them at most each 10 s", async () => {
  using log = captureLog();
  await using all = await joined({ nodes: others("web-2", "own") });
  const { node, clock } = all;
  const foreign = ["web-2.abc", "web-2.def", "own.abc", "gone.abc", "abc", ""];
  for (const sid of foreign) node.unknownSession(sid);
  assertEquals(node.figures().misrouted, 2);
  await clock.turn(10_000);
  node.unknownSession("web-2.ghi");
  const lines = log.records.filter(({ message }) =>
    message.join("").includes("The balancer is not sticky")
  );
  assertEquals(
    lines.map(({ properties }) => properties.omitted),
    [undefined, 1],
  );
});

Deno.test("ClusterNode counts what passes between nodes and its homes, measures claims, and fails one that is answered when its lease is over", async () => {
  await using all = await joined({ nodes: others("b") });
  const { node, clock, life } = all;
  const outcomes: string[] = [];
  const again: string[] = [];
  node.onClaim((outcome) => outcomes.push(outcome));
  node.onClaim((outcome) => again.push(outcome));
  node.send("b", "", [new Uint8Array(3), new Uint8Array(4)]);
  life.events.received("b", Buffer.alloc(5));
  for (const office of ["north", "elsewhere"]) await node.claim(office);
  const { messagesOut, bytesOut, messagesIn, bytesIn, homes } = node.figures();
  assertEquals([messagesOut, bytesOut, messagesIn, bytesIn], [1, 7, 1, 5]);
  assertEquals([homes, all.tunnel.calls], [1, ["received b"]]);
  const answer = Promise.withResolvers<void>();
  life.claims = answer.promise;
  const late = assertRejects(() => node.claim("x"), RegistryUnavailableError);
  clock.freeze(LEASE_MS);
  answer.resolve();
  await late;
  assertEquals(outcomes, ["here", "elsewhere", "failed"]);
  assertEquals(again, outcomes, "each listener is called");
});

/** What another node publishes about itself. */
const aboutNode = (name: string, settings = {}): string =>
  JSON.stringify(
    aboutOf(name, { ...SETTINGS, leaseMs: LEASE_MS, ...settings }),
  );

const others = (...names: readonly string[]): ReadonlyMap<string, string> =>
  new Map(names.map((name) => [name, aboutNode(name)]));

type Answer = Partial<Extract<Beat, { state: "ok" }>> | "reaped" | Error;

/** What a node has under one id: a directory that answers what the test says, and links to whom it meets. */
class Life implements LeasedDirectory, Omit<Links, "maxMessageBytes"> {
  /** What it was asked for, in order. */
  readonly asked: string[] = [];
  /** What the next beats are answered; the last one stays. */
  answers: Answer[];
  readonly homes = new Set<string>();
  /** When beats were sent. */
  readonly beats: number[] = [];
  /** What claims wait for. */
  claims = Promise.resolve();
  readonly peers = new Set<string>();
  readonly queuedBytes = 0;
  readonly maxMessageBytes = 2 ** 20;

  constructor(
    readonly node: string,
    readonly events: LinkEvents,
    readonly clock: FakeClock,
    first: Answer,
  ) {
    this.answers = [first];
  }

  async beat(): Promise<Beat> {
    await Promise.resolve();
    this.beats.push(this.clock.now().steady);
    const [answer = {}] = this.answers;
    if (this.answers.length > 1) this.answers.shift();
    if (answer instanceof Error) throw answer;
    if (answer === "reaped") return { state: "reaped" };
    return {
      state: "ok",
      nodes: new Map(),
      isNew: this.beats.length === 1,
      isEmpty: false,
      settleMs: 0,
      lost: [],
      ...answer,
    };
  }

  async claim(office: string) {
    await this.claims;
    if (office === "elsewhere") return { node: "other", leaseLeftMs: 1 };
    this.homes.add(office);
    return { node: this.node, leaseLeftMs: LEASE_MS };
  }

  release = () => Promise.resolve();
  leave = () => Promise.resolve(void this.asked.push("leave"));
  send = () => "sent" as const;

  async meet(nodes: Iterable<string>) {
    const met = [...nodes];
    for (const node of met) this.asked.push(`meet ${node}`);
    await Promise.resolve();
    for (const node of met) this.peers.add(node);
  }

  drop(node: string) {
    this.peers.delete(node);
    this.asked.push(`drop ${node}`);
  }

  [Symbol.asyncDispose] = () => Promise.resolve();
}

/** A node that has not begun to join. */
function newNode(first: Answer = {}) {
  const clock = new FakeClock();
  const lives: Life[] = [];
  const cluster = { failure: undefined as Error | undefined, closed: 0 };
  const calls: string[] = [];
  const local = plainOffices().offices;
  const tunnel = {
    calls,
    nodes: new Set<string>(),
    ask: () => Promise.resolve(undefined),
    answerWith: () => {},
    hasRetired: () => false,
    counts: { callsOut: 0, callsIn: 0, callsOpen: 0 },
    start: () => local,
    received: (from: string) => void calls.push(`received ${from}`),
    failed: (other: string, how: string) => void calls.push(`${how} ${other}`),
    homeLost: (office: string) => void calls.push(`lost home ${office}`),
    fence: (reason: string) =>
      void calls.push(`fence: ${reason}, serving: ${node.isServing()}`),
    close: () => void calls.push("close"),
  };
  const node = new ClusterNode({
    connect: (events) => {
      if (cluster.failure) return Promise.reject(cluster.failure);
      const life = new Life(`n${lives.length + 1}`, events, clock, first);
      lives.push(life);
      const close = () => Promise.resolve(void life.asked.push("close"));
      return Promise.resolve({ directory: life, links: life, close });
    },
    close: () => Promise.resolve(void cluster.closed++),
    place: "redis:6379",
    name: "own",
    leaseMs: LEASE_MS,
    clock,
    newTunnel: () => tunnel,
    signInStore: () => Promise.reject(new Error("no Redis")),
  });
  const start = () => node.start(SETTINGS, local);
  return { node, clock, lives, cluster, tunnel, local, start };
}

/** A node that has joined, and leaves at the end of the scope. */
async function joined(first?: Answer) {
  const all = newNode(first);
  all.start();
  await all.node.joined();
  const [life] = all.lives;
  assert(life);
  return { ...all, life, [Symbol.asyncDispose]: () => all.node.leave() };
}
