import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { LEAVE_OFFICE_NOTIFICATION } from "../../protocol/mod.ts";
import { startCluster } from "../support/cluster/rig/cluster.ts";
import {
  callTool,
  heard,
  joinAgent,
  joinComputer,
} from "../support/cluster/rig/members.ts";
import type { TestNode } from "../support/cluster/rig/node.ts";
import { runMain } from "../support/command.ts";
import { openEvents, operate } from "../support/server/operator_client.ts";

/** The token that a node has printed for its operators. */
async function tokenOf(node: TestNode): Promise<string> {
  const [, token = ""] = await node.line(/#token=(\S+)/);
  return token;
}

Deno.test({
  name:
    "an operator of one node sees the members, calls and events of all, and changes them",
  timeout: 120_000,
}, async () => {
  await using cluster = await startCluster();
  const [a, b, c] = [cluster.node(0), cluster.node(1), cluster.node(2)];
  await using agent = await joinAgent(a.url, "planner", "north");
  await using pc = await joinComputer(b.url, "pc", "north");
  await heard(agent, "enter pc");
  const token = await tokenOf(c);
  await using events = await openEvents(c.url, { token });
  await events.nextOf("open");
  const get = async (path: string) =>
    (await operate(c.url, path, { token })).body;
  const status = await get("/status");
  assertEquals([status.offices, status.members], [1, 2]);
  assertEquals(status.nodes.length, 2);

  const call = callTool(agent, "planner", "pc", { hold: true });
  await pc.arrived(1);
  assertEquals((await get("/offices/north/calls")).calls.length, 1);
  assertEquals((await events.nextOf("call_began")).data.agent, "planner");
  pc.release();
  await call;
  assertEquals((await events.nextOf("call_ended")).data.outcome, "ok");

  const { code, stdout } = await runMain("server", [
    "members",
    "north",
  ], { env: { SMCP_URL: c.url, SMCP_TOKEN: token } });
  assertEquals(code, 0);
  assertEquals(stdout.match(/127\.0\.0\.1/g)?.length, 2, stdout);
  const offices = await runMain("server", ["offices"], {
    env: { SMCP_URL: c.url, SMCP_TOKEN: token },
  });
  assertStringIncludes(offices.stdout, "NODE");

  const kick = await runMain("server", [
    ...["kick", "north", "pc", "--reason", "because"],
  ], { env: { SMCP_URL: c.url, SMCP_TOKEN: token } });
  assertEquals([kick.code, kick.stderr], [0, ""]);
  await agent.next(LEAVE_OFFICE_NOTIFICATION);
  assertEquals((await events.nextOf("member_kicked")).data.by, "operator");
  await pc.client.disconnected();
  await cluster.proved();
});

Deno.test({
  name:
    "a node that is killed ends the streams of others, which go on with missed events, and is not waited for",
  timeout: 120_000,
}, async () => {
  await using cluster = await startCluster();
  const [a, b, c] = [cluster.node(0), cluster.node(1), cluster.node(2)];
  await using agent = await joinAgent(a.url, "planner", "north");
  await using pc = await joinComputer(b.url, "pc", "north");
  await heard(agent, "enter pc");
  const token = await tokenOf(c);
  await cluster.grown();
  await using events = await openEvents(c.url, { token });
  const { id } = await events.nextOf("open");
  // An answer of the others says that they have heard of the stream, too.
  await operate(c.url, "/status", { token });
  callTool(agent, "planner", "pc", { hold: true }).catch(() => {});
  await events.nextOf("call_began");
  await a.kill();
  const end = await events.nextOf("end");
  assertStringIncludes(String(end.data.reason), "were missed");
  await using again = await openEvents(c.url, { token, lastEventId: id });
  assert((await again.nextOf("open")).data.missed);
  const { body } = await operate(c.url, "/offices", { token });
  assertEquals(body.unanswered, undefined);
  assertEquals(body.offices, [], "its home has ended");
  assertEquals(pc.called.length, 1);
  await cluster.proved();
});
