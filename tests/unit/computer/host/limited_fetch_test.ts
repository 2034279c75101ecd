import { assertEquals } from "@std/assert";
import {
  EventScanner,
  fetchWithTimeouts,
  requestIdOf,
} from "../../../../computer/host/mcp/limited_fetch.ts";
import { collectGarbage } from "../../../support/server/memory.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

Deno.test("EventScanner finds events for any chunking", () => {
  const rows: [text: string, size: number, lastId: string | undefined][] = [
    ["", 0, undefined],
    ["data: abc", 9, undefined],
    ["data: abc\n", 10, undefined],
    ["data: abc\n\n", 0, undefined],
    ["data: abc\r\n\r\n", 0, undefined],
    ["data: abc\r\r", 0, undefined],
    ["data: abc\r\rdata", 4, undefined],
    ["id: 7\ndata: abc\n\n", 0, "7"],
    ["id:7\r\ndata\r\n\r\n", 0, "7"],
    ["id: 7\n\n", 0, undefined], // an event without data is dropped
    ["id: 7\ndata: a", 13, undefined],
    ["id\ndata: a\n\n", 0, undefined],
    ["id: 7\ndata: a\n\ndata: b\n\n", 0, "7"],
    ["id: 7\ndata: a\n\nid: 8\ndata: b\n\ndata: ", 6, "8"],
    ["ids: 7\ndata: a\n\n", 0, undefined],
    [`id: ${"x".repeat(2_000)}\ndata: a\n\n`, 0, undefined],
  ];
  for (const [text, size, lastId] of rows) {
    const bytes = utf8(text);
    for (let step = 1; step <= bytes.length + 1; step++) {
      const events = new EventScanner();
      for (let at = 0; at < bytes.length; at += step) {
        events.push(bytes.subarray(at, at + step));
      }
      assertEquals([events.size, events.lastId], [size, lastId], text);
    }
  }
});

Deno.test("requestIdOf() reads the id of every request of the MCP SDK", () => {
  const rows: [message: object, id: number | undefined][] = [
    [{ method: "ping", jsonrpc: "2.0", id: 7 }, 7],
    [
      { method: "m", params: { id: 1, s: '"id":5}' }, jsonrpc: "2.0", id: 0 },
      0,
    ],
    [{ method: "m", params: { "id": 1 }, jsonrpc: "2.0" }, undefined],
    [{ method: "m", jsonrpc: "2.0", params: { "id": 1 } }, undefined],
    [{ result: { method: "m" }, jsonrpc: "2.0", id: 7 }, undefined],
  ];
  for (const [message, id] of rows) {
    const body = JSON.stringify(message);
    assertEquals(requestIdOf({ method: "POST", body }), id, body);
  }
  assertEquals(requestIdOf({ method: "GET" }), undefined);
});

const fetch = fetchWithTimeouts({ requestMs: 60_000, silenceMs: 60_000 }, 1000);

/** Opens an event stream and reads its first event; keeps no reference to the response. */
async function open(url: string, signal: AbortSignal) {
  const response = await fetch(url, { signal });
  const reader = response.body!.getReader();
  await reader.read();
  return reader;
}

Deno.test({
  name:
    "fetchWithTimeouts() ends an event stream when its signal is aborted, though its answer was collected as garbage",
  timeout: 60_000,
}, async () => {
  const cancelled = Promise.withResolvers<void>();
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => {
      const body = new ReadableStream({
        start: (controller) =>
          controller.enqueue(new TextEncoder().encode("data: 1\n\n")),
        cancel: () => cancelled.resolve(),
      });
      const headers = { "content-type": "text/event-stream" };
      return new Response(body, { headers });
    },
  );
  const abort = new AbortController();
  const url = `http://127.0.0.1:${server.addr.port}/`;
  const reader = await open(url, abort.signal);
  const read = reader.read().then(() => "more", ({ name }) => name);
  for (let i = 0; i < 5; i++) {
    collectGarbage();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  abort.abort();
  assertEquals(await read, "AbortError");
  await cancelled.promise;
});
