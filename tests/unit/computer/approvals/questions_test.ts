import { assert, assertEquals, assertRejects } from "@std/assert";
import * as approvals from "../../../../computer/approvals/approvals.ts";
import { Ticks } from "../../../../computer/approvals/time.ts";
import { writeQuestion } from "../../../../computer/approvals/questions.ts";
import { firstAnswer } from "../../../../computer/tools/first_answer.ts";
import { poll, sendAnswer } from "../../../../shared/approvals/device.ts";
import { LIMITS } from "../../../../shared/approvals/question.ts";
import { settled } from "../../../support/approvals/attacks.ts";
import { kindOf } from "../../../../shared/approvals/message.ts";
import {
  answerBy,
  caught,
  shownBy,
  Side,
} from "../../../support/approvals/side.ts";
import { confirmRequest } from "../../../support/approvals/confirm_request.ts";

Deno.test("open: the first answer of a device ends a question, with its label and reason", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  const tablet = await side.pair("Tablet");
  const call = side.ask();
  const { questions: [shown], tick } = await shownBy(tablet, side.send);
  assertEquals(await answerBy(phone, side.send, "no", "not today"), "taken");
  assertEquals(await call.answer, {
    answer: "no",
    by: 'on "Pixel"',
    reason: "not today",
  });
  const hash = shown?.hash ?? "";
  const answer = { hash, tick, option: "once" as const };
  const said = await sendAnswer(tablet, side.send, answer);
  assertEquals(said, 'ended: answered on "Pixel"');
  const news = await poll(tablet, side.send, { have: [hash], wait: 25_000 });
  assertEquals(news.questions, []);
  assertEquals(news.ended, [{
    hash,
    by: 'answered on "Pixel"',
    answer: "no",
  }]);
});

Deno.test("open: an answer at the terminal withdraws the question from devices", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  const typed = Promise.withResolvers<"once">();
  const terminal = async () => ({
    answer: await typed.promise,
    by: "at the terminal",
  });
  const { signal } = new AbortController();
  const confirm = firstAnswer(terminal, side.approvals.confirm);
  const answer = confirm(confirmRequest(), signal);
  const { questions: [shown] } = await shownBy(phone, side.send);
  const have = [shown?.hash ?? ""];
  const waiting = poll(phone, side.send, { have, wait: 25_000 });
  typed.resolve("once");
  assertEquals(await answer, { answer: "once", by: "at the terminal" });
  const { ended, questions } = await waiting;
  assertEquals(questions, []);
  assertEquals(ended, [{
    hash: have[0] ?? "",
    by: "answered at the terminal",
  }]);
});

Deno.test("open: an answer of a device withdraws the question from the terminal", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  let why: unknown;
  const terminal = (_request: unknown, signal: AbortSignal) =>
    new Promise<"no">((resolve) =>
      signal.addEventListener("abort", () => {
        why = signal.reason;
        resolve("no");
      })
    );
  const confirm = firstAnswer(terminal, side.approvals.confirm);
  const { signal } = new AbortController();
  const answer = confirm(confirmRequest(), signal);
  await answerBy(phone, side.send, "hour");
  assertEquals(await answer, { answer: "hour", by: 'on "Pixel"' });
  assertEquals(why, 'answered on "Pixel"');
});

Deno.test("open: what ends the call ends the question, with its reason", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  for (
    const [reason, by] of [["cancelled", "cancelled"], [
      new Error(),
      "withdrawn",
    ]]
  ) {
    const call = side.ask();
    const { questions: [shown] } = await shownBy(phone, side.send);
    call.end(reason);
    const { ended } = await poll(phone, side.send);
    assertEquals(ended.at(-1), { hash: shown?.hash ?? "", by: `${by}` });
    assertEquals((await call.answer).answer, "no");
  }
  const call = side.ask();
  call.end("cancelled");
  await call.answer;
  assertEquals((await poll(phone, side.send)).questions, []);
});

Deno.test("late: a yes within ten minutes after the call's timeout goes to its repetition", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  const call = side.ask({ leftMs: 60_000 });
  await shownBy(phone, side.send);
  side.pass(60_001);
  call.end("timeout");
  assertEquals((await call.answer).answer, "no");
  const { questions: [late] } = await shownBy(phone, side.send);
  assertEquals(late?.late, true);
  assertEquals(late?.left, LIMITS.lateMs);
  side.pass(LIMITS.lateMs - 1_000);
  assertEquals(await answerBy(phone, side.send, "once"), "taken");
  assertEquals(call.late, [{ answer: "once", by: 'on "Pixel"' }]);
  const { questions } = await poll(phone, side.send);
  assertEquals(questions, []);
});

Deno.test("late: at most twenty wait, and the oldest end first", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  const calls = Array.from({ length: LIMITS.open + 3 }, (_, i) => {
    return side.ask({ params: { i } });
  });
  await shownBy(phone, side.send, calls.length);
  for (const call of calls) {
    call.end("timeout");
    side.pass(1);
  }
  const { questions, ended } = await poll(phone, side.send);
  const shown = questions.map(({ question }) =>
    JSON.parse(question).arguments.i
  );
  assertEquals(shown, Array.from({ length: LIMITS.open }, (_, i) => i + 3));
  assertEquals(ended.map(({ by }) => by), Array(3).fill("timeout"));
});

Deno.test("late: a question that is too large to be allowed ends with its call, and its arguments with it", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  let late = 0;
  const expectLate = () => void late++;
  const large = { content: "x".repeat(LIMITS.questionBytes) };
  const call = side.ask({ params: large, expectLate });
  await shownBy(phone, side.send);
  call.end("timeout");
  const { questions, ended } = await poll(phone, side.send);
  assertEquals([questions, ended.map(({ by }) => by)], [[], ["timeout"]]);
  assertEquals(late, 0, "no repetition is advised");
  side.ask({ expectLate });
  assertEquals(late, 1);
});

Deno.test("ended: a device learns for ten minutes how a question ended, then it is unknown", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  const call = side.ask();
  await answerBy(phone, side.send, "no");
  await call.answer;
  side.pass(LIMITS.endedMs);
  const { ended, tick } = await poll(phone, side.send);
  assertEquals(ended.length, 1);
  side.pass(1);
  const [{ hash = "" } = {}] = ended;
  const answer = { hash, tick, option: "once" as const };
  assertEquals(await sendAnswer(phone, side.send, answer), "unknown");
  assertEquals((await poll(phone, side.send)).ended, []);
});

Deno.test("news have open questions before late ones, and no more than fits", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  const content = "x".repeat(100_000);
  const first = side.ask({ params: { content, n: 1 } });
  await shownBy(phone, side.send);
  first.end("timeout");
  side.ask({ params: { content, n: 2 } });
  side.ask({ params: { content, n: 3 } });
  const { questions } = await shownBy(phone, side.send, 2);
  const shown = questions.map(({ question }) =>
    JSON.parse(question).arguments.n
  );
  assertEquals(shown, [2, 3]);
});

Deno.test("a question of the largest size passes through the Server", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  for (const letter of ["x", '"', "ä"]) {
    const size = Number(
      { x: 244_000, '"': 61_000, "ä": 122_000 }[letter],
    );
    const params = { content: letter.repeat(size) };
    const call = side.ask({ params });
    let most = 0;
    const { questions: [shown] } = await shownBy(
      phone,
      async (token, message) => {
        const answer = await side.send(token, message);
        most = Math.max(most, answer.length);
        return answer;
      },
    );
    assert(most > 262_144 && most <= LIMITS.answerBytes, `${letter}: ${most}`);
    assertEquals(JSON.parse(shown?.question ?? "").omitted, undefined, letter);
    assertEquals(await answerBy(phone, side.send), "taken");
    assertEquals((await call.answer).answer, "once");
  }
});

Deno.test("a diff that makes a question too large is left out, before its arguments are", () => {
  const params = { content: "x".repeat(150_000) };
  const diff = { of: "content", before: "y".repeat(120_000) };
  const { text, isTooLarge } = writeQuestion(
    confirmRequest({ params, diff }),
    "laptop",
  );
  assertEquals(isTooLarge, false);
  assertEquals(JSON.parse(text).arguments, params);
  assertEquals(JSON.parse(text).diff, undefined);
  const small = writeQuestion(
    confirmRequest({ params: {}, diff: { of: "content" } }),
    "laptop",
  );
  assertEquals(JSON.parse(small.text).diff, { of: "content" });
});

Deno.test("a question has all that its request has, and an id of its own", () => {
  const request = confirmRequest({
    bundleId: "files-1",
    name: "write",
    tool: "write_file",
    params: { path: "a" },
  });
  const { id, asked, ...question } = JSON.parse(
    writeQuestion(request, "laptop").text,
  );
  assertEquals(id.length, 22);
  assertEquals(typeof asked, "number");
  assertEquals(question, {
    v: 1,
    computer: "laptop",
    ms: 60_000,
    caller: { kind: "agent", name: "planner" },
    server: "files",
    bundle: "files-1",
    tool: "write_file",
    alias: "write",
    definition: request.definition,
    rule: request.rule,
    rules: request.rulesVersion,
    options: request.options.filter(({ id }) => id !== "always"),
    arguments: { path: "a" },
  });
  const again = JSON.parse(writeQuestion(request, "laptop").text);
  assert(again.id !== id);
});

Deno.test("a Server that repeats a poll without end has 32 of them wait at the Computer, and its device's next one is answered", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  const have: string[] = [];
  const message = await caught((send) =>
    poll(phone, send, { have, wait: LIMITS.waitMs })
  );
  const answers = Array.from({ length: 500 }, () => {
    return side.approvals.handle(message);
  });
  side.ask();
  const kinds = (await Promise.all(answers)).map((answer) => kindOf(answer));
  assertEquals(kinds.filter((kind) => kind === "news").length, 32);
  assertEquals(kinds.filter((kind) => kind === "refused").length, 468);
  assertEquals((await poll(phone, side.send)).questions.length, 1);
});

Deno.test("a poll waits for a change, and for no longer than it asks", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  const waiting = poll(phone, side.send, { have: [], wait: 25_000 });
  await settled();
  side.ask();
  assertEquals((await waiting).questions.length, 1);
  const have = (await waiting).questions.map(({ hash }) => hash);
  const { questions } = await poll(phone, side.send, { have, wait: 1 });
  assertEquals(questions.length, 1);
  // What is no number of milliseconds waits for nothing.
  await poll(phone, side.send, { have, wait: Number.NaN });
  await poll(phone, side.send, { have, wait: -1 });
});

Deno.test("what wakes the person is told of each question until it has ended", async () => {
  await using side = await Side.open(approvals);
  const phone = await side.pair();
  const told: string[] = [];
  side.approvals.watch = {
    asked: (id, leftMs) => told.push(`asked ${id.slice(0, 4)} ${leftMs}`),
    answered: (id) => told.push(`answered ${id.slice(0, 4)}`),
  };
  const hashes: string[] = [];
  for (const end of ["answer", "cancelled", "timeout"]) {
    const call = side.ask();
    const { questions: [shown] } = await shownBy(phone, side.send);
    hashes.push(shown?.hash.slice(0, 4) ?? "");
    if (end === "answer") await answerBy(phone, side.send);
    else call.end(end);
    await call.answer;
  }
  assertEquals(
    told,
    hashes.flatMap((hash) => [`asked ${hash} 60000`, `answered ${hash}`]),
  );
});

Deno.test("ticks are those of the last minute, and no more than a device needs", () => {
  const ticks = new Ticks();
  const first = ticks.give(0);
  assertEquals(first.length, 22);
  assertEquals(ticks.isFresh(first, LIMITS.tickMs), true);
  assertEquals(ticks.isFresh(first, LIMITS.tickMs + 1), false);
  for (let i = 0; i < 256; i++) ticks.give(1);
  assertEquals(ticks.isFresh(first, 1), false);
  const last = ticks.give(2);
  assertEquals(ticks.isFresh(last, 2), true);
});

Deno.test("pair() refuses addresses at which a phone has no cryptography", async () => {
  await using side = await Side.open(approvals);
  const good = {
    page: "https://a.example/approve",
    url: "https://a.example",
    office: "north",
    computer: "laptop",
  };
  for (
    const over of [
      { page: "http://192.168.1.2/approve" },
      { page: "approve" },
      { url: "http://a.example" },
      { url: "in process" },
    ]
  ) {
    await assertRejects(
      () => side.approvals.pair({ ...good, ...over }),
      TypeError,
      "cannot be used by a phone",
    );
  }
  for (const page of ["https://a.example/#b", "https://u:p@a.example/"]) {
    await assertRejects(
      () => side.approvals.pair({ ...good, page }),
      TypeError,
      'The page https://a.example/ cannot be used with a user, a password or a part after "#"',
    );
  }
  for (
    const over of [{}, {
      page: "http://localhost:1/",
      url: "http://127.0.0.1:2",
    }]
  ) {
    const open = await side.approvals.pair({ ...good, ...over });
    assertEquals(side.approvals.verifiers.length, 1);
    open.cancel();
    assertEquals(await open.ended, "cancelled");
  }
  await settled();
  assertEquals(side.approvals.verifiers, []);
});
