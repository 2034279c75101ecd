import fc from "fast-check";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { CallWaits } from "../../../../computer/tools/call_waits.ts";
import { Dialogues } from "../../../../computer/tools/dialogues.ts";
import {
  checkForm,
  parseTyped,
  readFields,
} from "../../../../computer/tools/form.ts";
import { ProgressThrottle } from "../../../../computer/tools/progress.ts";
import type { ToolProgress } from "../../../../protocol/mod.ts";
import { CallTime } from "../../../../shared/time/call_time.ts";
import { TestClock } from "../../../support/clock.ts";

const fieldsOf = (
  properties: Record<string, unknown>,
  required: string[] = [],
) => readFields({ type: "object", properties, required });

Deno.test("readFields() reads each kind of field of MCP", () => {
  const named = { title: "Your name", description: "d", minLength: 1 };
  const a = { value: "a", label: "a" };
  const b = { value: "b", label: "b" };
  const titled = [{ const: "a", title: "A" }];
  const options = [{ value: "a", label: "A" }];
  const text = { kind: "text", isSecret: false };
  const rows: [
    schema: Record<string, unknown>,
    field: Record<string, unknown>,
  ][] = [
    [{ type: "string", ...named }, {
      ...text,
      label: "Your name",
      description: "d",
      minLength: 1,
    }],
    [{ type: "string" }, text],
    // Its default is no address.
    [{ type: "string", format: "email", default: "nobody" }, {
      ...text,
      format: "email",
    }],
    [{ type: "integer", minimum: 0, default: 7 }, {
      kind: "number",
      isInteger: true,
      minimum: 0,
      default: 7,
    }],
    [{ type: "boolean", default: true }, { kind: "boolean", default: true }],
    [{ type: "string", enum: ["a", "b"], default: "b" }, {
      kind: "choice",
      options: [a, b],
      default: "b",
    }],
    [{ type: "string", enum: ["a", "b"], enumNames: ["A"] }, {
      kind: "choice",
      options: [...options, b],
    }],
    [{ type: "string", oneOf: titled }, { kind: "choice", options }],
    [{ type: "array", items: { type: "string", enum: ["a"] }, maxItems: 1 }, {
      kind: "choices",
      options: [a],
      maxItems: 1,
    }],
    [{ type: "array", items: { anyOf: titled }, default: ["a"] }, {
      kind: "choices",
      options,
      default: ["a"],
    }],
  ];
  for (const [schema, field] of rows) {
    for (const isRequired of [true, false]) {
      assertEquals<unknown>(
        fieldsOf({ x: schema }, isRequired ? ["x"] : []),
        [{ name: "x", label: "x", isRequired, ...field }],
      );
    }
  }
  const [pin] = fieldsOf({ pin: { type: "string" } });
  assertEquals(pin?.kind === "text" && pin.isSecret, true);
  assertEquals(readFields({}), []);
});

Deno.test("readFields() names what no form can have", () => {
  const rows: [unknown, string][] = [
    [{ type: "object" }, 'the field "x" has the type "object"'],
    [{}, 'the field "x" has the type undefined'],
    [7, 'the field "x" has no schema'],
    [{ type: "array" }, 'the field "x" has no values to choose from'],
  ];
  for (const [x, text] of rows) {
    assertThrows(() => fieldsOf({ x }), Error, text);
  }
});

Deno.test("checkForm() holds values to the schema, and does not repeat them", () => {
  const of = (schema: unknown, x: unknown, required = false) =>
    checkForm(fieldsOf({ x: schema }, required ? ["x"] : []), { x });
  const rows: [schema: unknown, good: unknown[], bad: unknown[]][] = [
    [{ type: "string" }, ["", "a", undefined], [1, null, ["a"]]],
    [{ type: "string", minLength: 2, maxLength: 3 }, ["ab", "😀😀"], [
      "a",
      "abcd",
    ]],
    [{ type: "string", format: "email" }, ["a@b"], ["a", "a@", "a b@c"]],
    [{ type: "string", format: "uri" }, ["https://a/b"], ["a"]],
    [{ type: "string", format: "date" }, ["2024-02-29"], [
      "2023-02-29",
      "1.2.2024",
    ]],
    [
      { type: "string", format: "date-time" },
      ["2024-02-29T01:02:03Z", "2024-01-01T00:00:00.5+02:00"],
      ["2024-02-29", "2024-02-30T00:00:00Z", "2024-01-01T25:00:00Z"],
    ],
    [{ type: "integer" }, [1, -2, 0], [1.5, NaN, Infinity, "1"]],
    [{ type: "number", minimum: 1, maximum: 2 }, [1, 1.5, 2], [0.9, 2.1, true]],
    [{ type: "boolean" }, [true, false], ["true", 1]],
    [{ type: "string", enum: ["a"] }, ["a"], ["b", ""]],
    [
      { type: "array", items: { enum: ["a", "b"] }, minItems: 1, maxItems: 1 },
      [["a"]],
      [[], ["a", "b"], ["c"], "a"],
    ],
  ];
  for (const [schema, good, bad] of rows) {
    for (const value of good) {
      assertEquals(of(schema, value), [], JSON.stringify([schema, value]));
    }
    for (const value of bad) {
      assertEquals(
        of(schema, value).length,
        1,
        JSON.stringify([schema, value]),
      );
    }
  }
  assertEquals(of({ type: "string" }, undefined, true), [
    "x: An answer is required",
  ]);
  assertEquals(of({ type: "string", maxLength: 1 }, "hunter2"), [
    "x: At most 1 characters",
  ]);
});

Deno.test("parseTyped() reads what was typed", () => {
  const [text, number] = fieldsOf({
    a: { type: "string" },
    b: { type: "number" },
  });
  if (text?.kind !== "text" || number?.kind !== "number") {
    throw new Error("kinds");
  }
  assertEquals(parseTyped(text, "7"), "7");
  assertEquals(parseTyped(text, ""), undefined);
  assertEquals(parseTyped(number, " 7.5 "), 7.5);
  assertEquals(parseTyped(number, " "), NaN);
  assertEquals(parseTyped(number, "x"), NaN);
});

/** Opens calls whose progress is recorded with the time. */
function progressOf(clock: TestClock) {
  const throttle = new ProgressThrottle();
  const told: (ToolProgress & { at: number })[] = [];
  const open = () =>
    throttle.open((progress) => told.push({ ...progress, at: clock.time }));
  return { told, open };
}

Deno.test("progress is reported at once, then at most every 100 ms, the last one of a while", () => {
  using clock = new TestClock();
  const { told, open } = progressOf(clock);
  const call = open();
  for (let progress = 1; progress <= 30; progress++) {
    call.report({ progress });
    clock.pass(10);
  }
  assertEquals(told, [
    { progress: 1, at: 0 },
    { progress: 10, at: 100 },
    { progress: 20, at: 200 },
    { progress: 30, at: 300 },
  ]);
  clock.pass(1_000);
  call.report({ progress: 31 });
  assertEquals(told.at(-1), { progress: 31, at: 1_300 });
  call.end(true);
  assertEquals([told.length, clock.timers], [5, 0]);
});

Deno.test("the last progress is reported when the call ends well, and nothing after that", () => {
  using clock = new TestClock();
  const { told, open } = progressOf(clock);
  const good = open();
  const cancelled = open();
  for (const call of [good, cancelled]) {
    call.report({ progress: 1 });
    call.report({ progress: 2, message: "done" });
  }
  good.end(true);
  cancelled.end(false);
  for (const call of [good, cancelled]) {
    call.report({ progress: 3 });
    call.end(true);
  }
  clock.pass(1_000);
  assertEquals(told, [
    { progress: 1, at: 0 },
    { progress: 1, at: 0 },
    { progress: 2, message: "done", at: 0 },
  ]);
  assertEquals(clock.timers, 0);
});

Deno.test("progress that does not increase is dropped, and long messages are cut between characters", () => {
  using clock = new TestClock();
  const { told, open } = progressOf(clock);
  const call = open();
  for (const progress of [2, 2, 1, -1, NaN]) {
    call.report({ progress });
    clock.pass(200);
  }
  call.report({ progress: 3, message: `x${"😀".repeat(600)}` });
  call.end(true);
  assertEquals(told.map(({ progress }) => progress), [2, 3]);
  assertEquals(told[1]?.message, `x${"😀".repeat(499)}…`);
});

Deno.test("however many calls report, a Computer tells at most 100 a second besides the first of each", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 200 }),
      fc.integer({ min: 1, max: 20 }),
      (count, stepMs) => {
        using clock = new TestClock();
        const { told, open } = progressOf(clock);
        const calls = Array.from({ length: count }, open);
        for (let progress = 1; clock.time < 2_000; progress++) {
          for (const call of calls) call.report({ progress });
          clock.pass(stepMs);
        }
        const most = count *
          (1 + Math.ceil(clock.time / Math.max(100, count * 10)));
        assert(told.length <= most, `${told.length} > ${most}`);
        for (const call of calls) call.end(false);
        assertEquals(clock.timers, 0);
      },
    ),
    { numRuns: 20 },
  );
});

Deno.test("CallWaits reports a wait after a moment, and its end at once; waits that overlap as one, and nothing of a short one or after the call", async () => {
  using clock = new TestClock();
  const reports: unknown[] = [];
  const call = new CallWaits(
    (waiting) => reports.push(waiting),
    new CallTime({ runMs: 60_000, confirmMs: 0 }),
  );
  const atOnce = call.during("confirmation", () => "once");
  assertEquals([call.current, clock.timers], [undefined, 0]);
  assertEquals(await atOnce, "once");
  await call.during("confirmation", () => Promise.resolve());
  await assertRejects(() =>
    call.during("answer", () => Promise.reject(new Error()))
  );
  assertEquals([reports, clock.timers], [[], 0]);

  const word = Promise.withResolvers<string>();
  const work = call.during("confirmation", () => word.promise);
  assertEquals([call.current, reports], ["confirmation", []]);
  clock.pass(50);
  assertEquals(reports, ["confirmation"]);
  word.resolve("once");
  assertEquals(await work, "once");
  assertEquals([call.current, clock.timers], [undefined, 0]);
  assertEquals(reports.splice(0), ["confirmation", null]);

  const [first, second] = [1, 2].map(() => Promise.withResolvers<void>());
  const [one, two] = [first, second].map((end) =>
    call.during("answer", () => end!.promise)
  );
  clock.pass(50);
  first?.resolve();
  await one;
  assertEquals(reports, ["answer"]);
  call.end();
  second?.resolve();
  await two;
  assertEquals(reports, ["answer"]);
});

Deno.test("Dialogues refuse questions beyond those that wait already, until one of these has ended", async () => {
  const dialogues = new Dialogues();
  const { signal } = new AbortController();
  const requestedSchema = { type: "object" as const, properties: {} };
  const ask = (req_id: number) => {
    const call = {
      agent: "planner",
      req_id: `${req_id}`,
      about: "a call",
      accepts: ["input_required"],
    };
    const question = { message: "Who?", requestedSchema };
    return dialogues.begin(
      call,
      async (_, answer) => await answer(question, { signal, isCertain: true }),
    ).turn.promise;
  };
  for (let i = 0; i < 100; i++) await ask(i);
  await assertRejects(() => ask(100), Error, "100 other questions wait");
  dialogues.end({ agent: "planner", req_id: "0" });
  assert("question" in await ask(101));
  dialogues.end();
});
