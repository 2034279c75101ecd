import { assertEquals } from "@std/assert";
import {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  GET_TOOLS_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  LIST_ROOM_EVENT,
  TOOL_CALL_EVENT,
  UPDATE_CONFIG_EVENT,
} from "../../../../protocol/mod.ts";
import type { Seat } from "../../../../server/office/peer.ts";
import { Payload } from "../../../../server/shared/payload.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import { plainOffices } from "../../../support/server/plain_offices.ts";

const REQUEST = { ...ANY_REQUEST, office_id: "north" };
const ORDER = { by: "root", reason: "maintenance" };

function pair() {
  const plain = plainOffices();
  const agent = plain.join("agent", "agent", { id: "a" });
  const computer = plain.join("computer", "computer", { id: "c" });
  agent.take();
  return { plain, agent, computer };
}

/** An operator with a seat in the north. */
function operator(plain: ReturnType<typeof plainOffices>) {
  const { peer, heard } = plain.connect({ protocol: "0.4" });
  const seat = plain.offices.join(peer, {
    ...{ role: "operator", name: "root", office: "north" },
  }) as Seat;
  const send = (event: Parameters<Seat["receive"]>[0], payload: unknown) => {
    const answers: unknown[] = [];
    seat.receive(event, Payload.of(payload), (answer) => {
      answers.push(answer instanceof Payload ? answer.parse() : answer);
    });
    return answers;
  };
  return { seat, send, heard };
}

Deno.test("a kicked member leaves with notices, its connection is closed, and its seat is held free with the reason (spec §5)", () => {
  const { plain, agent, computer } = pair();
  const answers = agent.send(TOOL_CALL_EVENT, REQUEST);
  const found = plain.offices.findMember("c");
  plain.offices.kick(found!, { ...ORDER, holdMs: 5_000 });
  assertEquals(Object(answers[0]?.[0]).code, 404);
  assertEquals(agent.take().map(({ event }) => event), [
    LEAVE_OFFICE_NOTIFICATION,
  ]);
  assertEquals(computer.ended, ["Kicked by an operator: maintenance"]);
  assertEquals(plain.audit.slice(-2).map(({ event }) => event), [
    "member_kicked",
    "left",
  ]);
  const rejoin = (office?: string) =>
    plain.connect().join("computer", "computer", office);
  assertEquals(rejoin(), [false, "Kicked by an operator: maintenance"]);
  assertEquals(rejoin("south"), [true, null]);
  plain.advance(5_000);
  assertEquals(rejoin(), [true, null]);
  plain.offices.kick(found!, { ...ORDER, holdMs: 0 }); // has left
  assertEquals(plain.offices.find("north")?.members.length, 2);
});

Deno.test("what follows the offices is notified of a hold, and of the last seat that is left", () => {
  const { plain, agent, computer } = pair();
  const followed: unknown[] = [];
  plain.offices.follow({
    held: ({ name, office, role }, { reason, holdMs }) =>
      followed.push({ name, office, role, reason, holdMs }),
    emptied: (office) => followed.push(office),
  });
  plain.offices.kick(plain.offices.findMember("c")!, { ...ORDER, holdMs: 9 });
  const held = { name: "computer", office: "north", role: "computer" };
  assertEquals(followed, [{ ...held, reason: "maintenance", holdMs: 9 }]);
  agent.connection.gone();
  assertEquals(followed.slice(1), ["north"]);
  assertEquals(computer.ended.length, 1);
});

Deno.test("a hold holds one seat free until its time", () => {
  const plain = plainOffices();
  const { peer } = plain.connect();
  const seat = { office: "north", role: "computer", name: "pc" } as const;
  const why = (over: object = {}) =>
    plain.offices.judge(peer, { ...seat, ...over })?.refused;
  const reason = "Kicked by an operator: why";
  plain.offices.hold(seat, { reason: "why", holdMs: 1000 });
  assertEquals([why({ office: "south" }), why({ role: "agent" })], [
    undefined,
    undefined,
  ]);
  plain.advance(5);
  plain.offices.hold(seat, { reason: "again", holdMs: 0 });
  assertEquals(why(), reason, "no time holds nothing");
  plain.advance(994);
  assertEquals(why(), reason);
  plain.advance(1);
  assertEquals(why(), undefined);
});

Deno.test("the calls of a kicked Agent end with the reason; without a hold it may rejoin at once", () => {
  const { plain, agent, computer } = pair();
  const answers = agent.send(TOOL_CALL_EVENT, REQUEST);
  plain.offices.kick(plain.offices.findMember("a")!, { ...ORDER, holdMs: 0 });
  assertEquals(answers, [[{
    code: 403,
    message: "Kicked by an operator: maintenance",
  }]]);
  assertEquals(computer.asked[0]?.isForgotten, true);
  plain.join("agent", "agent");
});

Deno.test("an operator's cancel ends a call for both sides; other requests have no cancel", () => {
  const { plain, agent, computer } = pair();
  const office = plain.offices.find("north")!;
  for (const event of [TOOL_CALL_EVENT, GET_TOOLS_EVENT]) {
    const answers = agent.send(event, REQUEST);
    const [call] = office.calls;
    assertEquals([call?.event, call?.reqId, call?.tool], [
      event,
      "r1",
      "echo",
    ]);
    office.cancel(call!, { by: "root", reason: "it hangs" });
    assertEquals(answers, [[{
      code: 403,
      message: "Cancelled by an operator: it hangs",
    }]]);
    const cancel = {
      event: CANCEL_TOOL_CALL_NOTIFICATION,
      payload: { agent: "agent", req_id: "r1", reason: "operator" },
    };
    assertEquals(computer.take(), event === TOOL_CALL_EVENT ? [cancel] : []);
  }
  assertEquals(office.calls, []);
  assertEquals(plain.audit.at(-1), {
    ...{ event: "call_cancelled", by: "root", reason: "it hangs" },
    ...{ office: "north", agent: "agent", computer: "computer" },
    ...{ req_id: "r1", request: GET_TOOLS_EVENT },
  });
});

Deno.test("an operator asks a Computer without being a member: nobody sees it, and the Computer sees who asks", () => {
  const { plain, agent, computer } = pair();
  const lines = plain.audit.length;
  const { seat, send, heard } = operator(plain);
  const answers = send(TOOL_CALL_EVENT, { ...REQUEST, operator: "forged" });
  assertEquals(computer.asked[0]?.payload, {
    ...REQUEST,
    agent: "operator",
    operator: "root",
  });
  const office = plain.offices.find("north")!;
  assertEquals(office.calls.map(({ agent }) => agent.role), ["operator"]);
  computer.asked[0]?.answer({ content: [] });
  assertEquals(answers, [{ content: [] }]);
  send(CANCEL_TOOL_CALL_EVENT, { agent: "operator", req_id: "r2" });
  assertEquals(agent.take(), [{
    event: CANCEL_TOOL_CALL_NOTIFICATION,
    payload: { agent: "operator", req_id: "r2", reason: "operator" },
  }]);
  const [refused] = send(UPDATE_CONFIG_EVENT, { computer: "computer" });
  assertEquals(Object(refused).code, 403);
  const [[list] = []] = agent.send(LIST_ROOM_EVENT, {
    ...{ agent: "agent", req_id: "l", office_id: "north" },
  }) as [unknown[]];
  assertEquals(Object(list).sessions.length, 2);
  seat.leave();
  assertEquals([seat.isHeld, heard, agent.take()], [false, [], []]);
  assertEquals(
    plain.audit.slice(lines).map(({ event }) => event),
    ["access_refused"],
  );
});

Deno.test("an operator that is gone ends its question silently; an office of operators alone is forgotten", () => {
  const plain = plainOffices();
  const { seat, send } = operator(plain);
  const [answer] = send(GET_TOOLS_EVENT, REQUEST);
  assertEquals(Object(answer).code, 404);
  assertEquals([...plain.offices].length, 1);
  plain.join("computer", "computer").vanish();
  seat.gone();
  assertEquals([...plain.offices], []);
});

Deno.test("disband() closes the connections of an office and frees its seats", () => {
  const { plain, agent, computer } = pair();
  plain.offices.find("north")?.disband("it moves");
  assertEquals([agent.ended, computer.ended], [["it moves"], ["it moves"]]);
  assertEquals(plain.offices.find("north"), undefined);
});

Deno.test("drain refuses joins and calls, waits for pending ones, then everybody leaves with notices (spec §5)", async () => {
  const { plain, agent, computer } = pair();
  const { offices } = plain;
  const answers = agent.send(TOOL_CALL_EVENT, REQUEST);
  const drained = offices.drain(10_000);
  const shutdown = "The server is shutting down: reconnect and try again";
  assertEquals(plain.connect().join("computer", "x"), [false, shutdown]);
  const refused = agent.send(TOOL_CALL_EVENT, REQUEST);
  assertEquals(Object(refused[0]?.[0]).message, shutdown);
  computer.asked[0]?.answer({ content: [] });
  await drained;
  assertEquals(answers, [[{ content: [] }]]);
  assertEquals(computer.take().map(({ event }) => event), [
    LEAVE_OFFICE_NOTIFICATION,
  ]);
  assertEquals([[...offices], plain.deadlines.size], [[], 0]);
  // The connections are still open: calls get the reason, and not that they never joined.
  const after = agent.send(TOOL_CALL_EVENT, REQUEST);
  assertEquals(Object(after[0]?.[0]).reason, "server shutting down");
});

Deno.test("drain ends calls that last longer than its grace (spec §5)", async () => {
  const { plain, agent, computer } = pair();
  const answers = agent.send(TOOL_CALL_EVENT, REQUEST);
  const drained = plain.offices.drain(10_000);
  plain.advance(10_000);
  await drained;
  assertEquals(Object(answers[0]?.[0]).reason, "server shutting down");
  assertEquals([answers.length, computer.asked[0]?.isForgotten], [1, true]);
});
