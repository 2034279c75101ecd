import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type {
  Confirm,
  ConfirmAnswer,
} from "../../../../computer/tools/confirm.ts";
import { firstAnswer } from "../../../../computer/tools/first_answer.ts";
import {
  askedPerson,
  Decisions,
} from "../../../support/approvals/decisions.ts";
import { confirmRequest } from "../../../support/approvals/confirm_request.ts";

/** Lets all that waits for nothing but its turn run. */
const turn = () => new Promise<void>((resolve) => setTimeout(resolve));

Deno.test("Confirmations run a call with auto_apply, ask about it without, and refuse it with 4005 where nobody can be asked", async () => {
  const rows: [auto: boolean | null, canAsk: boolean, kind: string][] = [
    [true, false, "run"],
    [true, true, "run"],
    [false, true, "asked"],
    [null, true, "asked"],
    [false, false, "refuse"],
    [null, false, "refuse"],
  ];
  for (const [auto_apply, canAsk, kind] of rows) {
    const asked: unknown[] = [];
    const decisions = new Decisions({
      confirm: canAsk
        ? (request) => {
          asked.push(request);
          return "once";
        }
        : undefined,
    }, { tool_meta: { write_file: { auto_apply } } });
    const decision = await decisions.decide();
    assertEquals(asked.length === 1 ? "asked" : decision.kind, kind);
    if (decision.kind !== "refuse") continue;
    assertEquals(decision.code, 4005);
    assertStringIncludes(decision.text, "auto_apply");
  }
});

Deno.test("Confirmations ask again after once and no, and never after always", async () => {
  const answers: ConfirmAnswer[] = ["once", "no", "always"];
  const asked: unknown[] = [];
  const decisions = new Decisions({
    confirm: (request) => answers[asked.push(request) - 1] ?? "no",
  });
  const kinds: string[] = [];
  const other = { server_parameters: { command: "another" } };
  for (
    const call of [{}, {}, {}, {}, { tool: "another" }, { agent: "other" }]
  ) kinds.push((await decisions.decide(call)).kind);
  kinds.push((await decisions.decide({ config: other })).kind);
  assertEquals(
    kinds,
    ["run", "refuse", "run", "run", "refuse", "refuse", "refuse"],
  );
  assertEquals(asked.length, 6);
});

Deno.test("Confirmations refuse with 4005 when the user says no, or cannot be asked", async () => {
  const sayNo: [Confirm | undefined, string][] = [
    [() => "no", "refused"],
    [() => "mute", "refused"],
    [() => ({ answer: "no", reason: 'not "now"' }), ': "not \\"now\\"";'],
    [() => Promise.reject(new Error("no terminal")), "refused"],
    [() => {
      throw new Error("no terminal");
    }, "refused"],
    [() => "sure" as ConfirmAnswer, "refused"],
    [() => Promise.resolve(7 as unknown as ConfirmAnswer), "refused"],
    [undefined, "cannot ask a person"],
  ];
  for (const [confirm, text] of sayNo) {
    const word = await new Decisions({ confirm }).decide();
    assert(word.kind === "refuse");
    assertEquals(word.code, 4005);
    assertStringIncludes(word.text, text);
  }
});

Deno.test("Confirmations pass tool, server and arguments to the user, and do not ask with auto_apply", async () => {
  const asked: unknown[] = [];
  const decisions = new Decisions({
    confirm: ({ late: _, expectLate: __, leftMs, ...request }) => {
      assert(leftMs > 59_000 && leftMs <= 60_000);
      asked.push(request);
      return "once";
    },
  }, { tool_meta: { read: { auto_apply: true } } });
  await decisions.decide();
  await decisions.decide({ tool: "read" });
  assertEquals(asked.length, 1);
  const { definition, options, rulesVersion, ...request } = asked[0] as Record<
    string,
    unknown
  >;
  assertEquals(request, {
    agent: "planner",
    server: "files",
    tool: "write_file",
    name: "write_file",
    params: { path: "/srv/a.txt" },
    rule: { id: "default", text: "ask about every other call" },
    every: false,
  });
  assert(typeof definition === "string" && definition.length === 43);
  assert(typeof rulesVersion === "string");
  assertEquals((options as { id: string }[]).map(({ id }) => id), [
    "once",
    "hour",
    "always",
    "mute",
    "no",
  ]);
});

Deno.test("a rule about operators is about no Agent that calls itself so", async () => {
  const asked: string[] = [];
  const decisions = new Decisions({
    confirm: ({ agent }) => {
      asked.push(agent);
      return "no";
    },
    rules: [{ then: "allow", agent: "operator", any: true }],
  });
  const kindOf = async (call: object) => (await decisions.decide(call)).kind;
  assertEquals(await kindOf({ agent: "operator", operator: "ann" }), "run");
  assertEquals(await kindOf({ agent: "operator" }), "refuse");
  assertEquals(asked, ["operator"]);
});

Deno.test("Confirmations ask about no call that has ended", async () => {
  const { questions, confirm } = askedPerson();
  const decisions = new Decisions({ confirm });
  await decisions.decide({ signal: AbortSignal.abort() });
  assertEquals(questions, []);
});

Deno.test("Confirmations withdraw the questions of an aborted call, and those that an always answers", async () => {
  const { questions, confirm } = askedPerson();
  const decisions = new Decisions({ confirm });
  const call = new AbortController();
  const words = [
    decisions.decide({ tool: "c", signal: call.signal }),
    ...["a", "a", "b"].map((tool) => decisions.decide({ tool })),
  ];
  const open = () => questions.map(({ signal }) => !signal.aborted);
  assertEquals(open(), [true, true, true, true]);
  call.abort("cancelled");
  assertEquals((await words[0])?.kind, "refuse");
  assertEquals(questions[0]?.signal.reason, "cancelled");
  questions[1]?.answer("always");
  assertEquals([(await words[1])?.kind, (await words[2])?.kind], [
    "run",
    "run",
  ]);
  assertEquals([open()[0], open()[2], open()[3]], [false, false, true]);
  assertEquals(
    questions[2]?.signal.reason,
    "allowed by the answer to another question",
  );
  questions[3]?.answer("no");
  assertEquals((await words[3])?.kind, "refuse");
});

Deno.test("firstAnswer() asks everywhere, takes the first answer, and withdraws the question from the others with who gave it", async () => {
  const people = [askedPerson(), askedPerson()];
  const ask = firstAnswer(
    () => Promise.reject(new Error("no terminal")),
    ...people.map(({ confirm }) => confirm),
  );
  const never = new AbortController().signal;
  const answer = ask(confirmRequest(), never);
  people[1]?.questions[0]?.answer({ answer: "once", by: 'on "Pixel"' });
  assertEquals(await answer, { answer: "once", by: 'on "Pixel"' });
  assertEquals(
    people[0]?.questions[0]?.signal.reason,
    'answered on "Pixel"',
  );
  people[0]?.questions[0]?.answer("no"); // too late

  const call = new AbortController();
  void ask(confirmRequest(), call.signal);
  call.abort("timeout");
  for (const { questions } of people) {
    assertEquals(questions[1]?.signal.reason, "timeout");
  }
});

Deno.test("firstAnswer() fails where all places do, and returns an answer at once that comes at once", async () => {
  const never = new AbortController().signal;
  const fail = () => Promise.reject(new Error("no terminal"));
  const failed = await Promise.resolve(
    firstAnswer(fail, fail)(confirmRequest(), never),
  ).catch(String);
  assertEquals(failed, "Error: no terminal");
  const { questions, confirm } = askedPerson();
  const answer = firstAnswer(confirm, () => "once")(confirmRequest(), never);
  assertEquals(answer, { answer: "once" });
  assertEquals(questions[0]?.signal.reason, "answered elsewhere");
});

Deno.test("a late yes lets one equal call run within ten minutes; a late no, another call, and a second yes let none", async () => {
  const { questions, confirm } = askedPerson();
  const decisions = new Decisions({ confirm });
  const timeOut = async () => {
    const call = new AbortController();
    const decided = decisions.decide({ signal: call.signal });
    const question = questions.at(-1);
    question?.request.late("once"); // the call has not timed out
    call.abort("timeout");
    await decided;
    return question?.request;
  };
  const isAsked = async (call: Parameters<Decisions["decide"]>[0] = {}) => {
    const count = questions.length;
    const decided = decisions.decide(call);
    await turn();
    if (questions.length === count) {
      assertEquals((await decided).kind, "run");
      return false;
    }
    questions.at(-1)?.answer("once");
    await decided;
    return true;
  };
  const first = await timeOut();
  assert(await isAsked(), "nothing was answered");
  first?.late("once");
  first?.late("once");
  const others = [
    { agent: "other" },
    { tool: "other" },
    { params: { path: "/srv/a.txt", mode: 1 } },
    { definition: { description: "new" } },
    { config: { server_parameters: { command: "new" } } },
    { introduction: '["files","2"]' },
  ];
  for (const other of others) assert(await isAsked(other));
  assert(!await isAsked());
  assert(await isAsked(), "it is used once");

  const second = await timeOut();
  decisions.now += 600_000;
  second?.late("once");
  assert(await isAsked(), "ten minutes have passed");
  const third = await timeOut();
  third?.late("once");
  decisions.now += 600_000;
  assert(await isAsked(), "the ticket has ended");
  const fourth = await timeOut();
  fourth?.late("no");
  assertStringIncludes(await decisions.outcome(), "refused this very call");
});

Deno.test("a no to all that an Agent asks ends its late yes, too", async () => {
  const { questions, confirm } = askedPerson();
  const decisions = new Decisions({ confirm });
  const call = new AbortController();
  const decided = decisions.decide({ signal: call.signal });
  call.abort("timeout");
  await decided;
  questions[0]?.request.late("once");
  const other = decisions.outcome({ params: { path: "/srv/other" } });
  questions[1]?.answer("mute");
  await other;
  assertStringIncludes(await decisions.outcome(), "are refused for 10 minutes");
});

Deno.test("a call that ended otherwise than by its timeout takes no late answer", async () => {
  const { questions, confirm } = askedPerson();
  const decisions = new Decisions({ confirm });
  const call = new AbortController();
  const decided = decisions.decide({ signal: call.signal });
  call.abort("cancelled");
  await decided;
  questions[0]?.request.late("once");
  const again = decisions.decide();
  assertEquals(questions.length, 2);
  questions[1]?.answer("once");
  await again;
});
