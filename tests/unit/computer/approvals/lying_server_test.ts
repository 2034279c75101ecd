import { assert, assertEquals, assertRejects } from "@std/assert";
import { Approvals } from "../../../../computer/approvals/approvals.ts";
import { firstAnswer } from "../../../../computer/tools/first_answer.ts";
import type { Confirm } from "../../../../computer/tools/confirm.ts";
import { poll, type Send } from "../../../../shared/approvals/device.ts";
import type { Question } from "../../../../shared/approvals/question.ts";
import { answerBy, shownBy, Side } from "../../../support/approvals/side.ts";
import { confirmRequest } from "../../../support/approvals/confirm_request.ts";

const open = () => Side.open({ Approvals });

/** A Server that says it has no approvals, or that the Computer is offline. */
const silent: Send = () => Promise.reject(new Error("404"));

Deno.test("threat 18: the phone shows the call as it reached the Computer, whatever the Agent had sent", async () => {
  await using side = await open();
  const phone = await side.pair();
  // The Agent asked for /srv/notes/a.txt; the Server passed this on, in another's name.
  const params = { path: "/home/me/.ssh/authorized_keys", content: "ssh-rsa" };
  const call = side.ask({ params, agent: "gardener" });
  const { questions: [shown] } = await shownBy(phone, side.send);
  assert(shown);
  const question: Question = JSON.parse(shown.question);
  assertEquals(question.arguments, params);
  assertEquals(question.caller, { kind: "agent", name: "gardener" });
  assertEquals(await answerBy(phone, side.send, "no"), "taken");
  assertEquals((await call.answer).answer, "no");
});

Deno.test("threat 19: where a Server hides that it has approvals, the terminal and the page answer as ever", async () => {
  await using side = await open();
  const phone = await side.pair();
  const terminal = Promise.withResolvers<"once">();
  const atTerminal: Confirm = () => terminal.promise;
  const { confirm } = side.approvals;
  const decided = firstAnswer(atTerminal, confirm)(
    confirmRequest(),
    new AbortController().signal,
  );
  await assertRejects(() => poll(phone, silent), Error, "404");
  terminal.resolve("once");
  assertEquals(Object(await decided).answer, "once");
});

Deno.test("threat 19: where a Server hides that it has approvals, and nobody else is asked, nothing is allowed", async () => {
  await using side = await open();
  const phone = await side.pair();
  const call = side.ask();
  await assertRejects(() => answerBy(phone, silent), Error, "404");
  assertEquals(call.given, undefined);
  call.end("timeout");
  const { answer } = await call.answer.catch(() => ({ answer: "no" }));
  assertEquals(answer, "no");
});
