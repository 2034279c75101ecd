import { assertEquals, assertRejects } from "@std/assert";
import { openConnection } from "../../../../computer/host/mcp/client_connection.ts";
import { SilentTransport } from "../../../support/computer/silent_transport.ts";

const open = (
  transport: SilentTransport,
  pongMs = 60_000,
  pingEveryMs?: number,
) =>
  openConnection(transport, {
    requestMs: 60_000,
    pongMs,
    ...(pingEveryMs !== undefined && { pingEveryMs }),
    signal: new AbortController().signal,
  });

Deno.test("a call without an answer is followed by a ping, once nothing else runs on the server", async () => {
  const transport = new SilentTransport();
  const connection = await open(transport);
  const [one, two] = [new AbortController(), new AbortController()];
  const calls = [one, two].map(({ signal }) =>
    assertRejects(() => connection.callTool("t", {}, { signal }))
  );
  one.abort("enough");
  await calls[0];
  assertEquals(transport.methods, [
    "tools/call",
    "tools/call",
    "notifications/cancelled",
  ]);
  two.abort("enough");
  await calls[1];
  assertEquals(transport.methods.slice(3), ["notifications/cancelled", "ping"]);
  await connection.close();
});

Deno.test("a server that does not answer a ping is lost; one that does not support it is not", async () => {
  const hung = await open(new SilentTransport(), 1);
  const lost = new Promise<Error>((resolve) => hung.onLost(resolve));
  const abort = new AbortController();
  const call = hung.callTool("t", {}, { signal: abort.signal });
  abort.abort("enough");
  await assertRejects(() => call);
  assertEquals((await lost).message, "The MCP server no longer answers");

  const pinged = Promise.withResolvers<void>();
  const ignorant = new SilentTransport(({ method }) => {
    if (method !== "ping") return undefined;
    setTimeout(pinged.resolve, 0); // after the answer was read
    return { error: { code: -32601, message: "Method not found" } };
  });
  const alive = await open(ignorant);
  alive.onLost(() => {
    throw new Error("it is alive");
  });
  const again = new AbortController();
  const other = alive.callTool("t", {}, { signal: again.signal });
  again.abort("enough");
  await assertRejects(() => other);
  await pinged.promise;
  await alive.close();
});

Deno.test("a server that does not answer a ping while it works is not lost, and its call completes", async () => {
  const pingedAgain = Promise.withResolvers<void>(); // after the first failed
  let pings = 0;
  let call: string | number = "";
  const transport = new SilentTransport(({ method, id }) => {
    if (method === "tools/call") call = id;
    if (method === "ping" && ++pings === 2) pingedAgain.resolve();
    return undefined;
  });
  const connection = await open(transport, 1, 1);
  connection.onLost(pingedAgain.reject);
  const content = [{ type: "text" as const, text: "done" }];
  const result = connection.callTool("t", {}, {
    signal: new AbortController().signal,
  });
  await Promise.race([result, pingedAgain.promise]);
  transport.onmessage?.({ jsonrpc: "2.0", id: call, result: { content } });
  assertEquals(await result, { content });
  await connection.close();
});

Deno.test("a call is bounded only by its signal: the MCP SDK's 60 s do not end it, and progress does not extend it", async () => {
  const transport = new SilentTransport();
  const connection = await open(transport);
  const { setTimeout } = globalThis;
  const delays: unknown[] = [];
  const abort = new AbortController();
  let call: Promise<unknown>;
  try {
    globalThis.setTimeout = ((run: () => void, delay?: number) => {
      delays.push(delay);
      return setTimeout(run, delay);
    }) as typeof setTimeout;
    call = connection.callTool("t", {}, { signal: abort.signal });
    for (const message of transport.sent) {
      if (!("method" in message && message.method === "tools/call")) continue;
      // Progress is not requested; unrequested progress has no effect.
      assertEquals(message.params?._meta, undefined);
      transport.onmessage?.({
        jsonrpc: "2.0",
        method: "notifications/progress",
        params: {
          progressToken: "id" in message ? message.id : 0,
          progress: 1,
        },
      });
    }
  } finally {
    globalThis.setTimeout = setTimeout;
  }
  assertEquals(delays, [2 ** 31 - 1]); // the longest timer, 24 days
  abort.abort("timeout");
  await assertRejects(() => call);
  await connection.close();
});
