import { assertEquals } from "@std/assert";
import { Buffer } from "node:buffer";
import { ClusterOffices } from "../../../../server/cluster/cluster_offices.ts";
import {
  decodeFrame,
  encodeHead,
  Kind,
} from "../../../../server/cluster/tunnel_frames.ts";

interface Sent {
  readonly kind: number;
  readonly id: number;
  readonly value?: unknown;
}

const frameOf = ({ kind, id, value }: Sent) =>
  encodeHead({ kind, id, stream: 0, text: JSON.stringify({ value }) });

/** A node whose messages the test carries. */
function newNode(
  { isAway = false, maxMessageBytes = 1000 } = {},
): { tunnel: ClusterOffices; sent: Sent[] } {
  const sent: Sent[] = [];
  const unused = () => {
    throw new Error("No office takes part");
  };
  const tunnel = new ClusterOffices({
    peers: new Set(["other"]),
    maxMessageBytes,
    send: (_node, _stream, frame) => {
      const { kind, id, text } = decodeFrame(Buffer.concat(frame));
      sent.push({ kind, id, ...JSON.parse(text) });
      return isAway ? "away" : "sent";
    },
    node: "own",
    homes: new Set(),
    isServing: () => true,
    claim: unused,
    release: unused,
  }, 6000);
  return { tunnel, sent };
}

/** A question as its node sends it, and its answer. */
async function replyTo(
  tunnel: ClusterOffices,
  sent: Sent[],
  question: unknown,
): Promise<Sent | undefined> {
  tunnel.received(
    "other",
    frameOf({ kind: Kind.question, id: 7, value: question }),
  );
  await new Promise((resolve) => setTimeout(resolve, 0));
  return sent.at(-1);
}

Deno.test("Tunnel: the answer to a question counts from the node that was asked, once", async () => {
  const { tunnel, sent } = newNode();
  const answer = tunnel.ask("other", "how many?", 60_000);
  const [asked] = sent;
  const reply = (id: number, value: number) =>
    frameOf({ kind: Kind.reply, id, value });
  assertEquals(asked, { kind: Kind.question, id: 1, value: "how many?" });
  tunnel.received("stranger", reply(1, 0));
  tunnel.received("other", reply(2, 1));
  tunnel.received("other", reply(1, 2));
  tunnel.received("other", reply(1, 3));
  assertEquals(await answer, 2);
});

Deno.test("Tunnel: no question is waited for in vain", async () => {
  const { tunnel } = newNode();
  assertEquals(await tunnel.ask("other", "late", 1), undefined);
  const gone = tunnel.ask("other", "gone", 60_000);
  const others = tunnel.ask("third", "there", 60_000);
  tunnel.failed("other", "gone");
  assertEquals(await gone, undefined);
  tunnel.close();
  assertEquals(await others, undefined);
  const away = newNode({ isAway: true }).tunnel;
  assertEquals(await away.ask("other", "away", 60_000), undefined);
});

Deno.test("Tunnel: each question is answered, without an answer where there is none", async () => {
  const { tunnel, sent } = newNode();
  const NONE: Sent = { kind: Kind.reply, id: 7 };
  assertEquals(await replyTo(tunnel, sent, "early"), NONE);
  tunnel.answerWith((question) => {
    if (question === "bad") throw new Error("cannot");
    return question === "large" ? "x".repeat(1000) : { question };
  });
  assertEquals(await replyTo(tunnel, sent, "good"), {
    kind: Kind.reply,
    id: 7,
    value: { question: "good" },
  });
  assertEquals(await replyTo(tunnel, sent, "bad"), NONE);
  assertEquals(await replyTo(tunnel, sent, "large"), NONE);
});
