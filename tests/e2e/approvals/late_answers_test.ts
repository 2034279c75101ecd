/**
 * Answers that come after their call has timed out: a late yes on a paired phone lets the same call, repeated,
 * run at once, and no other.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import * as approvals from "../../../computer/approvals/approvals.ts";
import type { Confirm } from "../../../computer/mod.ts";
import { sendAnswer } from "../../../shared/approvals/device.ts";
import type { OptionId } from "../../../shared/approvals/question.ts";
import { answerBy, shownBy, Side } from "../../support/approvals/side.ts";
import { startComputer, takeSeat } from "../../support/computer/computer.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { TestDate } from "../../support/server/sign_in.ts";

const X = { text: "x", more: { a: 1, b: [2] } };
const REPEAT =
  "repeat the call unchanged if it is still wanted, and a yes within 10 minutes lets it run at once";

/** An office whose Computer asks a paired phone, unless there is none. */
async function start({ isPaired = true } = {}) {
  await using stack = new AsyncDisposableStack();
  const side = stack.use(await Side.open(approvals));
  const { send } = side;
  const phone = isPaired ? await side.pair() : undefined;
  let asked = 0;
  let wake = Promise.withResolvers<void>();
  const confirm: Confirm = (request, signal) => {
    asked++;
    wake.resolve();
    wake = Promise.withResolvers();
    return side.approvals.confirm(request, signal);
  };
  const pc = stack.use(
    await startComputer({ files: fixtureHere({ only: ["echo"] }) }, {
      confirm,
    }),
  );
  const kept = stack.move();
  return {
    ...pc,
    /** How often a person was asked. */
    get asked() {
      return asked;
    },
    /** Resolves when a person was asked so often. */
    async askedTimes(count: number) {
      while (asked < count) await wake.promise;
    },
    /** Calls, and waits until nobody has answered in time. */
    timedOut: (params: Record<string, unknown> = X) =>
      pc.call("echo", params, { confirmationTimeoutMs: 1_000 }),
    /** Answers on the phone. */
    answer(option: OptionId) {
      assert(phone);
      return answerBy(phone, send, option);
    },
    /** The questions that the phone shows. */
    async shown() {
      assert(phone);
      return await shownBy(phone, send);
    },
    /** Answers a question that was shown. */
    say(hash: string, tick: string) {
      assert(phone);
      return sendAnswer(phone, send, { hash, option: "once", tick });
    },
    /** Whether a call asks the person. */
    async asks(call: (signal: AbortSignal) => Promise<unknown>) {
      const before = asked;
      const stop = new AbortController();
      const isAsked = wake.promise;
      const ended = call(stop.signal).catch(() => {});
      await Promise.race([isAsked, ended]);
      stop.abort();
      await ended;
      return asked > before;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

Deno.test("a late yes lets the same call run at once, and once", async () => {
  await using scene = await start();
  const { text, meta } = await scene.timedOut();
  assertEquals([meta.error_code, meta.a2c_waited_for], [4004, "confirmation"]);
  assertStringIncludes(text, REPEAT);
  const { questions: [question] } = await scene.shown();
  assertEquals(question?.late, true);
  assertEquals(await scene.answer("once"), "taken");

  // Equal arguments, in another order.
  const again = await scene.call("echo", { more: { b: [2], a: 1 }, text: "x" });
  assertEquals([again.text, again.meta.error_code], ["x", undefined]);
  assertEquals(scene.asked, 1);

  const third = (signal: AbortSignal) => scene.call("echo", X, { signal });
  assertEquals(await scene.asks(third), true);
});

Deno.test("a late yes is for one Agent and its arguments: another one is asked about", async () => {
  await using scene = await start();
  await scene.timedOut();
  assertEquals(await scene.answer("once"), "taken");
  const params = { ...X, more: { a: 1, b: [3] } };
  assertEquals(
    await scene.asks((signal) => scene.call("echo", params, { signal })),
    true,
  );
  const wire = await takeSeat(scene.office);
  const others = async (signal: AbortSignal) => {
    const cancel = () =>
      wire.connection.send("server:tool_call_cancel", {
        agent: "wire",
        req_id: "1",
      });
    signal.addEventListener("abort", cancel);
    await wire.call({ tool_name: "echo", params: X });
  };
  assertEquals(await scene.asks(others), true);
});

Deno.test("a call that is repeated before the answer is asked about in place of the late question, so that one yes is one run", async () => {
  await using scene = await start();
  await scene.timedOut();
  const { questions: [late], tick } = await scene.shown();
  assertEquals(late?.late, true);
  const other = scene.call("echo", { text: "other" });
  await scene.askedTimes(2);
  assertEquals((await scene.shown()).questions.length, 2);
  const again = scene.call("echo", X);
  await scene.askedTimes(3);
  const { questions } = await scene.shown();
  assertEquals(questions.map(({ late }) => late), [undefined, undefined]);
  assertEquals(await scene.say(late?.hash ?? "", tick), "ended: asked again");
  for (const { hash } of questions) {
    assertEquals(await scene.say(hash, tick), "taken");
  }
  assertEquals([(await again).text, (await other).text], ["x", "other"]);
});

Deno.test("a late yes counts for ten minutes", async () => {
  using date = new TestDate();
  await using scene = await start();
  await scene.timedOut();
  assertEquals(await scene.answer("once"), "taken");
  date.pass(10 * 60_000);
  const again = (signal: AbortSignal) => scene.call("echo", X, { signal });
  assertEquals(await scene.asks(again), true);
});

Deno.test("a yes later than ten minutes after the timeout counts for nothing", async () => {
  using date = new TestDate();
  await using scene = await start();
  await scene.timedOut();
  const { questions: [question], tick } = await scene.shown();
  assert(question);
  date.pass(10 * 60_000);
  // The device's own part still has it: the Computer counts by its clock.
  await scene.say(question.hash, tick);
  const again = (signal: AbortSignal) => scene.call("echo", X, { signal });
  assertEquals(await scene.asks(again), true);
});

Deno.test("after a late no the same call is refused without a question", async () => {
  await using scene = await start();
  await scene.timedOut();
  assertEquals(await scene.answer("no"), "taken");
  const { text, meta } = await scene.call("echo", X);
  assertEquals([meta.error_code, scene.asked], [4005, 1]);
  assertStringIncludes(text, "refused without asking");
});

Deno.test("a late no to all mutes the Agent, as one in time does", async () => {
  await using scene = await start();
  await scene.timedOut();
  assertEquals(await scene.answer("mute"), "taken");
  const { text, meta } = await scene.call("echo", { text: "other" });
  assertEquals([meta.error_code, scene.asked], [4005, 1]);
  assertStringIncludes(text, "refused without asking");
});

Deno.test("a late yes for an hour counts for the repeated call, and for equal ones after it", async () => {
  await using scene = await start();
  await scene.timedOut();
  assertEquals(await scene.answer("hour"), "taken");
  for (let i = 0; i < 2; i++) {
    assertEquals((await scene.call("echo", X)).text, "x");
  }
  const [permission] = scene.computer.permissions.list();
  assertEquals([permission?.usesLeft, scene.asked], [17, 1]);
  assert(permission);
  scene.computer.permissions.remove(permission.id);
  const again = (signal: AbortSignal) => scene.call("echo", X, { signal });
  assertEquals(await scene.asks(again), true);
});

Deno.test("without a device nobody can answer late, and the result asks for no repetition", async () => {
  await using scene = await start({ isPaired: false });
  const { text, meta } = await scene.timedOut();
  assertEquals(meta.error_code, 4004);
  assertEquals(
    text,
    "The call was not confirmed at pc within 1 s; the tool did not run",
  );
});
