import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  type Confirm,
  type ConfirmAnswer,
  Confirmations,
  type ConfirmRequest,
  decideConfirmation,
  type DecidedCall,
} from "../../../../computer/tools/confirmations.ts";
import { CallWaits } from "../../../../computer/tools/progress.ts";
import { describeCall } from "../../../../computer/cli/question_text.ts";
import { parseMCPServerConfig } from "../../../../protocol/mod.ts";

const request = (over: Partial<ConfirmRequest> = {}): ConfirmRequest => ({
  agent: "planner",
  server: "files",
  tool: "write_file",
  name: "write_file",
  params: { path: "a.txt" },
  ...over,
});

const config = (tool_meta: Record<string, unknown> = {}) =>
  parseMCPServerConfig({
    name: "files",
    type: "stdio",
    tool_meta,
    server_parameters: { command: "x" },
  });

const never = new AbortController().signal;

/** A call that reports to nobody that it waits. */
const by = (signal: AbortSignal): DecidedCall => ({
  signal,
  waits: new CallWaits(() => {}),
  place: "pc",
});

Deno.test("decideConfirmation() runs, asks or refuses with 4005", () => {
  const rows: [
    auto: boolean | null,
    settled: boolean,
    canAsk: boolean,
    kind: string,
  ][] = [
    [true, false, false, "run"],
    [true, false, true, "run"],
    [false, true, true, "run"],
    [null, true, false, "run"],
    [false, false, true, "ask"],
    [null, false, true, "ask"],
    [false, false, false, "refuse"],
    [null, false, false, "refuse"],
  ];
  for (const [auto_apply, settled, canAsk, kind] of rows) {
    const decision = decideConfirmation(
      { auto_apply },
      settled,
      canAsk,
      request(),
    );
    assertEquals(decision.kind, kind);
    if (decision.kind === "refuse") {
      assertEquals(decision.code, 4005);
      assertStringIncludes(decision.text, "auto_apply");
    }
  }
});

Deno.test("Confirmations asks again after once and no, and never after always", async () => {
  const answers: ConfirmAnswer[] = ["once", "no", "always"];
  let asked = 0;
  const confirmations = new Confirmations(() => answers[asked++] ?? "no");
  const files = config();
  const settle = async (tool = "write_file") =>
    (await confirmations.decide(request({ tool }), files, by(never))).kind;
  assertEquals(await settle(), "run");
  assertEquals(await settle(), "refuse");
  assertEquals(await settle(), "run");
  assertEquals(await settle(), "run");
  assertEquals(asked, 3);
  assertEquals(await settle("another"), "refuse");
  const replaced = await confirmations.decide(request(), config(), by(never));
  assertEquals(replaced.kind, "refuse");
});

Deno.test("Confirmations refuses with 4005 when the user says no, or cannot be asked", async () => {
  const sayNo: [Confirm | undefined, string][] = [
    [() => "no", "refused"],
    [() => Promise.reject(new Error("no terminal")), "refused"],
    [() => {
      throw new Error("no terminal");
    }, "refused"],
    [() => "sure" as ConfirmAnswer, "refused"],
    [undefined, "nobody"],
  ];
  for (const [confirm, text] of sayNo) {
    const word = await new Confirmations(confirm)
      .decide(request(), config(), by(never));
    assert(word.kind === "refuse");
    assertEquals(word.code, 4005);
    assertStringIncludes(word.text, text);
  }
});

Deno.test("Confirmations passes tool, server and arguments to the user, and does not ask with auto_apply", async () => {
  const asked: unknown[] = [];
  const confirmations = new Confirmations((request) => {
    asked.push(request);
    return "once";
  });
  const files = config({ read: { auto_apply: true } });
  await confirmations.decide(request(), files, by(never));
  await confirmations.decide(request({ tool: "read" }), files, by(never));
  assertEquals(asked, [request()]);
});

Deno.test("Confirmations withdraws the question of an aborted call", async () => {
  const asked = Promise.withResolvers<AbortSignal>();
  const confirmations = new Confirmations((_request, signal) => {
    asked.resolve(signal);
    return new Promise(() => {});
  });
  const call = new AbortController();
  const word = confirmations.decide(request(), config(), by(call.signal));
  const question = await asked.promise;
  assert(!question.aborted);
  call.abort();
  assertEquals((await word).kind, "refuse");
  assert(question.aborted);
});

Deno.test("Confirmations applies an always to open questions about the tool, and withdraws them", async () => {
  const questions: {
    answer: (word: ConfirmAnswer) => void;
    signal: AbortSignal;
  }[] = [];
  const confirmations = new Confirmations((_request, signal) =>
    new Promise((answer) => questions.push({ answer, signal }))
  );
  const files = config();
  const settle = (tool: string) =>
    confirmations.decide(request({ tool }), files, by(never));
  const words = [settle("a"), settle("a"), settle("b")];
  const [first, second, other] = questions;
  first?.answer("always");
  assertEquals((await words[0])?.kind, "run");
  assertEquals((await words[1])?.kind, "run");
  assert(second?.signal.aborted && !other?.signal.aborted);
  other?.answer("no");
  assertEquals((await words[2])?.kind, "refuse");
});

Deno.test("describeCall() shows tool, server and arguments, without control characters", () => {
  assertEquals(
    describeCall(request({ name: "write" })),
    'Agent "planner" wants to run "write" of MCP server "files" (its name there: "write_file")\n  path: "a.txt"',
  );
  assertStringIncludes(
    describeCall(request({ params: {} })),
    "no arguments",
  );
  assertStringIncludes(
    describeCall(request({ agent: "operator", operator: "key:ops\u0007" })),
    'An operator of the Server (key:ops\\u{7}) wants to run "write_file"',
  );
  const text = describeCall(request({
    agent: "a\u001b[2J",
    params: { "k\n\u0007": "v\u202e\u009b2J\u200b" },
  }));
  assertEquals(text.replaceAll("\n", "").match(/[\p{Cc}\p{Cf}]/u), null);
  assertStringIncludes(text, "\\u{1b}[2J");
});

Deno.test("describeCall() truncates long arguments and states how much is missing", () => {
  const text = describeCall(request({ params: { a: "x".repeat(100_000) } }));
  assert(text.length < 3_000);
  assertStringIncludes(text, "more characters");
});
