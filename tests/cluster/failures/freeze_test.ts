import { assert, assertEquals } from "@std/assert";
import { startCluster } from "../../support/cluster/rig/cluster.ts";
import {
  callTool,
  comings,
  heard,
  joinAgent,
  joinComputer,
  joinSoon,
  roomOf,
} from "../../support/cluster/rig/members.ts";
import { until } from "../../support/cluster/programs.ts";
import { startTraffic } from "../../support/cluster/rig/traffic.ts";

const TIMEOUT_MS = 180_000;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const leaves = (client: Parameters<typeof comings>[0]) =>
  comings(client).filter((text) => text.startsWith("leave"));

Deno.test({
  name: "a node that is stopped for a second is missed by nobody",
  timeout: TIMEOUT_MS,
}, async () => {
  await using cluster = await startCluster();
  const [a, b] = [cluster.node(0), cluster.node(1)];
  await using agent = await joinAgent(a.url, "planner", "o");
  await using far = await joinComputer(b.url, "far", "o");
  await heard(agent, "enter far");
  b.freeze();
  const call = callTool(agent, "planner", "far");
  await wait(1000);
  b.thaw();
  assertEquals((await call).code, undefined);
  assertEquals(far.called.length, 1);
  assertEquals(leaves(agent), []);
  await cluster.proved();
});

Deno.test({
  name:
    "a node that is silent for 8 of the 15 seconds of its lease ends the calls to it, and its clients come back",
  timeout: TIMEOUT_MS,
}, async () => {
  const lease = ["--cluster-lease", "15"];
  await using cluster = await startCluster({ flags: lease });
  const [a, b, c] = [cluster.node(0), cluster.node(1), cluster.node(2)];
  await using agent = await joinAgent(a.url, "planner", "o");
  await using far = await joinComputer(b.url, "far", "o");
  await heard(agent, "enter far");
  await using near = await joinComputer(c.url, "near", "o");
  await heard(agent, "enter near");
  const others = startTraffic(agent, "planner", "near");
  const began = performance.now();
  b.freeze();
  const lost = callTool(agent, "planner", "far");
  assertEquals((await lost).code, 404); // while it stands still
  await wait(8000 - (performance.now() - began));
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
  const [a, b, c] = [cluster.node(0), cluster.node(1), cluster.node(2)];
  await using agent = await joinAgent(a.url, "planner", "o");
  await using far = await joinComputer(b.url, "far", "o");
  await heard(agent, "enter far");
  await using first = await joinAgent(b.url, "first", "of b");
  await using pc = await joinComputer(a.url, "pc", "of b");
  await using own = await joinComputer(b.url, "own", "of b");
  await heard(first, "enter own");
  const began = performance.now();
  const lost = pc.client.disconnected();
  b.freeze();
  await lost; // its office lives at the node that stands still
  await until(() => Promise.resolve(leaves(agent).length === 1));
  assertEquals(leaves(agent), ["leave far"]);
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
  await wait(15_000 - (performance.now() - began));
  const gone = [first.disconnected(), far.client.disconnected()];
  b.thaw();
  await Promise.all(gone);
  await wait(1000);
  for (const each of traffic) {
    for (const { outcome } of await each.stop()) assertEquals(outcome, "ok");
  }
  for (const { called } of [pc, moved, own]) {
    assertEquals(called.includes("late"), false);
  }
  assertEquals(
    agent.heard.filter(({ event }) => event === "notify:update_tool_list"),
    [],
  );
  assertEquals(leaves(agent), ["leave far"]);
  assertEquals(again.called.length > 0, true);
  // It serves again, as a new node.
  await using back = (await joinSoon(b.url, "computer", "back", "o")).client;
  assert(back.socket.connected);
  await cluster.proved();
});
