import { assert, assertEquals } from "@std/assert";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  ENTER_OFFICE_NOTIFICATION,
  TOOL_CALL_EVENT,
} from "../../../../protocol/mod.ts";
import { Bus } from "../../../support/cluster/bus.ts";
import { operate } from "../../../support/server/operator_client.ts";
import { joinRaw } from "../../../support/wire/raw_client.ts";

const operator = { token: "0123456789abcdef0123456789abcdef" };

Deno.test("nodes: an operator sees the members of all, and the calls of Agents here", async () => {
  const bus = new Bus();
  const left = await bus.serve("left", { operator });
  const right = await bus.serve("right", { operator });
  await using _left = left.server;
  await using _right = right.server;
  await using agent = await joinRaw(left.url, "agent", "planner", "north");
  await using computer = await joinRaw(right.url, "computer", "pc", "north");
  await agent.next(ENTER_OFFICE_NOTIFICATION);
  const called = Promise.withResolvers<void>();
  computer.handle(TOOL_CALL_EVENT, () => called.resolve());
  const pending = agent.ask(TOOL_CALL_EVENT, {
    agent: "planner",
    req_id: "r1",
    computer: "pc",
    tool_name: "wait",
    params: {},
    timeout: 60,
  });
  await called.promise;

  const seen = await Promise.all([left, right].map(async ({ url }) => {
    const { body } = await operate(url, "/offices/north/members", operator);
    return [
      body.node,
      body.members.map((m: Record<string, unknown>) => [
        m.name,
        m.node,
        m.address,
        m.pending_calls,
      ]),
    ];
  }));
  const [planner, pc] = ["planner", "pc"];
  assertEquals(seen, [
    ["left", [[planner, undefined, "127.0.0.1", 1], [
      pc,
      "right",
      undefined,
      undefined,
    ]]],
    ["right", [[planner, "left", undefined, undefined], [
      pc,
      undefined,
      "127.0.0.1",
      1,
    ]]],
  ]);
  const callsOf = async (url: string) =>
    (await operate(url, "/offices/north/calls", operator)).body.calls.length;
  assertEquals([await callsOf(left.url), await callsOf(right.url)], [1, 0]);

  const kick = await operate(left.url, `/members/${computer.socket.id}/kick`, {
    ...operator,
    post: { reason: "because" },
  });
  assertEquals(kick.status, 404);
  assert(kick.body.errors[0].fix.includes("ask that node"));
  assert(computer.socket.connected);
  const cancel = await operate(left.url, "/offices/north/calls/cancel", {
    ...operator,
    post: { req_id: "r1", reason: "because" },
  });
  assertEquals(cancel.body, { node: "left", done: 1 });
  assertEquals(await pending, {
    code: 403,
    message: "Cancelled by an operator: because",
  });
  assertEquals(await computer.next(CANCEL_TOOL_CALL_NOTIFICATION), {
    agent: "planner",
    req_id: "r1",
  });
});
