import { assertEquals } from "@std/assert";
import type { NodeMessage } from "../../../../server/cluster/switchboard/messages.ts";
import { Questions } from "../../../../server/cluster/switchboard/questions.ts";

/** A node whose messages the test carries. */
function newNode(
  { isAway = false, maxMessageBytes = 1000 } = {},
): { questions: Questions; sent: NodeMessage[] } {
  const sent: NodeMessage[] = [];
  const questions = new Questions({
    peers: () => new Set(["other"]),
    maxMessageBytes: () => maxMessageBytes,
    send: (_node, _stream, message) => {
      sent.push(message);
      return !isAway;
    },
  });
  return { questions, sent };
}

/** A question as its node sends it, and its answer. */
async function replyTo(
  questions: Questions,
  sent: NodeMessage[],
  question: unknown,
): Promise<NodeMessage | undefined> {
  questions.take("other", { kind: "question", id: 7, question });
  await new Promise((resolve) => setTimeout(resolve, 0));
  return sent.at(-1);
}

Deno.test("Questions: an answer counts from the node that was asked, once", async () => {
  const { questions, sent } = newNode();
  const answer = questions.ask("other", "how many?", 60_000);
  const [asked] = sent;
  assertEquals(asked, { kind: "question", id: 1, question: "how many?" });
  questions.take("stranger", { kind: "reply", id: 1, reply: 0 });
  questions.take("other", { kind: "reply", id: 2, reply: 1 });
  questions.take("other", { kind: "reply", id: 1, reply: 2 });
  questions.take("other", { kind: "reply", id: 1, reply: 3 });
  assertEquals(await answer, 2);
});

Deno.test("Questions: none is waited for in vain", async () => {
  const { questions } = newNode();
  assertEquals(await questions.ask("other", "late", 1), undefined);
  const gone = questions.ask("other", "gone", 60_000);
  const others = questions.ask("third", "there", 60_000);
  questions.end("other");
  assertEquals(await gone, undefined);
  questions.end();
  assertEquals(await others, undefined);
  const away = newNode({ isAway: true }).questions;
  assertEquals(await away.ask("other", "away", 60_000), undefined);
});

Deno.test("Questions: each is answered, without an answer where there is none", async () => {
  const { questions, sent } = newNode();
  const NONE: NodeMessage = { kind: "reply", id: 7, reply: undefined };
  assertEquals(await replyTo(questions, sent, "early"), NONE);
  questions.answerWith((question) => {
    if (question === "bad") throw new Error("cannot");
    return question === "large" ? "x".repeat(1000) : { question };
  });
  assertEquals(await replyTo(questions, sent, "good"), {
    kind: "reply",
    id: 7,
    reply: { question: "good" },
  });
  assertEquals(await replyTo(questions, sent, "bad"), NONE);
  assertEquals(await replyTo(questions, sent, "large"), {
    kind: "reply",
    id: 7,
  });
});
