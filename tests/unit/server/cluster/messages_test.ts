import {
  TOOL_CALL_EVENT,
  UPDATE_TOOL_LIST_NOTIFICATION,
} from "../../../../protocol/mod.ts";
import { Buffer } from "node:buffer";
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  decodeMessage,
  encodeMessage,
  type NodeMessage,
  toldSeat,
} from "../../../../server/cluster/switchboard/messages.ts";
import { Payload } from "../../../../server/wire/mod.ts";
import { member } from "../../../support/member.ts";

const seat = {
  ...member({ instance: "secret", principal: "p" }),
  rev: 7,
  node: "n1",
};

const CALL: NodeMessage = {
  kind: "call",
  id: 1,
  protocol: "0.2",
  office: "Büro \n \0",
  computer: "pc",
  to: "s1",
  from: "s2",
  event: TOOL_CALL_EVENT,
  reqId: "r1",
};

Deno.test("encodeMessage(): every kind arrives as it was", () => {
  const messages: NodeMessage[] = [
    CALL,
    { kind: "answer", id: 1 },
    { kind: "maybe", id: 1 },
    { kind: "fail", id: 1, error: { code: 404, message: "not here" } },
    { kind: "forget", id: 1 },
    { kind: "question", id: 1, question: { kind: "calls" } },
    { kind: "reply", id: 1, reply: [{ office: "Büro" }] },
    { kind: "reply", id: 2 },
    {
      kind: "progress",
      id: 1,
      told: { computer: "pc", agent: "a", req_id: "r1", progress: 0.5 },
    },
    {
      kind: "notice",
      protocol: "0.4",
      office: "o",
      event: UPDATE_TOOL_LIST_NOTIFICATION,
      payload: { computer: "pc" },
      from: "s1",
      except: "s1",
    },
    { kind: "enter", protocol: "0.2", seat: toldSeat(seat) },
  ];
  for (const message of messages) {
    const bytes = Buffer.concat(encodeMessage(message));
    assertEquals(decodeMessage(bytes).message, message);
  }
});

Deno.test("encodeMessage(): a call and its answers have a payload, an empty ack has none", () => {
  const payload = Payload.of({ tool_name: "echo" });
  const call = decodeMessage(Buffer.concat(encodeMessage(CALL, payload)));
  assertEquals(call.payload()?.parse(), { tool_name: "echo" });
  const empty = Buffer.concat(encodeMessage({ kind: "answer", id: 1 }));
  assertEquals(decodeMessage(empty).payload(), undefined);
});

Deno.test("toldSeat(): the secret of a member stays on its node", () => {
  const bytes = Buffer.concat(
    encodeMessage({ kind: "enter", protocol: "0.2", seat: toldSeat(seat) }),
  );
  assert(!bytes.includes("secret"));
});

Deno.test("decodeMessage(): what is cut off or no JSON is refused", () => {
  const bytes = Buffer.concat(encodeMessage({ kind: "forget", id: 1 }));
  for (let length = 0; length < bytes.length; length++) {
    assertThrows(() => decodeMessage(bytes.subarray(0, length)), RangeError);
  }
  bytes[4] = 0;
  assertThrows(() => decodeMessage(bytes), SyntaxError);
});
