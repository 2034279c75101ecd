import { assertEquals } from "@std/assert";
import {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  CLIENT_EVENTS,
  GET_BLOB_EVENT,
  GET_CONFIG_EVENT,
  GET_DPE_EVENT,
  GET_TOOLS_EVENT,
  isClientEvent,
  LEAVE_OFFICE_EVENT,
  PUT_BLOB_EVENT,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
} from "../../../../protocol/mod.ts";
import { Payload } from "../../../../server/shared/payload.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import {
  type PlainClient,
  plainOffices,
  type PlainOptions,
} from "../../../support/server/plain_offices.ts";

const PUT = { ...ANY_REQUEST, total_size: 1, sha256: "0".repeat(64) };
const REQUEST = { ...ANY_REQUEST, office_id: "north" };

/** An Agent and a Computer in one office. */
function pair(options: PlainOptions = {}) {
  const plain = plainOffices(options);
  const agent = plain.join("agent", "agent", { protocol: "0.4" });
  const computer = plain.join("computer", "computer", { protocol: "0.4" });
  agent.take();
  return { ...plain, plain, agent, computer };
}

const codeOf = (acks: unknown[][]) => Object(acks[0]?.[0]).code;
/** Nothing is left of a call. */
const assertIdle = (plain: ReturnType<typeof plainOffices>) => {
  assertEquals(plain.deadlines.size, 0);
  for (const office of plain.offices) {
    assertEquals(office.calls, []);
    for (const { calls } of office.members) assertEquals(calls, []);
  }
};

Deno.test("a request of every event passes as it came, and its answer back, once (spec §7)", () => {
  const { plain, agent, computer } = pair();
  for (const event of Object.keys(CLIENT_EVENTS).filter(isClientEvent)) {
    const request = Payload.of(event === PUT_BLOB_EVENT ? PUT : REQUEST);
    const answers: unknown[] = [];
    agent.connection.receive(event, request, (answer) => answers.push(answer));
    const asked = computer.asked.pop();
    assertEquals([asked?.event, asked?.raw === request], [event, true]);
    const answer = { event, odd: [null, "é"], req_id: "r1" };
    asked?.answer(answer);
    asked?.answer({ late: true });
    assertEquals(answers.length, 1);
    assertEquals((answers[0] as Payload).parse(), answer);
  }
  assertEquals(
    plain.observed.map(({ outcome }) => outcome),
    Object.keys(CLIENT_EVENTS).map(() => "ok"),
  );
  assertEquals(plain.offices.sentCalls, plain.observed.length);
  assertIdle(plain);
});

Deno.test("checks of a request: payload, member, role, agent, target, in this order; other offices stay hidden (spec §5)", () => {
  const { plain, agent, computer } = pair();
  plain.join("computer", "hidden", { office: "south" });
  const outsider = plain.connect({ protocol: "0.4" });
  const held = plain.join("agent", "agent", {
    office: "south",
    identity: { principal: "k", policy: { names: ["ag*"] } },
  });
  const wrong = { ...REQUEST, agent: "somebody", computer: "hidden" };
  assertEquals(codeOf(outsider.send(TOOL_CALL_EVENT, {})), 400);
  assertEquals(codeOf(outsider.send(TOOL_CALL_EVENT, wrong)), 4103);
  assertEquals(codeOf(computer.send(TOOL_CALL_EVENT, wrong)), 403);
  assertEquals(codeOf(held.send(TOOL_CALL_EVENT, wrong)), 403);
  for (const name of ["hidden", "nobody", "agent"]) {
    assertEquals(
      agent.send(TOOL_CALL_EVENT, { ...REQUEST, computer: name }),
      [[{
        code: 404,
        message: `Computer "${name}" is not in your office`,
        computer: name,
      }]],
    );
  }
  assertEquals(
    plain.audit.filter(({ event }) => event === "access_refused")
      .map((line) => [Object(line).role, Object(line).code]),
    [["computer", 403], ["agent", 403]],
  );
  assertEquals(plain.observed.map(({ outcome }) => outcome), [
    "error 404",
    "error 404",
    "error 404",
  ]);
  assertEquals(computer.asked, []);
});

Deno.test("an agent that gives another name acts under that of its seat, and cannot pretend to be an operator (spec §5)", () => {
  const { agent, computer } = pair();
  agent.send(TOOL_CALL_EVENT, { ...REQUEST, agent: "x", operator: "root" });
  assertEquals(computer.asked[0]?.payload, REQUEST);
  assertEquals(
    agent.send(CANCEL_TOOL_CALL_EVENT, { agent: "x", req_id: "r" }),
    [
      [],
    ],
  );
  for (const each of [agent, computer]) {
    assertEquals(each.take().at(-1), {
      event: CANCEL_TOOL_CALL_NOTIFICATION,
      payload: { agent: "agent", req_id: "r" },
    });
  }
});

Deno.test("408 after timeout + 5 s, or after 30 s without a timeout; a late answer is dropped (spec §7)", () => {
  const { plain, agent, computer, advance } = pair();
  const { timeout: _, ...untimed } = REQUEST;
  const rows: [string, object, number][] = [
    [TOOL_CALL_EVENT, REQUEST, 65_000],
    [TOOL_CALL_EVENT, { ...REQUEST, timeout: 1 }, 6_000],
    [GET_DPE_EVENT, { ...REQUEST, timeout: 7 }, 12_000],
    [GET_DPE_EVENT, untimed, 35_000],
    [GET_TOOLS_EVENT, REQUEST, 30_000],
  ];
  for (const [event, request, ms] of rows) {
    const answers = agent.send(event, request);
    advance(ms - 1);
    assertEquals(answers, []);
    advance(1);
    assertEquals(answers, [[{
      code: 408,
      message: `Computer "computer" did not answer within ${ms / 1000} s`,
      computer: "computer",
    }]]);
    assertEquals(computer.asked.pop()?.isForgotten, true);
  }
  assertIdle(plain);
});

Deno.test("answers: an object passes, an empty ack is 400 for what not all know, anything else 500 (spec §7, 0.4 §12)", () => {
  const { agent, computer } = pair();
  const answered = (event: string, answer: unknown) => {
    const answers = agent.send(event, REQUEST);
    computer.asked.pop()?.answer(answer);
    return answers[0]?.[0];
  };
  const error = { code: 4018, message: "x", details: { reason: "gone" } };
  assertEquals(answered(GET_BLOB_EVENT, error), error);
  for (const odd of [null, 1, "x", true, [], [{}]]) {
    assertEquals(Object(answered(GET_TOOLS_EVENT, odd)).code, 500);
  }
  assertEquals(Object(answered(GET_TOOLS_EVENT, undefined)).code, 500);
  assertEquals(answered(GET_BLOB_EVENT, undefined), {
    code: 400,
    message: "The Computer does not know client:get_blob",
  });
});

const WAYS: Record<string, (computer: PlainClient) => unknown> = {
  vanishes: (computer) => computer.vanish(),
  leaves: (computer) =>
    computer.send(LEAVE_OFFICE_EVENT, { office_id: "north" }),
  switches: (computer) => computer.join("computer", "computer", "south"),
};
for (const [way, act] of Object.entries(WAYS)) {
  Deno.test(`a Computer that ${way} ends its pending calls with 404 at once (spec §5)`, () => {
    const { plain, agent, computer } = pair();
    const calls = [TOOL_CALL_EVENT, GET_TOOLS_EVENT].map((event) =>
      agent.send(event, REQUEST)
    );
    act(computer);
    for (const answers of calls) {
      assertEquals(answers, [[{
        code: 404,
        message: 'Computer "computer" left before it answered',
        computer: "computer",
        reason: "computer disconnected",
      }]]);
    }
    assertEquals(computer.asked.map(({ isForgotten }) => isForgotten), [
      true,
      true,
    ]);
    assertIdle(plain);
  });
}

Deno.test("the calls of an Agent that leaves are answered 4103; of one that is gone, not at all (spec §5)", () => {
  for (const isGone of [false, true]) {
    const { plain, agent, computer } = pair();
    const answers = agent.send(TOOL_CALL_EVENT, REQUEST);
    if (isGone) agent.vanish();
    else agent.send(LEAVE_OFFICE_EVENT, { office_id: "north" });
    assertEquals(
      answers.map(([answer]) => Object(answer).code),
      isGone ? [] : [
        4103,
      ],
    );
    computer.asked[0]?.answer({ content: [] });
    assertEquals(answers.length, isGone ? 0 : 1);
    assertEquals(agent.gone, isGone ? [TOOL_CALL_EVENT] : []);
    assertEquals(plain.observed.map(({ outcome }) => outcome), ["agent gone"]);
    assertIdle(plain);
  }
});

Deno.test("an Agent has at most callsPerAgent pending calls; the others are answered 429, and did not run (spec §10)", () => {
  const { agent, computer, hits } = pair({ callsPerAgent: 2 });
  const calls = [1, 2, 3].map(() => agent.send(TOOL_CALL_EVENT, REQUEST));
  assertEquals(calls.map(codeOf), [undefined, undefined, 429]);
  const refused = calls[2]?.[0]?.[0];
  assertEquals(Object(refused).details, { ran: false, retry_in_ms: 100 });
  assertEquals([computer.asked.length, hits], [2, ["callsPerAgent"]]);
  computer.asked[0]?.answer({ content: [] });
  assertEquals(codeOf(agent.send(TOOL_CALL_EVENT, REQUEST)), undefined);
});

Deno.test("progress goes to the Agent that asked for it, while its call is pending, with known fields alone (spec §7)", () => {
  const { plain, agent, computer } = pair();
  const other = plain.join("computer", "other", { protocol: "0.4" });
  for (const each of [agent, computer]) each.take();
  const report = {
    ...{ agent: "agent", computer: "computer", req_id: "r1", progress: 1 },
    ...{ total: 3, message: "m" },
  };
  const tell = (over: object = {}, from = computer) =>
    from.send(TOOL_CALL_PROGRESS_EVENT, { ...report, ...over, more: 1 });
  agent.send(TOOL_CALL_EVENT, { ...REQUEST, progress: true });
  agent.send(TOOL_CALL_EVENT, { ...REQUEST, req_id: "r2" });
  assertEquals(tell(), [[]]);
  const heard = [{ event: TOOL_CALL_PROGRESS_NOTIFICATION, payload: report }];
  assertEquals(agent.take(), heard);
  tell({ req_id: "r2" }); // not asked for
  tell({ agent: "x" });
  tell({ computer: "other" }, other); // of another Computer
  assertEquals(codeOf(tell({ computer: "other" })), 403);
  assertEquals(codeOf(tell({}, agent)), 403);
  computer.asked[0]?.answer({ content: [] });
  tell();
  for (const each of [agent, computer, other]) assertEquals(each.take(), []);
});

Deno.test("what a call waits for is noted, and goes to Agents that ask for that alone, too (spec §7)", () => {
  for (const progress of [true, "waiting", undefined] as const) {
    const { plain, agent, computer } = pair();
    agent.send(TOOL_CALL_EVENT, {
      ...REQUEST,
      ...{ progress: undefined },
      ...(progress !== undefined && { progress }),
    });
    const office = plain.offices.find("north")!;
    const seen: unknown[] = [];
    for (const waiting of ["confirmation", undefined, null] as const) {
      computer.send(TOOL_CALL_PROGRESS_EVENT, {
        ...{ agent: "agent", computer: "computer", req_id: "r1", progress: 1 },
        ...(waiting !== undefined && { waiting }),
      });
      seen.push(office.calls[0]?.waiting);
    }
    assertEquals(seen, ["confirmation", "confirmation", undefined]);
    assertEquals(plain.waits, [["r1", "confirmation"], ["r1", null]]);
    assertEquals(
      agent.take().map(({ payload }) => Object(payload).waiting),
      progress === true
        ? ["confirmation", undefined, null]
        : progress === "waiting"
        ? ["confirmation", null]
        : [],
    );
  }
});

Deno.test("how a call ended says whose cancel or timeout it was (spec §10)", () => {
  const cancelled = {
    content: [],
    isError: true,
    meta: { a2c_cancelled: true },
  };
  const rows: [string, (p: ReturnType<typeof pair>) => void, string][] = [
    ["answered", () => {}, "cancelled by the computer"],
    [
      "cancelled",
      ({ agent }) =>
        agent.send(CANCEL_TOOL_CALL_EVENT, { agent: "agent", req_id: "r1" }),
      "cancelled by the agent",
    ],
    [
      "late, as it says",
      ({ agent, computer }) => {
        const reason = "timeout";
        agent.send(CANCEL_TOOL_CALL_EVENT, {
          ...{ agent: "agent", req_id: "r1", reason },
        });
        assertEquals(Object(computer.take().at(-1)?.payload).reason, reason);
      },
      "timeout of the agent",
    ],
    [
      "late, by the clock",
      ({ agent, advance }) => {
        advance(60_000);
        agent.send(CANCEL_TOOL_CALL_EVENT, { agent: "agent", req_id: "r1" });
      },
      "timeout of the agent",
    ],
    [
      "silent",
      ({ advance }) => advance(65_000),
      "timeout of the server",
    ],
    [
      "kicked",
      ({ plain }) =>
        plain.offices.kick(
          plain.offices.find("north")!.members[0]!,
          { by: "root", reason: "x", holdMs: 0 },
        ),
      "cancelled by the operator",
    ],
  ];
  for (const [name, act, outcome] of rows) {
    const both = pair();
    both.agent.send(TOOL_CALL_EVENT, REQUEST);
    act(both);
    both.computer.asked[0]?.answer(cancelled);
    assertEquals(both.plain.observed[0]?.outcome, outcome, name);
    assertIdle(both.plain);
  }
});

Deno.test("a payload that cannot be encoded ends its call with 500, on either way (spec §6)", () => {
  const { plain, agent, computer } = pair();
  const { ask } = computer.peer;
  computer.peer.ask = () => {
    throw new RangeError("too deep");
  };
  assertEquals(agent.send(TOOL_CALL_EVENT, REQUEST), [[
    { code: 500, message: "Internal error" },
  ]]);
  computer.peer.ask = ask;
  const answers: unknown[] = [];
  agent.connection.receive(TOOL_CALL_EVENT, Payload.of(REQUEST), (answer) => {
    const value = (answer as Payload).parse();
    if (Object(value).odd) throw new RangeError("too deep");
    answers.push(value);
  });
  computer.asked[0]?.answer({ odd: true });
  assertEquals(answers, [{ code: 500, message: "Internal error" }]);
  assertIdle(plain);
});

Deno.test("operators see of each member its calls and its last error (spec §10)", () => {
  const { plain, agent, computer } = pair();
  const answer = (value: unknown) => {
    agent.send(TOOL_CALL_EVENT, REQUEST);
    computer.asked.pop()?.answer(value);
  };
  answer({ content: [] });
  answer({ content: [], isError: true, meta: { a2c_cancelled: true } });
  const records = () =>
    plain.offices.find("north")?.members.map(({ record }) => record);
  const joinedAt = 1_000_000;
  const fine = { joinedAt, calls: 2, lastError: undefined };
  assertEquals(records(), [fine, fine]);
  answer({ code: 4018, message: "m".repeat(600) });
  const lastError = {
    at: joinedAt,
    outcome: "error 4018",
    message: "m".repeat(500),
  };
  const failed = { joinedAt, calls: 3, lastError };
  assertEquals(records(), [failed, failed]);
  agent.send(GET_CONFIG_EVENT, { ...REQUEST, computer: "nobody" });
  assertEquals(
    records()?.map(({ lastError }) => lastError?.outcome),
    ["error 404", "error 4018"],
  );
});
