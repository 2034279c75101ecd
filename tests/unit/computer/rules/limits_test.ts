import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  askedPerson,
  Decisions,
  type TestCall,
} from "../../../support/approvals/decisions.ts";

const MINUTES_10 = 600_000;

/** A call with an argument of its own, so that it repeats no other. */
const call = (n: number, agent = "planner"): TestCall => ({
  agent,
  params: { n },
});

function tired() {
  const { questions, confirm } = askedPerson();
  const decisions = new Decisions({ confirm });
  /** Asks, answers, and returns the outcome; undefined where nobody was asked. */
  const answered = async (
    asked: TestCall,
    answer: "once" | "no" | "mute",
  ): Promise<string | undefined> => {
    const count = questions.length;
    const outcome = decisions.outcome(asked);
    if (questions.length === count) return undefined;
    questions.at(-1)?.answer(answer);
    return await outcome;
  };
  return { questions, decisions, answered };
}

Deno.test("a program that answers at once is asked about any number of calls at a time", async () => {
  const decisions = new Decisions({ confirm: () => "once" });
  const outcomes = await Promise.all(
    Array.from({ length: 30 }, (_, n) => decisions.outcome(call(n))),
  );
  assertEquals(new Set(outcomes), new Set(["run"]));
});

Deno.test("threat 5: an Agent has 5 open questions, all Agents 20; further calls are refused at once with the reason", async () => {
  const { questions, decisions } = tired();
  const open: Promise<string>[] = [];
  for (let agent = 1; agent <= 4; agent++) {
    for (let n = 0; n < 5; n++) {
      open.push(decisions.outcome(call(n, `agent ${agent}`)));
    }
    if (agent > 1) continue;
    assertStringIncludes(
      await decisions.outcome(call(9, "agent 1")),
      "was refused without asking: 5 questions about calls of agent 1 are open already; wait for their answers",
    );
  }
  assertEquals(questions.length, 20);
  assertStringIncludes(
    await decisions.outcome(call(9, "agent 5")),
    "20 questions are open already",
  );
  questions[0]?.answer("once");
  assertEquals(await open[0], "run");
  open.push(decisions.outcome(call(9, "agent 5")));
  assertEquals(questions.length, 21);
  for (const question of questions) question.answer("once");
  await Promise.all(open);
});

Deno.test("threat 5: the same call after a no is refused for 10 minutes without a question", async () => {
  const { decisions, answered } = tired();
  await answered(call(1), "no");
  assertEquals(await answered(call(1), "once"), undefined);
  assertStringIncludes(
    await decisions.outcome(call(1)),
    "the person refused this very call within the last 10 minutes",
  );
  assertEquals(await answered(call(2), "once"), "run");
  assertEquals(await answered(call(1, "other"), "once"), "run");
  decisions.now += MINUTES_10;
  assertEquals(await answered(call(1), "once"), "run");
});

Deno.test("threat 5: three noes in 10 minutes, or a no to all, mute the Agent for 10, and end its open questions", async () => {
  const { questions, decisions, answered } = tired();
  await answered(call(1), "no");
  decisions.now += MINUTES_10;
  await answered(call(2), "no");
  await answered(call(3), "no");
  assertEquals(await answered(call(4), "once"), "run");
  const own = decisions.outcome(call(5));
  const others = decisions.outcome(call(5, "other"));
  await answered(call(6), "no");
  assertEquals(
    await own,
    "The person at pc refuses calls of planner for now; do not repeat them",
  );
  assertEquals(
    questions.at(-3)?.signal.reason,
    "refused by the answer to another question",
  );
  questions.at(-2)?.answer("once");
  assertEquals(await others, "run");
  assertStringIncludes(
    await decisions.outcome(call(7)),
    "calls of planner that need a confirmation are refused for 10 minutes",
  );
  decisions.now += MINUTES_10;
  assertEquals(await answered(call(7), "once"), "run");

  await answered(call(8, "other"), "mute");
  assertEquals(await answered(call(9, "other"), "once"), undefined);
  assertEquals(
    await answered({ ...call(9, "other"), operator: "ann" }, "once"),
    "run",
    "an operator is another caller",
  );
});

Deno.test("threat 5: an Agent that takes another name after each no tires the person nine times in 10 minutes", async () => {
  const { questions, decisions, answered } = tired();
  for (let n = 0; n < 8; n++) await answered(call(n, `agent ${n}`), "no");
  const other = decisions.outcome(call(10, "other"));
  await answered(call(8, "agent 8"), "no");
  assertStringIncludes(await other, "refuses calls of other for now");
  const asked = questions.length;
  for (const agent of ["agent 9", "other"]) {
    assertStringIncludes(
      await decisions.outcome(call(11, agent)),
      "calls that need a confirmation are refused for 10 minutes, after 9 noes",
    );
  }
  assertEquals(questions.length, asked);
  decisions.now += MINUTES_10;
  assertEquals(await answered(call(11, "other"), "once"), "run");
});

Deno.test("a no of a program, or of a call that was cancelled, counts for nothing", async () => {
  const program = new Decisions({ confirm: () => "no" });
  const { questions, decisions } = tired();
  for (let n = 0; n < 5; n++) {
    assertStringIncludes(await program.outcome(call(1)), "The person at pc");
    const cancel = new AbortController();
    const decided = decisions.outcome({ ...call(1), signal: cancel.signal });
    cancel.abort("cancelled");
    await decided;
  }
  assertEquals(questions.length, 5);
});
