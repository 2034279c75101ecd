import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import {
  decodeFrame,
  encodeHead,
  Kind,
} from "../../../../server/cluster/tunnel/frames.ts";
import { Questions } from "../../../../server/cluster/tunnel/questions.ts";

interface Sent {
  readonly kind: number;
  readonly id: number;
  readonly value?: unknown;
}

const frameOf = ({ kind, id, value }: Sent) =>
  decodeFrame(
    encodeHead({ kind, id, stream: 0, text: JSON.stringify({ value }) }),
  );

/** A node whose messages the test carries. */
function newNode(
  { isAway = false, maxMessageBytes = 1000 } = {},
): { questions: Questions; sent: Sent[] } {
  const sent: Sent[] = [];
  const questions = new Questions({
    peers: () => new Set(["other"]),
    maxMessageBytes: () => maxMessageBytes,
    send: (_node, _stream, frame) => {
      const { kind, id, text } = decodeFrame(Buffer.concat(frame));
      sent.push({ kind, id, ...JSON.parse(text) });
      return !isAway;
    },
  });
  return { questions, sent };
}

/** A question as its node sends it, and its answer. */
async function replyTo(
  questions: Questions,
  sent: Sent[],
  question: unknown,
): Promise<Sent | undefined> {
  questions.take(
    "other",
    frameOf({ kind: Kind.question, id: 7, value: question }),
  );
  await new Promise((resolve) => setTimeout(resolve, 0));
  return sent.at(-1);
}

Deno.test("Questions: an answer counts from the node that was asked, once", async () => {
  const { questions, sent } = newNode();
  const answer = questions.ask("other", "how many?", 60_000);
  const [asked] = sent;
  const reply = (id: number, value: number) =>
    frameOf({ kind: Kind.reply, id, value });
  assertEquals(asked, { kind: Kind.question, id: 1, value: "how many?" });
  questions.take("stranger", reply(1, 0));
  questions.take("other", reply(2, 1));
  questions.take("other", reply(1, 2));
  questions.take("other", reply(1, 3));
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
  const NONE: Sent = { kind: Kind.reply, id: 7 };
  assertEquals(await replyTo(questions, sent, "early"), NONE);
  questions.answerWith((question) => {
    if (question === "bad") throw new Error("cannot");
    return question === "large" ? "x".repeat(1000) : { question };
  });
  assertEquals(await replyTo(questions, sent, "good"), {
    kind: Kind.reply,
    id: 7,
    value: { question: "good" },
  });
  assertEquals(await replyTo(questions, sent, "bad"), NONE);
  assertEquals(await replyTo(questions, sent, "large"), NONE);
});
