import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { captureLog } from "../../../../support/log_capture.ts";
import { ClusterNode } from "../../../../../server/cluster/node/cluster_node.ts";
import type { Desk } from "../../../../../server/offices/exchange.ts";
import type { LinkEvents } from "../../../../../server/cluster/links/links.ts";
import { FakeClock } from "../../../../support/cluster/fake_clock.ts";
import {
  aboutNode,
  FakeDirectory,
  FakeLinks,
  seated,
  SETTINGS,
  TIMES,
} from "../../../../support/cluster/fake_node.ts";

const AWAY = new Error("Redis cannot be reached");

/** A node that has not begun to join. */
function newNode() {
  const clock = new FakeClock();
  const lives: {
    directory: FakeDirectory;
    links: FakeLinks;
    events: LinkEvents;
    isClosed: boolean;
  }[] = [];
  const cluster = {
    failure: undefined as Error | undefined,
    nodes: new Map<string, string>(),
    closed: 0,
  };
  const fenced: string[] = [];
  const member = seated("pc", "n1").member;
  let members = [member];
  const node = new ClusterNode({
    connect: (events) => {
      if (cluster.failure) return Promise.reject(cluster.failure);
      const directory = new FakeDirectory(`n${lives.length + 1}`, clock);
      directory.answers = [{ nodes: cluster.nodes }];
      directory.seats = members.map((member) => ({ protocol: "0.2", member }));
      const links = new FakeLinks();
      const life = { directory, links, events, isClosed: false };
      lives.push(life);
      return Promise.resolve({
        directory,
        links,
        close: () => {
          life.isClosed = true;
          return Promise.resolve();
        },
      });
    },
    close: () => {
      cluster.closed++;
      return Promise.resolve();
    },
    place: "redis:6379",
    name: "own",
    times: TIMES,
    clock,
  });
  const desk: Desk = {
    serve: () => () => {},
    notify: () => {},
    entered: () => {},
    left: () => {},
    lost: () => {},
    evict: () => {},
    members: () => members,
    reload: () => Promise.resolve(),
    refresh: () => {},
    fence: (reason) => {
      fenced.push(reason);
      members = [];
    },
  };
  const exchange = node.exchange("0.2", desk);
  return { node, clock, lives, cluster, fenced, exchange };
}

Deno.test("ClusterNode serves once its first beat is answered and it has met the others", async () => {
  const { node, clock, lives, cluster, exchange } = newNode();
  cluster.nodes.set("b", aboutNode("b"));
  assertEquals([exchange.isServing(), node.hindrance], [
    false,
    "registry unavailable",
  ]);
  node.start(SETTINGS);
  await node.joined();
  assertEquals(lives[0]?.links.asked, ["meet b"]);
  assertEquals([exchange.isServing(), exchange.node], [true, "n1"]);
  assertEquals(node.hindrance, undefined);
  assertEquals(node.status(), {
    node: "n1",
    leaseMs: 14_000,
    redis: "connected",
    nodes: 2,
  });
  await clock.turn(1000);
  assertEquals(node.status().leaseMs, 13_000);
  await node.leave();
});

Deno.test("ClusterNode says that the registry is unavailable while Redis is away, and goes on", async () => {
  const { node, clock, lives, exchange } = newNode();
  node.start(SETTINGS);
  await node.joined();
  const [life] = lives;
  if (life) life.directory.answers = [AWAY];
  await clock.turn(3000);
  assertEquals(node.hindrance, "registry unavailable");
  assertEquals([exchange.isServing(), node.status().redis], [true, "away"]);
  await node.leave();
});

Deno.test("ClusterNode that is fenced disconnects its clients, and joins again under a new id", async () => {
  const { node, clock, lives, cluster, fenced, exchange } = newNode();
  node.start(SETTINGS);
  await node.joined();
  const [first] = lives;
  if (first) first.directory.answers = [AWAY];
  cluster.failure = AWAY;
  await clock.turn(14_000);
  assertEquals(fenced, ["its server has lost Redis"]);
  assertEquals([exchange.isServing(), node.hindrance], [false, "fenced"]);
  assertEquals([first?.isClosed, node.status().node], [true, ""]);
  await assertRejects(
    () => Promise.resolve(exchange.registry.list("office")),
    Error,
    "The registry of offices cannot be reached",
  );
  await clock.turn(30_000);
  assertEquals([lives.length, node.hindrance], [1, "fenced"]);
  cluster.failure = undefined;
  await clock.turn(1000);
  assertEquals([exchange.isServing(), exchange.node], [true, "n2"]);
  assertEquals(node.hindrance, undefined);
  assertEquals(node.figures().fences, 1);
  // Nobody else has to find out that the former one is no more.
  assertEquals(lives[1]?.directory.asked, ["reap n1"]);
  await node.leave();
});

Deno.test("ClusterNode gives up its lease and closes when it leaves, also while it cannot join", async () => {
  const { node, lives } = newNode();
  node.start(SETTINGS);
  await node.joined();
  await node.leave();
  assertEquals(
    lives.map(({ directory, isClosed }) => [
      directory.asked,
      isClosed,
    ]),
    [[["leave"], true]],
  );
  const other = newNode();
  other.cluster.failure = AWAY;
  other.node.start(SETTINGS);
  await other.clock.turn(5000);
  await other.node.leave();
  assertEquals(other.lives, []);
});

Deno.test("ClusterNode closes its first connection where no server has taken it over", async () => {
  const { node, cluster } = newNode();
  await node.leave();
  assertEquals(cluster.closed, 1);
});

Deno.test("ClusterNode.joined() rejects with the reason of each try, which is logged once", async () => {
  using log = captureLog();
  const { node, clock, cluster } = newNode();
  cluster.failure = AWAY;
  node.start(SETTINGS);
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
  assertEquals(
    log.records.filter(({ level }) => level === "error").map((record) =>
      record.properties.reason
    ),
    ["Redis cannot be reached"],
  );
  await node.leave();
});

Deno.test("ClusterNode belongs to one server", async () => {
  const { node } = newNode();
  node.start(SETTINGS);
  assertThrows(
    () => node.start(SETTINGS),
    TypeError,
    "Cannot use a cluster twice",
  );
  await node.leave();
});

Deno.test("ClusterNode counts requests of sessions of living nodes, and explains them at most each 10 s", async () => {
  using log = captureLog();
  const { node, clock, cluster } = newNode();
  cluster.nodes.set("b", aboutNode("web-2"));
  node.start(SETTINGS);
  await node.joined();
  const foreign = ["web-2.abc", "web-2.def", "own.abc", "gone.abc", "abc", ""];
  for (const sid of foreign) node.unknownSession(sid);
  assertEquals(node.figures().misrouted, 2);
  const lines = () =>
    log.records.filter(({ message }) =>
      message.join("").includes("The balancer is not sticky")
    );
  assertEquals(lines().length, 1);
  await clock.turn(10_000);
  node.unknownSession("web-2.ghi");
  assertEquals(lines().map(({ properties }) => properties.omitted), [
    undefined,
    1,
  ]);
  await node.leave();
});

Deno.test("ClusterNode counts what passes between nodes, and measures claims", async () => {
  const { node, lives, exchange } = newNode();
  const claims: string[] = [];
  node.onClaim((outcome) => claims.push(outcome));
  node.start(SETTINGS);
  await node.joined();
  lives[0]?.links.peers.add("b");
  exchange.left(seated("pc", "n1").member, "socket");
  const { member } = seated("pc", "n1");
  await assertRejects(async () =>
    await exchange.registry.claim(member, {
      role: undefined,
      member: undefined,
    }, 1)
  );
  const { messagesOut, bytesOut } = node.figures();
  assertEquals([messagesOut, bytesOut > 100, claims], [1, true, ["failed"]]);
  await node.leave();
});
