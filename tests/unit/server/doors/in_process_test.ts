import { assertEquals, assertThrows } from "@std/assert";
import {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  ENTER_OFFICE_NOTIFICATION,
  GET_TOOLS_EVENT,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  ProtocolError,
  TOOL_CALL_EVENT,
  UPDATE_CONFIG_EVENT,
} from "../../../../protocol/mod.ts";
import {
  InProcessDoor,
  type InProcessGuest,
} from "../../../../server/doors/in_process.ts";
import type { ServerEnd } from "../../../../shared/in_process.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { plainOffices } from "../../../support/server/plain_offices.ts";

const REQUEST = { ...ANY_REQUEST, office_id: "north" };

/** A client that keeps what it gets. */
function connect(door: InProcessDoor, guest: Partial<InProcessGuest> = {}) {
  const heard: [string, unknown][] = [];
  const closed: string[] = [];
  /** Answer the requests that have no handler. */
  const answers: ((value?: unknown) => void)[] = [];
  type Handler = (payload: unknown) => unknown;
  const handlers = new Map<string, Handler>();
  const end: ServerEnd = door.connect({ protocol: "0.4", ...guest }, {
    receive(event, payload, answer) {
      heard.push([event, payload]);
      const handle = handlers.get(event);
      if (handle) answer?.(handle(payload));
      else if (answer) answers.push(answer);
    },
    closed: (reason) => void closed.push(reason),
  });
  const request = (event: string, payload: unknown) =>
    new Promise<readonly unknown[]>((resolve) =>
      end.send(event, payload, resolve)
    );
  return {
    ...{ end, heard, closed, answers, request },
    handle: (event: string, handle: Handler) => handlers.set(event, handle),
    join: (role: string, name: string) =>
      request(JOIN_OFFICE_EVENT, { role, name, office_id: "north" }),
  };
}

async function trio() {
  const plain = plainOffices();
  const door = new InProcessDoor({
    offices: plain.offices,
    audit: (event) => void plain.audit.push(event),
    clock: { now: () => 0, date: () => 0 },
    unknownEvent: () => {},
  });
  const agent = connect(door);
  const computer = connect(door, { protocol: "0.2" });
  assertEquals(await agent.join("agent", "agent"), [true, null]);
  assertEquals(await computer.join("computer", "computer"), [true, null]);
  agent.heard.splice(0);
  return { plain, door, agent, computer };
}

Deno.test("clients in process join, call and are notified as any other (spec §3, §5, §7)", async () => {
  const { plain, agent, computer } = await trio();
  computer.handle(TOOL_CALL_EVENT, () => ({ content: [], echo: 1 }));
  assertEquals(await agent.request(TOOL_CALL_EVENT, REQUEST), [
    { content: [], echo: 1 },
  ]);
  assertEquals(computer.heard, [[TOOL_CALL_EVENT, REQUEST]]);
  assertEquals(
    await computer.request(UPDATE_CONFIG_EVENT, { computer: "computer" }),
    [],
  );
  const pc = plain.join("computer", "pc"); // beside clients of other doors
  await agent.request(CANCEL_TOOL_CALL_EVENT, { agent: "agent", req_id: "r" });
  assertEquals(agent.heard.map(([event]) => event), [
    "notify:update_config",
    ENTER_OFFICE_NOTIFICATION,
    CANCEL_TOOL_CALL_NOTIFICATION,
  ]);
  assertEquals(pc.take().map(({ event }) => event), [
    CANCEL_TOOL_CALL_NOTIFICATION,
  ]);
  assertEquals(
    await agent.request(LEAVE_OFFICE_EVENT, { office_id: "north" }),
    [
      true,
      null,
    ],
  );
});

Deno.test("neither side sees changes of the other's objects, and undefined is left out as on the wire", async () => {
  const { agent, computer } = await trio();
  const params = { list: [1], gone: undefined };
  const result = { content: [], list: [1] };
  computer.handle(TOOL_CALL_EVENT, (payload) => {
    Object(payload).params.list.push(2);
    return result;
  });
  const answer = agent.request(TOOL_CALL_EVENT, { ...REQUEST, params });
  params.list.push(3);
  const [got] = await answer;
  result.list.push(4);
  assertEquals(got, { content: [], list: [1] });
  assertEquals(Object(computer.heard[0]?.[1]).params, { list: [1, 2] });
  assertEquals(params.list, [1, 3]);
  assertThrows(() => agent.end.send("x", { big: 1n }), TypeError);
});

Deno.test("messages arrive in order, and none before the function that sends it has returned (spec §3)", async () => {
  const { agent, computer } = await trio();
  const order: string[] = [];
  computer.handle(TOOL_CALL_EVENT, (payload) => {
    order.push(Object(payload).req_id);
    return { content: [] };
  });
  const calls = ["1", "2", "3"].map((req_id) =>
    agent.request(TOOL_CALL_EVENT, { ...REQUEST, req_id })
      .then(() => order.push(`answer ${req_id}`))
  );
  assertEquals(order, []);
  await Promise.all(calls);
  assertEquals(order, ["1", "2", "3", "answer 1", "answer 2", "answer 3"]);
});

Deno.test("an empty ack is one, a second one is dropped, and so is one that nobody waits for (spec §7)", async () => {
  const { agent, computer } = await trio();
  computer.handle("client:get_dpe", () => undefined);
  const [refused] = await agent.request("client:get_dpe", REQUEST);
  assertEquals(Object(refused).code, 400);
  const answers: unknown[] = [];
  agent.end.send(GET_TOOLS_EVENT, REQUEST, ([first]) => answers.push(first));
  const barrier = () => computer.request("notify:barrier", {});
  await barrier();
  const twice = computer.answers.pop();
  for (const number of [1, 2]) twice?.({ number });
  await barrier();
  assertEquals(answers, [{ number: 1 }]);
  agent.end.send(GET_TOOLS_EVENT, REQUEST, ([first]) => answers.push(first));
  await agent.request(LEAVE_OFFICE_EVENT, { office_id: "north" });
  computer.answers.pop()?.({ late: true });
  await barrier();
  assertEquals(answers.map((answer) => Object(answer).code ?? answer), [
    { number: 1 },
    4103,
  ]);
});

Deno.test("the version, the role, the identity and the instance of a client in process count (spec §5, §9, §10)", async () => {
  const { door, agent, computer } = await trio();
  const [lacking] = await agent.request("client:put_blob", {
    ...{ ...REQUEST, total_size: 1, sha256: "0".repeat(64) },
  });
  assertEquals(
    Object(lacking).message,
    "computer speaks A2C-SMCP 0.2, which has no client:put_blob",
  );
  const identity = { principal: "k", policy: { names: ["x*"] } };
  assertEquals(await connect(door, { identity }).join("computer", "y"), [
    false,
    'Not allowed to join under the name "y"',
  ]);
  const asAgent = connect(door, { role: "agent" });
  assertEquals((await asAgent.join("computer", "z"))[0], false);
  const first = connect(door, { instance: "i", identity });
  await first.join("computer", "x");
  const second = connect(door, { instance: "i", identity });
  assertEquals(await second.join("computer", "x"), [true, null]);
  assertEquals(first.closed, ["its client joined with another connection"]);
  assertEquals(computer.closed, []);
});

Deno.test("a client that closes leaves its office after what it sent took effect, and gets nothing more (spec §3, §5)", async () => {
  const { door, agent, computer } = await trio();
  const answers: unknown[] = [];
  agent.end.send(TOOL_CALL_EVENT, REQUEST, (args) => answers.push(args));
  agent.end.send(CANCEL_TOOL_CALL_EVENT, { agent: "agent", req_id: "r1" });
  agent.end.close();
  agent.end.send(CANCEL_TOOL_CALL_EVENT, { agent: "agent", req_id: "r2" });
  await computer.request("notify:barrier", {});
  assertEquals(computer.heard.map(([event]) => event), [
    TOOL_CALL_EVENT,
    CANCEL_TOOL_CALL_NOTIFICATION,
    LEAVE_OFFICE_NOTIFICATION,
  ]);
  assertEquals([answers, agent.heard, agent.closed, door.open.length], [
    [],
    [],
    [],
    1,
  ]);
});

Deno.test("a door that closes ends its connections with the reason, and lets nobody in (spec §5)", async () => {
  const { plain, door, agent, computer } = await trio();
  const drained = plain.offices.drain(0);
  assertThrows(() => connect(door), ProtocolError, "shutting down");
  await drained;
  const [late] = await agent.request(TOOL_CALL_EVENT, REQUEST);
  assertEquals(Object(late).reason, "server shutting down");
  door.close("bye");
  await Promise.resolve();
  assertEquals([agent.closed, computer.closed], [["bye"], ["bye"]]);
  assertEquals(door.open.length, 0);
});
