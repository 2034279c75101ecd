import { assertEquals, assertRejects } from "@std/assert";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  ErrorCode,
  type JSONRPCMessage,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import { sdkFailure } from "../../../../computer/host/mcp/errors.ts";
import { requestIdOf } from "../../../../computer/host/mcp/limited_fetch.ts";
import { OwnCalls } from "../../../../computer/host/mcp/own_calls.ts";

/** A transport that keeps what is sent, and receives what the test answers. */
function setup() {
  const sent: Record<string, unknown>[] = [];
  const others: JSONRPCMessage[] = [];
  let isGone = false;
  const transport: Transport = {
    start: () => Promise.resolve(),
    close: () => Promise.resolve(),
    send(message) {
      if (isGone) return Promise.reject(new Error("gone"));
      sent.push({ ...message });
      return Promise.resolve();
    },
    onmessage: (message) => others.push(message),
  };
  const calls = new OwnCalls(transport);
  return {
    calls,
    sent,
    others,
    receive: (message: object) =>
      transport.onmessage?.({ jsonrpc: "2.0", ...message } as JSONRPCMessage),
    idOf: (at: number) => Number(sent[at]?.id),
    lose: () => void (isGone = true),
  };
}

Deno.test("OwnCalls gives each call its own answer, in any order, and leaves all else to the SDK", async () => {
  const { calls, sent, others, receive, idOf } = setup();
  const first = calls.send({ name: "a" }, undefined);
  const second = calls.send({ name: "b" }, undefined);
  assertEquals(sent.map(({ method, params }) => [method, params]), [
    ["tools/call", { name: "a" }],
    ["tools/call", { name: "b" }],
  ]);
  const [body] = sent.map((message) => JSON.stringify(message));
  assertEquals(requestIdOf({ method: "POST", body: body ?? "" }), idOf(0));
  receive({ id: 0, result: {} });
  receive({ id: idOf(0), method: "elicitation/create", params: {} });
  receive({ method: "notifications/progress", params: {} });
  assertEquals(others.length, 3);
  receive({ id: idOf(1), result: { content: [2] } });
  receive({ id: idOf(0), result: { content: [1] } });
  assertEquals(await first, { content: [1] });
  assertEquals(await second, { content: [2] });
  assertEquals(others.length, 3);
});

Deno.test("OwnCalls fails with the server's error, and for a result that is no object", async () => {
  const { calls, receive, idOf } = setup();
  const refused = calls.send({}, undefined);
  receive({ id: idOf(0), error: { code: -32602, message: "no", data: 1 } });
  const error = await assertRejects(() => refused, McpError, "no");
  assertEquals([error.code, error.data], [-32602, 1]);
  const odd = calls.send({}, undefined);
  receive({ id: idOf(1), result: [] });
  await assertRejects(() => odd, Error, "no object");
});

Deno.test("a call that its caller gives up is cancelled at the server, counts as timed out, and its late answer reaches nothing", async () => {
  const { calls, sent, others, receive, idOf } = setup();
  const abort = new AbortController();
  const given = calls.send({}, abort.signal);
  abort.abort(new Error("enough"));
  const error = await assertRejects(() => given, McpError);
  assertEquals(error.code, ErrorCode.RequestTimeout); // after which the server is pinged
  assertEquals(sent.at(-1), {
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: idOf(0), reason: "Error: enough" },
  });
  receive({ id: idOf(0), result: {} });
  assertEquals(others, []);
  const before = await calls.send({}, abort.signal).catch((error) => error);
  assertEquals([before.message, sent.length], ["enough", 2]);
});

Deno.test("a call is not cancelled by what happens to its signal after the answer", async () => {
  const { calls, sent, receive, idOf } = setup();
  const abort = new AbortController();
  const answered = calls.send({}, abort.signal);
  receive({ id: idOf(0), result: {} });
  await answered;
  abort.abort();
  assertEquals(sent.length, 1);
});

Deno.test("OwnCalls fails with the transport's error, and all calls when the connection is closed", async () => {
  const { calls, lose } = setup();
  const open = calls.send({}, undefined);
  lose();
  await assertRejects(() => calls.send({}, undefined), Error, "gone");
  calls.end();
  const error = await assertRejects(() => open, McpError);
  assertEquals(sdkFailure(error), "closed");
  await assertRejects(() => calls.send({}, undefined), Error, "Not connected");
});
