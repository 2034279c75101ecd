import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  GET_TOOLS_EVENT,
  type ProtocolName,
  TOOL_CALL_EVENT,
} from "../../../../protocol/mod.ts";
import {
  apiKeys,
  createSmcpServer,
  parseApiKeys,
} from "../../../../server/mod.ts";
import type { Seat } from "../../../../server/office/peer.ts";
import {
  type Answered,
  askComputer,
  type Question,
} from "../../../../server/operator/ask.ts";
import type { AuditEvent } from "../../../../server/shared/audit.ts";
import {
  mayOperate,
  seesAll,
  seesOffice,
} from "../../../../server/shared/identity.ts";
import { Payload } from "../../../../server/shared/payload.ts";
import { isOwnPage } from "../../../../shared/authorization.ts";
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
    role: "operator",
    name: "root",
    office: "north",
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

Deno.test("a kicked member leaves with notices, its connection is closed, and its seat is held free with the reason (protocol §5)", () => {
  const { plain, agent, computer } = pair();
  const answers = agent.send("client:tool_call", REQUEST);
  const found = plain.offices.findMember("c");
  plain.offices.kick(found!, { ...ORDER, holdMs: 5_000 });
  assertEquals(Object(answers[0]?.[0]).code, 404);
  assertEquals(agent.take().map(({ event }) => event), [
    "notify:leave_office",
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
  plain.offices.follower = {
    held: ({ name, office, role }, { reason, holdMs }) =>
      followed.push({ name, office, role, reason, holdMs }),
    emptied: (office) => followed.push(office),
  };
  plain.offices.kick(plain.offices.findMember("c")!, { ...ORDER, holdMs: 9 });
  agent.connection.gone();
  const held = { name: "computer", office: "north", role: "computer" };
  assertEquals(followed, [
    { ...held, reason: "maintenance", holdMs: 9 },
    "north",
  ]);
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
  const answers = agent.send("client:tool_call", REQUEST);
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
  for (const event of ["client:tool_call", "client:get_tools"]) {
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
      event: "notify:tool_call_cancel",
      payload: { agent: "agent", req_id: "r1", reason: "operator" },
    };
    assertEquals(computer.take(), event === "client:tool_call" ? [cancel] : []);
  }
  assertEquals(office.calls, []);
  assertEquals(plain.audit.at(-1), {
    event: "call_cancelled",
    by: "root",
    reason: "it hangs",
    office: "north",
    agent: "agent",
    computer: "computer",
    req_id: "r1",
    request: "client:get_tools",
  });
});

Deno.test("an operator asks a Computer without being a member: nobody sees it, and the Computer sees who asks", () => {
  const { plain, agent, computer } = pair();
  const lines = plain.audit.length;
  const { seat, send, heard } = operator(plain);
  const answers = send("client:tool_call", { ...REQUEST, operator: "forged" });
  assertEquals(computer.asked[0]?.payload, {
    ...REQUEST,
    agent: "operator",
    operator: "root",
  });
  const office = plain.offices.find("north")!;
  assertEquals(office.calls.map(({ agent }) => agent.role), ["operator"]);
  computer.asked[0]?.answer({ content: [] });
  assertEquals(answers, [{ content: [] }]);
  send("server:tool_call_cancel", { agent: "operator", req_id: "r2" });
  assertEquals(agent.take(), [{
    event: "notify:tool_call_cancel",
    payload: { agent: "operator", req_id: "r2", reason: "operator" },
  }]);
  const [refused] = send("server:update_config", { computer: "computer" });
  assertEquals(Object(refused).code, 403);
  const [[list] = []] = agent.send("server:list_room", {
    agent: "agent",
    req_id: "l",
    office_id: "north",
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
  const [answer] = send("client:get_tools", REQUEST);
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

Deno.test("drain refuses joins and calls, waits for pending ones, then everybody leaves with notices (protocol §5)", async () => {
  const { plain, agent, computer } = pair();
  const { offices } = plain;
  const answers = agent.send("client:tool_call", REQUEST);
  const drained = offices.drain(10_000);
  const shutdown = "The server is shutting down: reconnect and try again";
  assertEquals(plain.connect().join("computer", "x"), [false, shutdown]);
  const line = Object(plain.audit.at(-1));
  assertEquals([line.event, line.name, line.reason], [
    ...["join_refused", "x", shutdown],
  ]);
  const refused = agent.send("client:tool_call", REQUEST);
  assertEquals(Object(refused[0]?.[0]).message, shutdown);
  computer.asked[0]?.answer({ content: [] });
  await drained;
  assertEquals(answers, [[{ content: [] }]]);
  assertEquals(computer.take().map(({ event }) => event), [
    "notify:leave_office",
  ]);
  assertEquals([[...offices], plain.deadlines.size], [[], 0]);
  // The connections are still open: calls get the reason, and not that they never joined.
  const after = agent.send("client:tool_call", REQUEST);
  assertEquals(Object(after[0]?.[0]).reason, "server shutting down");
});

Deno.test("drain ends calls that last longer than its grace (protocol §5)", async () => {
  const { plain, agent, computer } = pair();
  const answers = agent.send("client:tool_call", REQUEST);
  const drained = plain.offices.drain(10_000);
  plain.advance(10_000);
  await drained;
  assertEquals(Object(answers[0]?.[0]).reason, "server shutting down");
  assertEquals([answers.length, computer.asked[0]?.isForgotten], [1, true]);
});

const CALL = { tool_name: "echo", params: { a: 1 }, timeout: 7 };

function office(options: { protocol?: ProtocolName } = {}) {
  const plain = plainOffices();
  const agent = plain.join("agent", "agent");
  const computer = plain.join("computer", "pc", options);
  agent.take();
  const parts = {
    offices: plain.offices,
    clock: { now: () => 0, date: () => 0 },
    audit: (event: AuditEvent) => void plain.audit.push(event),
  };
  const ask = (over: Partial<Question> = {}, auditPayloads = false) =>
    askComputer({
      by: "root",
      office: "north",
      computer: "pc",
      request: CALL,
      event: TOOL_CALL_EVENT,
      signal: new AbortController().signal,
      ...over,
    }, { ...parts, auditPayloads });
  /** The request that has come, or the next one. */
  const next = async () => {
    while (computer.asked.length === 0) await Promise.resolve();
    return computer.asked.shift()!;
  };
  return { plain, agent, computer, ask, next };
}

const codeOf = (answered: Answered | undefined) =>
  answered && "failed" in answered ? answered.failed.code : undefined;

const shown = (answered: Answered | undefined): unknown =>
  answered && ("answer" in answered ? answered.answer.parse() : answered);

Deno.test("an operator gets the answer of the Computer in its own version, whatever that is (protocol §13)", async () => {
  for (const protocol of ["0.1", "0.2", "0.4"] as const) {
    const { ask, next } = office({ protocol });
    const answered = ask({ event: GET_TOOLS_EVENT });
    const answer = { tools: [{ name: "t" }], req_id: "r" };
    (await next()).answer(answer);
    assertEquals(shown(await answered), answer);
  }
});

Deno.test("an error of the Computer is its answer; one of the Server is why there is none", async () => {
  const { plain, computer, ask, next } = office();
  const refused = ask();
  const error = { code: 404, message: "no such server", mcp_server: "x" };
  (await next()).answer(error);
  assertEquals(shown(await refused), error);
  const nobody = await ask({ event: GET_TOOLS_EVENT, computer: "nobody" });
  assertEquals(codeOf(nobody), 404);
  const left = ask();
  await next();
  computer.vanish();
  assertEquals(
    Object(Object(await left).failed).reason,
    "computer disconnected",
  );
  await plain.offices.drain(0);
  assertEquals(
    Object(Object(await ask()).failed).message,
    "The server is shutting down: reconnect and try again",
  );
});

Deno.test("a question that is late, or whose operator is gone, is cancelled for the Computer and leaves nothing behind", async () => {
  for (const way of ["late", "gone"]) {
    const { plain, computer, ask, next } = office();
    const operator = new AbortController();
    const answered = ask({ signal: operator.signal });
    const { payload: { req_id } } = await next();
    if (way === "late") plain.advance(12_000);
    else operator.abort();
    const result = await answered;
    assertEquals(
      [codeOf(result), !result],
      way === "late" ? [408, false] : [undefined, true],
    );
    assertEquals(computer.take(), [{
      event: CANCEL_TOOL_CALL_NOTIFICATION,
      payload: { agent: "operator", req_id, reason: "operator" },
    }]);
    assertEquals(plain.offices.find("north")?.calls, []);
    assertEquals(plain.deadlines.size, 0);
  }
});

Deno.test("an operator that is gone asks nothing; an office without members is not left behind", async () => {
  const { plain, computer, ask } = office();
  assertEquals(await ask({ signal: AbortSignal.abort() }), undefined);
  assertEquals(computer.asked, []);
  assertEquals(codeOf(await ask({ office: "empty" })), 404);
  assertEquals([...plain.offices].map(({ name }) => name), ["north"]);
});

Deno.test("each question is audited once with who asks and how it ended; contents only where they are switched on (protocol §10)", async () => {
  const { plain, agent, computer, ask, next } = office();
  const ids: unknown[] = [];
  const lines = plain.audit.length;
  for (const auditPayloads of [false, true]) {
    const answered = ask({}, auditPayloads);
    const { payload: { req_id, ...rest }, answer } = await next();
    ids.push(req_id);
    const asker = { agent: "operator", operator: "root" };
    assertEquals(rest, { ...CALL, ...asker, computer: "pc" });
    answer({ content: [], req_id });
    assertEquals(shown(await answered), { content: [], req_id });
    assertEquals([agent.take(), computer.take()], [[], []]);
  }
  const operator = new AbortController();
  const last = ask({ signal: operator.signal });
  ids.push((await next()).payload.req_id);
  operator.abort();
  await last;
  const line = (at: number, outcome: string) => ({
    event: "operator_asked",
    by: "root",
    office: "north",
    computer: "pc",
    req_id: ids[at],
    request: TOOL_CALL_EVENT,
    tool: "echo",
    ms: 0,
    outcome,
  });
  assertEquals<unknown>(plain.audit.slice(lines), [
    line(0, "ok"),
    {
      ...line(1, "ok"),
      params: { a: 1 },
      result: { content: [], req_id: ids[1] },
    },
    { ...line(2, "cancelled"), ended_by: "operator" },
  ]);
});

Deno.test("mayOperate() is for those whose policy names the role", () => {
  assert(mayOperate({ roles: ["operator"] }));
  assert(mayOperate({ roles: ["agent", "operator"] }));
  const agent = { roles: ["agent" as const] };
  for (const policy of [undefined, {}, { roles: [] }, agent]) {
    assert(!mayOperate(policy));
  }
});

Deno.test("seesOffice() and seesAll() go by the policy's offices", () => {
  assert(seesOffice({}, "north") && seesAll({}));
  assert(seesOffice({ offices: ["n*"] }, "north"));
  assert(!seesOffice({ offices: ["n*"] }, "south"));
  assert(!seesAll({ offices: ["n*"] }) && seesAll({ offices: ["*"] }));
  assert(!seesOffice({ offices: [] }, "north"));
});

Deno.test("a key that would restrict the names of an operator is refused", () => {
  assertThrows(
    () => apiKeys([{ id: "ops", key: "k", roles: ["operator"], names: ["a"] }]),
    TypeError,
    'Cannot use the API key "ops": "names" restricts who joins',
  );
  apiKeys([{ id: "o", key: "k", roles: ["agent", "operator"], names: ["a"] }]);
});

Deno.test("a key whose patterns have a lone surrogate is refused, and the field is named", () => {
  for (const field of ["offices", "names"]) {
    const key = { id: "ci", key: "k", [field]: ["ok", "\ud83d*"] };
    assertThrows(
      () => apiKeys(parseApiKeys(JSON.stringify([key]))),
      TypeError,
      `Cannot use the API key "ci": "${field}" has a lone surrogate`,
    );
  }
  apiKeys([{ id: "ci", key: "k", offices: ["😀*"], names: ["名"] }]);
});

Deno.test("a token for operators must be hard to guess, and fit in a header", () => {
  for (const token of ["", "short", "a b".repeat(20)]) {
    assertThrows(
      () => createSmcpServer({ operator: { token } }),
      TypeError,
      "operator.token",
    );
  }
});

Deno.test("isOwnPage() lets no page of another origin pass", () => {
  const table: [string | undefined, string | undefined, string, boolean][] = [
    [undefined, undefined, "a.example", true],
    [undefined, "none", "a.example", true],
    [undefined, "same-origin", "a.example", true],
    [undefined, "same-site", "a.example", false],
    ["https://a.example", undefined, "a.example", true],
    ["https://a.example", "same-origin", "A.example:443", true],
    ["http://a.example:8787", undefined, "a.example:8787", true],
    ["http://a.example", undefined, "a.example:8787", false],
    ["https://b.example", undefined, "a.example", false],
    ["https://a.example.b.example", undefined, "a.example", false],
    ["null", undefined, "a.example", false],
    ["", undefined, "a.example", false],
    ["https://a.example", "cross-site", "a.example", false],
  ];
  for (const [origin, site, host, expected] of table) {
    const isOwn = isOwnPage({ origin, site }, host);
    assertEquals(isOwn, expected, `${origin} ${site} ${host}`);
  }
});
