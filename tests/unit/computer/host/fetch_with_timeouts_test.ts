import { assertEquals } from "@std/assert";
import { fetchWithTimeouts } from "../../../../computer/host/mcp/limited_fetch.ts";
import { collectGarbage } from "../../../support/server/memory.ts";

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
