import { assertEquals } from "@std/assert";
import {
  CLIENT_EVENTS,
  type ClientEvent,
  isClientEvent,
} from "../../../../protocol/mod.ts";
import {
  AGENT_GONE,
  type CallEnd,
  CANCELLED_BY_OPERATOR,
  endOf,
  endText,
  isFaultOf,
  OK,
  TIMEOUT_OF_SERVER,
} from "../../../../server/shared/audit.ts";
import { Payload } from "../../../../server/shared/payload.ts";
import { ANY_REQUEST } from "../../../support/any_request.ts";
import {
  type PlainClient,
  plainOffices,
  type PlainOptions,
} from "../../../support/server/plain_offices.ts";

const CALL = "client:tool_call";
const TOOLS = "client:get_tools";
const PROGRESS = "server:tool_call_progress";
const CANCEL = "server:tool_call_cancel";
const EVENTS = Object.keys(CLIENT_EVENTS).filter(isClientEvent);
const REQUEST = { ...ANY_REQUEST, office_id: "north" };
const { timeout: _, ...UNTIMED } = REQUEST;
const PUT = { ...ANY_REQUEST, total_size: 1, sha256: "0".repeat(64) };
const requestOf = (event: string) =>
  event === "client:put_blob" ? PUT : REQUEST;

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

Deno.test("a request of every event passes as it came, and its answer back, once (protocol §7)", () => {
  const { plain, agent, computer } = pair();
  for (const event of EVENTS) {
    const request = Payload.of(requestOf(event));
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
    EVENTS.map(() => "ok"),
  );
  assertEquals(plain.offices.sentCalls, plain.observed.length);
  assertIdle(plain);
});

Deno.test("checks of a request: payload, member, role, agent, target, in this order; other offices stay hidden (protocol §5)", () => {
  const { plain, agent, computer } = pair();
  plain.join("computer", "hidden", { office: "south" });
  plain.join("computer", "computer", { office: "south" });
  plain.join("computer", "gone").vanish();
  const outsider = plain.connect({ protocol: "0.4" });
  const held = plain.join("agent", "agent", {
    office: "south",
    protocol: "0.4",
    identity: { principal: "k", policy: { names: ["ag*"] } },
  });
  for (const event of EVENTS) {
    const request = requestOf(event);
    const wrong = { ...request, agent: "somebody", computer: "hidden" };
    const codes = [
      codeOf(outsider.send(event, { ...wrong, req_id: 7 })),
      codeOf(outsider.send(event, wrong)),
      codeOf(computer.send(event, wrong)),
      codeOf(held.send(event, wrong)),
    ];
    assertEquals(codes, [400, 4103, 403, 403], event);
    assertEquals(plain.observed, []);
    for (const name of ["hidden", "nobody", "agent", "gone"]) {
      assertEquals(agent.send(event, { ...request, computer: name }), [[{
        code: 404,
        message: `Computer "${name}" is not in your office`,
        computer: name,
      }]]);
    }
    const ends = plain.observed.splice(0).map(({ outcome }) => outcome);
    assertEquals(ends, Array(4).fill("error 404"));
  }
  assertEquals(
    plain.audit.filter(({ event }) => event === "access_refused")
      .map((line) => [Object(line).role, Object(line).code]),
    EVENTS.flatMap(() => [["computer", 403], ["agent", 403]]),
  );
  assertEquals(computer.asked, []);
});

Deno.test("an agent that gives another name acts under that of its seat, and cannot pretend to be an operator (protocol §5)", () => {
  const { plain, agent, computer } = pair();
  for (const event of EVENTS) {
    const request = requestOf(event);
    for (const name of ["x", "agent"]) {
      agent.send(event, { ...request, agent: name, operator: "root" });
      assertEquals(computer.asked.pop()?.payload, request);
    }
    assertEquals(plain.observed.at(-1)?.call.agent.name, "agent");
  }
  assertEquals(agent.send(CANCEL, { agent: "x", req_id: "r" }), [[]]);
  for (const each of [agent, computer]) {
    assertEquals(each.take().at(-1), {
      event: "notify:tool_call_cancel",
      payload: { agent: "agent", req_id: "r" },
    });
  }
});

Deno.test("408 after timeout + 5 s, or after 30 s without a timeout; a late answer is dropped (protocol §7)", () => {
  const { plain, agent, computer, advance } = pair();
  const timed: ClientEvent[] = [
    ...["client:get_dpe", "client:read_resource"] as const,
    ...["client:get_prompts", "client:get_prompt"] as const,
    ...["client:get_resource_templates", "client:complete"] as const,
  ];
  const rows: [event: string, request: object, ms: number][] = [
    [CALL, REQUEST, 65_000],
    [CALL, { ...REQUEST, timeout: 1 }, 6_000],
    [CALL, { ...REQUEST, timeout: 3600 }, 3_605_000],
    ...timed.flatMap((event): typeof rows => [
      [event, { ...REQUEST, timeout: 7 }, 12_000],
      [event, UNTIMED, 35_000],
    ]),
    ...EVENTS.filter((event) => event !== CALL && !timed.includes(event))
      .map((event): typeof rows[0] => [event, requestOf(event), 30_000]),
  ];
  for (const [event, request, ms] of rows) {
    const answers = agent.send(event, request);
    advance(ms - 1);
    assertEquals(answers, [], event);
    advance(1);
    assertEquals(answers, [[{
      code: 408,
      message: `Computer "computer" did not answer within ${ms / 1000} s`,
      computer: "computer",
    }]], event);
    assertEquals(computer.asked.pop()?.isForgotten, true);
  }
  assertIdle(plain);
});

Deno.test("answers: an object passes, an empty ack is 400 for what not all know, anything else 500 (protocol §7, §8.3)", () => {
  const { agent, computer } = pair();
  const answered = (event: string, answer: unknown) => {
    const answers = agent.send(event, requestOf(event));
    computer.asked.pop()?.answer(answer);
    return answers[0]?.[0];
  };
  const error = { code: 4018, message: "x", details: { reason: "gone" } };
  assertEquals(answered("client:get_blob", error), error);
  for (const odd of [null, 1, "x", true, [], [{}], new Uint8Array(2)]) {
    for (const event of [TOOLS, "client:get_dpe"]) {
      assertEquals(Object(answered(event, odd)).code, 500);
    }
  }
  const known = [CALL, TOOLS, "client:get_config", "client:get_desktop"];
  for (const event of EVENTS) {
    const { code, message } = Object(answered(event, undefined));
    if (known.includes(event)) assertEquals(code, 500, event);
    else {
      assertEquals(
        [code, message],
        [400, `The Computer does not know ${event}`],
      );
    }
  }
});

const WAYS: Record<string, (computer: PlainClient) => unknown> = {
  vanishes: (computer) => computer.vanish(),
  leaves: (computer) =>
    computer.send("server:leave_office", { office_id: "north" }),
  switches: (computer) => computer.join("computer", "computer", "south"),
};
for (const [way, act] of Object.entries(WAYS)) {
  Deno.test(`a Computer that ${way} ends its pending calls with 404 at once (protocol §5)`, () => {
    const { plain, agent, computer } = pair();
    const calls = [CALL, TOOLS].map((event) => agent.send(event, REQUEST));
    act(computer);
    const left = [[{
      code: 404,
      message: 'Computer "computer" left before it answered',
      computer: "computer",
      reason: "computer disconnected",
    }]];
    assertEquals(calls, [left, left]);
    assertEquals(computer.asked.map((each) => each.isForgotten), [true, true]);
    assertIdle(plain);
  });
}

Deno.test("the calls of an Agent that leaves are answered 4103; of one that is gone, not at all (protocol §5)", () => {
  for (const isGone of [false, true]) {
    const { plain, agent, computer } = pair();
    const answers = agent.send(CALL, REQUEST);
    if (isGone) agent.vanish();
    else agent.send("server:leave_office", { office_id: "north" });
    computer.take();
    computer.asked[0]?.answer({ content: [] });
    assertEquals(answers.length, isGone ? 0 : 1);
    assertEquals(codeOf(answers), isGone ? undefined : 4103);
    assertEquals(agent.gone, isGone ? [CALL] : []);
    assertEquals(plain.observed.map(({ outcome }) => outcome), ["agent gone"]);
    assertEquals(computer.take(), []);
    assertIdle(plain);
  }
});

Deno.test("an Agent has at most callsPerAgent pending calls; the others are answered 429, and did not run (protocol §10)", () => {
  const { agent, computer, hits } = pair({ callsPerAgent: 2 });
  const calls = [1, 2, 3].map(() => agent.send(CALL, REQUEST));
  assertEquals(calls.map(codeOf), [undefined, undefined, 429]);
  const refused = calls[2]?.[0]?.[0];
  assertEquals(Object(refused).details, { ran: false, retry_in_ms: 100 });
  assertEquals([computer.asked.length, hits], [2, ["callsPerAgent"]]);
  computer.asked[0]?.answer({ content: [] });
  const again = agent.send(CALL, { ...REQUEST, agent: "another name" });
  assertEquals(codeOf(again), undefined);
  assertEquals(codeOf(agent.send(CALL, REQUEST)), 429);
});

Deno.test("progress goes to the Agent that asked for it, while its call is pending, with known fields alone (protocol §7)", () => {
  const { plain, agent, computer } = pair();
  const other = plain.join("computer", "other", { protocol: "0.4" });
  const far = plain.join("computer", "computer", { office: "south" });
  const farAgent = plain.join("agent", "agent", { office: "south" });
  const outsider = plain.connect({ protocol: "0.4" });
  const everybody = [agent, computer, other, far, farAgent];
  for (const each of everybody) each.take();
  const report = {
    agent: "agent",
    computer: "computer",
    req_id: "r1",
    progress: 1,
    total: 3,
    message: "m",
  };
  const tell = (over: object = {}, from = computer) =>
    from.send(PROGRESS, { ...report, ...over, more: 1 });
  agent.send(CALL, { ...REQUEST, progress: true });
  assertEquals(tell(), [[]]);
  const heard = [{ event: "notify:tool_call_progress", payload: report }];
  assertEquals(agent.take(), heard);
  for (const progress of [undefined, false, 1, "true", null]) {
    agent.send(CALL, { ...REQUEST, req_id: "r2", progress });
    assertEquals(tell({ req_id: "r2" }), [[]], "not asked for");
    computer.asked.pop()?.answer({ content: [] });
  }
  assertEquals(tell({ agent: "x" }), [[]]);
  assertEquals(tell({ computer: "other" }, other), [[]], "another's");
  assertEquals(tell({}, far), [[]]);
  const codes = [
    codeOf(tell({ progress: "1" }, outsider)),
    codeOf(tell({ message: "x".repeat(1001) }, outsider)),
    codeOf(tell({ computer: "x" }, outsider)),
    codeOf(tell({ computer: "x" }, agent)),
    codeOf(tell({ computer: "other" })),
  ];
  assertEquals(codes, [400, 400, 4103, 403, 403]);
  computer.asked[0]?.answer({ content: [] });
  tell();
  for (const each of everybody) assertEquals(each.take(), []);
});

Deno.test("what a call waits for is noted, and goes to Agents that ask for that alone, too (protocol §7)", () => {
  const rows = [
    [true, ["confirmation", undefined, null]],
    ["waiting", ["confirmation", null]],
    [undefined, []],
  ] as const;
  for (const [progress, told] of rows) {
    const { plain, agent, computer } = pair();
    agent.send(CALL, { ...REQUEST, progress });
    const office = plain.offices.find("north")!;
    const seen: unknown[] = [];
    for (const waiting of ["confirmation", undefined, null] as const) {
      computer.send(PROGRESS, {
        agent: "agent",
        computer: "computer",
        req_id: "r1",
        progress: 1,
        ...(waiting !== undefined && { waiting }),
      });
      seen.push(office.calls[0]?.waiting);
    }
    assertEquals(seen, ["confirmation", "confirmation", undefined]);
    assertEquals(plain.waits, [["r1", "confirmation"], ["r1", null]]);
    const waiting = agent.take().map(({ payload }) => Object(payload).waiting);
    assertEquals(waiting, [...told]);
  }
});

Deno.test("a call waits since the first report of it, until it continues", () => {
  const { plain, agent, computer, advance } = pair();
  agent.send(CALL, REQUEST);
  const [call] = plain.offices.find("north")!.calls;
  const report = (waiting: "confirmation" | "answer" | null) =>
    computer.send(PROGRESS, {
      agent: "agent",
      computer: "computer",
      req_id: "r1",
      progress: 1,
      waiting,
    });
  const since: unknown[] = [];
  for (
    const waiting of ["confirmation", "confirmation", null, "answer"] as const
  ) {
    advance(1_000);
    report(waiting);
    since.push(call && [call.waiting, call.waitingSince - call.began]);
  }
  assertEquals(since, [
    ["confirmation", 1_000],
    ["confirmation", 1_000],
    [undefined, 1_000],
    ["answer", 4_000],
  ]);
});

Deno.test("how a call ended says whose cancel or timeout it was (protocol §10)", () => {
  const cancelled = {
    content: [],
    isError: true,
    meta: { a2c_cancelled: true },
  };
  const cancel = { agent: "agent", req_id: "r1" };
  const late = { ...cancel, reason: "timeout" };
  const rows: [string, (p: ReturnType<typeof pair>) => void, string][] = [
    ["answered", () => {}, "cancelled by the computer"],
    [
      "cancelled",
      ({ agent }) => agent.send(CANCEL, cancel),
      "cancelled by the agent",
    ],
    [
      "late, as it says",
      ({ agent, computer }) => {
        agent.send(CANCEL, late);
        assertEquals(computer.take().at(-1)?.payload, late);
      },
      "timeout of the agent",
    ],
    [
      "cancelled, just in time by the clock",
      ({ agent, advance }) => {
        advance(59_999);
        agent.send(CANCEL, cancel);
      },
      "cancelled by the agent",
    ],
    [
      "late, by the clock",
      ({ agent, advance }) => {
        advance(60_000);
        agent.send(CANCEL, cancel);
      },
      "timeout of the agent",
    ],
    ["silent", ({ advance }) => advance(65_000), "timeout of the server"],
    [
      "cancelled, then silent",
      ({ agent, advance }) => {
        agent.send(CANCEL, cancel);
        advance(65_000);
      },
      "cancelled by the agent",
    ],
    [
      "kicked",
      ({ plain: { offices } }) =>
        offices.kick(
          offices.find("north")!.members[0]!,
          { by: "root", reason: "x", holdMs: 0 },
        ),
      "cancelled by the operator",
    ],
  ];
  for (const [name, act, outcome] of rows) {
    const both = pair();
    both.agent.send(CALL, REQUEST);
    act(both);
    both.computer.asked[0]?.answer(cancelled);
    assertEquals(both.plain.observed[0]?.outcome, outcome, name);
    assertIdle(both.plain);
  }
});

Deno.test("a payload that cannot be encoded ends its call with 500, on either way (protocol §6)", () => {
  const { plain, agent, computer } = pair();
  const failed = { code: 500, message: "Internal error" };
  const { ask } = computer.peer;
  computer.peer.ask = () => {
    throw new RangeError("too deep");
  };
  assertEquals(agent.send(CALL, REQUEST), [[failed]]);
  computer.peer.ask = ask;
  const answers: unknown[] = [];
  agent.connection.receive(CALL, Payload.of(REQUEST), (answer) => {
    const value = (answer as Payload).parse();
    if (Object(value).odd) throw new RangeError("too deep");
    answers.push(value);
  });
  computer.asked[0]?.answer({ odd: true });
  assertEquals(answers, [failed]);
  assertIdle(plain);
});

Deno.test("operators see of each member its calls and its last error (protocol §10)", () => {
  const { plain, agent, computer } = pair();
  const answer = (value: unknown) => {
    agent.send(CALL, REQUEST);
    computer.asked.pop()?.answer(value);
  };
  const records = () =>
    plain.offices.find("north")?.members.map(({ record }) => record);
  answer({ content: [] });
  answer({ content: [], isError: true, meta: { a2c_cancelled: true } });
  const joinedAt = 1_000_000;
  const fine = { joinedAt, calls: 2, lastError: undefined };
  assertEquals(records(), [fine, fine]);
  answer({ code: 4018, message: "m".repeat(600) });
  const message = "m".repeat(500);
  const lastError = { at: joinedAt, outcome: "error 4018", message };
  const failed = { joinedAt, calls: 3, lastError };
  assertEquals(records(), [failed, failed]);
  agent.send("client:get_config", { ...REQUEST, computer: "nobody" });
  assertEquals(
    records()?.map(({ lastError }) => lastError?.outcome),
    ["error 404", "error 4018"],
  );
});

const TIMEOUT_OF_AGENT: CallEnd = { outcome: "timeout", ended_by: "agent" };

Deno.test("endOf() derives from its answer how a call ended, and keeps the Agent's timeout unless the answer is faster", () => {
  const content: never[] = [];
  const error = { content, isError: true };
  const LATE = "timeout of the agent";
  const COMPUTER = "timeout of the computer";
  const rows: [answer: unknown, end: string, afterTimeout: string][] = [
    [undefined, "agent gone", LATE],
    [{ code: 408, message: "late" }, COMPUTER, COMPUTER],
    [{ code: 404, message: "no" }, "error 404", "error 404"],
    [{ content }, "ok", "ok"],
    [{ content, isError: false, code: 1, message: "m" }, "ok", "ok"],
    [{ tools: [] }, "ok", "ok"],
    [error, "tool error", "tool error"],
    [{ ...error, meta: { error_code: 4001 } }, "error 4001", "error 4001"],
    [{ ...error, meta: { error_code: 4004 } }, COMPUTER, LATE],
    [
      { ...error, _meta: { a2c_cancelled: true } },
      "cancelled by the computer",
      LATE,
    ],
    [{ ...error, meta: "odd", _meta: null }, "tool error", "tool error"],
    [{ ...error, meta: { error_code: "x\ny" } }, "tool error", "tool error"],
  ];
  for (const [answer, ...ends] of rows) {
    const read = answer === undefined ? undefined : Payload.of(answer);
    assertEquals(
      [endOf(read), endOf(read, TIMEOUT_OF_AGENT)].map(endText),
      ends,
      JSON.stringify(answer),
    );
  }
});

Deno.test("isFaultOf() blames nobody for a cancelled call, and no Computer for an Agent that did not wait", () => {
  const rows: [end: CallEnd, agent: boolean, computer: boolean][] = [
    [OK, false, false],
    [AGENT_GONE, false, false],
    [CANCELLED_BY_OPERATOR, false, false],
    [{ outcome: "cancelled", ended_by: "agent" }, false, false],
    [TIMEOUT_OF_AGENT, true, false],
    [TIMEOUT_OF_SERVER, true, true],
    [{ outcome: "timeout", ended_by: "computer" }, true, true],
    [{ outcome: "tool error" }, true, true],
    [{ outcome: "error 404" }, true, true],
  ];
  for (const [end, ...blamed] of rows) {
    const found = [isFaultOf("agent", end), isFaultOf("computer", end)];
    assertEquals(found, blamed, endText(end));
  }
});
