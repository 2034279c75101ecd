import { assertEquals } from "@std/assert";
import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import fc from "fast-check";
import { Conversation } from "../../../mcp/pipe/conversation.ts";
import { INITIALIZE } from "../../support/mcp/post.ts";

const initialize: JSONRPCMessage = JSON.parse(INITIALIZE);
const request = (id: number, method = "ping"): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  method,
});
const result = (id: number): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  result: {},
});
const cancelled = (requestId: number): JSONRPCMessage => ({
  jsonrpc: "2.0",
  method: "notifications/cancelled",
  params: { requestId },
});
const refusal = (id: number): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  error: { code: -32600, message: "no" },
});

const idsOf = (messages: Iterable<JSONRPCMessage>) =>
  [...messages].map((message) => "id" in message ? message.id : "-");

Deno.test("Conversation passes on what waits for initialize once that is answered, and writes the answers in order, whatever theirs was", () => {
  const kind = fc.constantFrom("request", "refusal", "cancelled");
  const order = fc.array(fc.nat(), { minLength: 12, maxLength: 12 });
  fc.assert(
    fc.property(fc.array(kind, { maxLength: 12 }), order, (kinds, order) => {
      const talk = new Conversation();
      talk.take(initialize);
      assertEquals(idsOf(talk.toSend()), [1]);
      const asked: number[] = [];
      const expected: number[] = [];
      kinds.forEach((kind, at) => {
        const id = at + 10;
        if (kind === "refusal") talk.refuse(refusal(id));
        else talk.take(request(id));
        if (kind === "cancelled") talk.take(cancelled(id));
        else expected.push(id);
        if (kind === "request") asked.push(id);
      });
      assertEquals(idsOf(talk.toSend()), []);
      assertEquals(idsOf(talk.toWrite()), []);
      talk.deliver(result(1));
      const sent = idsOf(talk.toSend()).filter((id) => id !== "-");
      assertEquals(
        sent,
        kinds.flatMap((kind, at) => kind === "refusal" ? [] : [at + 10]),
      );
      const shuffled = asked.toSorted((a, b) =>
        order[a - 10]! - order[b - 10]!
      );
      for (const id of shuffled) talk.deliver(result(id));
      assertEquals(idsOf(talk.toWrite()), [1, ...expected]);
      assertEquals(talk.isIdle, true);
      assertEquals(talk.initialize, initialize);
    }),
  );
});

Deno.test("Conversation passes later requests on at once, and their answers as they come; notifications and questions of the Server, too", () => {
  const talk = new Conversation();
  talk.take(initialize);
  talk.take(request(2));
  assertEquals(idsOf(talk.toSend()), [1]);
  talk.deliver(result(1));
  assertEquals(idsOf(talk.toSend()), [2]);
  talk.take(request(3));
  assertEquals(idsOf(talk.toSend()), [3]);
  talk.deliver(request(99, "elicitation/create"));
  talk.deliver(result(3));
  assertEquals(idsOf(talk.toWrite()), [1, 99, 3]);
  assertEquals(talk.isIdle, false);
  talk.take(cancelled(2));
  assertEquals(talk.isIdle, false); // the cancellation is not passed on
  assertEquals(idsOf(talk.toSend()), ["-"]);
  assertEquals(talk.isIdle, true);
});

Deno.test("Conversation holds nothing back without an initialize (2026), and does not wait for streams of changes", () => {
  const talk = new Conversation();
  talk.take(request(1, "subscriptions/listen"));
  talk.take(request(2));
  assertEquals(idsOf(talk.toSend()), [1, 2]);
  talk.deliver(result(2));
  assertEquals(idsOf(talk.toWrite()), [2]);
  assertEquals([talk.isIdle, talk.listens.length], [true, 1]);
});

Deno.test("Conversation goes on after an initialize that was refused, and does not keep that", () => {
  const talk = new Conversation();
  talk.take(initialize);
  talk.take(request(2));
  assertEquals(idsOf(talk.toSend()), [1]);
  talk.deliver(refusal(1));
  assertEquals(idsOf(talk.toSend()), [2]);
  assertEquals(talk.initialize, undefined);
});
