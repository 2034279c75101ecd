import { assertEquals, assertThrows } from "@std/assert";
import { parseCallToolResult } from "../../../protocol/mod.ts";
import {
  answerOf,
  callOf,
  ID_PLACE,
  PAIR_PLACE,
  payloadOf,
  PAYLOADS,
} from "../../../bench/payloads.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

Deno.test("answerOf() makes answers of exactly their size, with one place for the id", () => {
  for (const payload of PAYLOADS) {
    const answer = answerOf(payload);
    assertEquals(bytesOf(answer), payload.bytes, payload.name);
    assertEquals(answer.split(ID_PLACE).length, 2, payload.name);
    const [result, ...rest] = JSON.parse(answer);
    assertEquals(rest, []);
    assertEquals(parseCallToolResult(result).isError, false);
  }
});

Deno.test("answerOf() is text that encodes to the same bytes again", () => {
  for (const payload of PAYLOADS) {
    const answer = answerOf(payload);
    assertEquals(JSON.stringify(JSON.parse(answer)), answer, payload.name);
  }
});

Deno.test("answerOf() has letters of two bytes, ASCII alone, or many values", () => {
  const isAscii = (name: string) =>
    !/[^\0-\x7f]/.test(answerOf(payloadOf(name)));
  assertEquals(isAscii("1m-text"), false);
  assertEquals(isAscii("1m"), true);
  const [{ structuredContent }] = JSON.parse(answerOf(payloadOf("100k-json")));
  assertEquals(structuredContent.rows.length > 900, true);
});

Deno.test("callOf() is a call of the pair's Computer", () => {
  const [event, call] = JSON.parse(callOf("hello"));
  assertEquals(event, "client:tool_call");
  assertEquals(call.req_id, ID_PLACE);
  assertEquals(call.computer, `computer-${PAIR_PLACE}`);
  assertEquals(call.params, { text: "hello" });
});

Deno.test("payloadOf() names the known sizes", () => {
  assertEquals(payloadOf("10k").bytes, 10_000);
  assertThrows(() => payloadOf("10"), RangeError, 'Unknown size "10"');
});
