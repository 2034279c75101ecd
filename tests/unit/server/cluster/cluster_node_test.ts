import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ClusterNode } from "../../../../server/cluster/cluster_node.ts";
import { RegistryUnavailableError } from "../../../../server/cluster/directory.ts";
import type { LinkEvents } from "../../../../server/cluster/link.ts";
import { FakeClock } from "../../../support/cluster/fake_clock.ts";
import {
  aboutNode,
  FakeDirectory,
  FakeLinks,
  FakeTunnel,
  LEASE_MS,
  SETTINGS,
} from "../../../support/cluster/fake_node.ts";
import { captureLog } from "../../../support/log_capture.ts";
import { plainOffices } from "../../../support/server/plain_offices.ts";

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
  const tunnel = new FakeTunnel();
  const local = plainOffices().offices;
  const node = new ClusterNode({
    connect: (events) => {
      if (cluster.failure) return Promise.reject(cluster.failure);
      const directory = new FakeDirectory(`n${lives.length + 1}`, clock);
      directory.answers = [{ nodes: cluster.nodes }];
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
    leaseMs: LEASE_MS,
    clock,
    newTunnel: () => Object.assign(tunnel, { start: () => local }),
  });
  const start = () => node.start(SETTINGS, local);
  return { node, clock, lives, cluster, tunnel, local, start };
}

Deno.test("ClusterNode serves once its first beat is answered and it has met the others", async () => {
  const { node, clock, lives, cluster, start } = newNode();
  cluster.nodes.set("b", aboutNode("b"));
  assertEquals([node.isServing(), node.hindrance], [
    false,
    "registry unavailable",
  ]);
  start();
  await node.joined();
  assertEquals(lives[0]?.links.asked, ["meet b"]);
  assertEquals([node.isServing(), node.node], [true, "n1"]);
  assertEquals(node.hindrance, undefined);
  assertEquals(node.status(), {
    node: "n1",
    leaseMs: 11_000,
    redis: "connected",
    nodes: 2,
  });
  await clock.turn(1000);
  assertEquals(node.status().leaseMs, 10_000);
  await node.leave();
});

Deno.test("ClusterNode.start() returns the offices of its tunnel", async () => {
  const { node, local, start } = newNode();
  assertEquals(start(), local);
  await node.joined();
  await node.leave();
});

Deno.test("ClusterNode says that the registry is unavailable while Redis is away, and goes on", async () => {
  const { node, clock, lives, start } = newNode();
  start();
  await node.joined();
  const [life] = lives;
  if (life) life.directory.answers = [AWAY];
  await clock.turn(3000);
  assertEquals(node.hindrance, "registry unavailable");
  assertEquals([node.isServing(), node.status().redis], [true, "away"]);
  await node.leave();
});

Deno.test("ClusterNode that is fenced ends all homes and streams, and joins again under a new id", async () => {
  const { node, clock, lives, cluster, tunnel, start } = newNode();
  start();
  await node.joined();
  const [first] = lives;
  if (first) first.directory.answers = [AWAY];
  cluster.failure = AWAY;
  await clock.turn(11_000);
  assertEquals(tunnel.calls, ["fence: its server has lost Redis"]);
  assertEquals([node.isServing(), node.hindrance], [false, "fenced"]);
  assertEquals([first?.isClosed, node.status().node], [true, ""]);
  await assertRejects(
    () => node.claim("office"),
    Error,
    "The registry of offices cannot be reached",
  );
  await clock.turn(30_000);
  assertEquals([lives.length, node.hindrance], [1, "fenced"]);
  cluster.failure = undefined;
  await clock.turn(1000);
  assertEquals([node.isServing(), node.node], [true, "n2"]);
  assertEquals(node.hindrance, undefined);
  assertEquals(node.figures().fences, 1);
  await node.leave();
});

Deno.test("ClusterNode gives up its lease and closes when it leaves, also while it cannot join", async () => {
  const { node, lives, tunnel, start } = newNode();
  start();
  await node.joined();
  await node.leave();
  assertEquals(
    lives.map(({ directory, isClosed }) => [directory.asked, isClosed]),
    [[["leave"], true]],
  );
  assertEquals(tunnel.calls.at(-1), "close");
  const other = newNode();
  other.cluster.failure = AWAY;
  other.start();
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
  assertEquals(
    log.records.filter(({ level }) => level === "error").map((record) =>
      record.properties.reason
    ),
    ["Redis cannot be reached"],
  );
  await node.leave();
});

Deno.test("ClusterNode belongs to one server", async () => {
  const { node, start } = newNode();
  start();
  assertThrows(
    start,
    TypeError,
    "Cannot use a cluster twice",
  );
  await node.leave();
});

Deno.test("ClusterNode counts requests of sessions of living nodes, and explains them at most each 10 s", async () => {
  using log = captureLog();
  const { node, clock, cluster, start } = newNode();
  cluster.nodes.set("b", aboutNode("web-2"));
  start();
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

Deno.test("ClusterNode counts what passes between nodes and its homes, and measures claims", async () => {
  const { node, lives, start } = newNode();
  const outcomes: string[] = [];
  node.onClaim((outcome) => outcomes.push(outcome));
  start();
  await node.joined();
  lives[0]?.links.peers.add("b");
  node.send("b", "", [new Uint8Array(3), new Uint8Array(4)]);
  for (const office of ["north", "elsewhere"]) {
    await node.claim(office);
  }
  const { messagesOut, bytesOut, homes } = node.figures();
  assertEquals([messagesOut, bytesOut, homes], [1, 7, 1]);
  assertEquals(outcomes, ["here", "elsewhere"]);
  await node.leave();
});

Deno.test("ClusterNode fails a claim whose answer comes when its lease is over", async () => {
  const { node, clock, lives, start } = newNode();
  start();
  await node.joined();
  const answer = Promise.withResolvers<void>();
  const [life] = lives;
  if (life) life.directory.claims = answer.promise;
  const claim = assertRejects(
    () => node.claim("north"),
    RegistryUnavailableError,
  );
  clock.freeze(LEASE_MS);
  answer.resolve();
  await claim;
  await node.leave();
});
