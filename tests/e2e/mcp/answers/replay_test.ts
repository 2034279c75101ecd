import { assert, assertEquals } from "@std/assert";
import type { FetchLike } from "@modelcontextprotocol/client";
import { CLIENTS } from "../../../support/mcp/clients.ts";
import { startGateway } from "../../../support/mcp/gateway.ts";
import {
  INITIALIZE,
  JSON_HEADERS,
  message,
} from "../../../support/mcp/post.ts";
import { startProxy } from "../../../support/proxy.ts";

/** The events of a stream: ids and messages. */
async function* eventsOf({ body }: Response) {
  assert(body);
  let text = "";
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const events = (text + piece).split("\n\n");
    text = events.pop() ?? "";
    for (const event of events) {
      const id = /^id: (.+)$/m.exec(event)?.[1];
      const data = /^data: (.*)$/m.exec(event)?.[1];
      if (id !== undefined) yield { id, message: JSON.parse(data || "null") };
    }
  }
}

/** A session of a client that reads its streams itself. */
async function openSession(url: URL, version = "2025-11-25") {
  const send = (
    method: string,
    { body, last }: { body?: string; last?: string } = {},
  ) =>
    fetch(url, {
      method,
      headers: {
        ...JSON_HEADERS,
        "mcp-protocol-version": version,
        ...(session && { "mcp-session-id": session }),
        ...(last && { "last-event-id": last }),
      },
      body: body ?? null,
    });
  let session = "";
  const opened = await send("POST", { body: INITIALIZE });
  await opened.text();
  session = opened.headers.get("mcp-session-id") ?? "";
  return {
    call: (id: number, name: string, args: object = {}) =>
      send("POST", {
        body: message(id, "tools/call", { name, arguments: args }),
      }),
    notify: (method: string, params: object) =>
      send("POST", {
        body: JSON.stringify({ jsonrpc: "2.0", method, params }),
      }),
    /** Opens the stream of changes, or again what an event belongs to. */
    read: (last?: string) => send("GET", last === undefined ? {} : { last }),
    end: () => send("DELETE"),
  };
}

const textOf = (message: unknown) => Object(message).result.content[0].text;

for (const kind of ["v1, 2025", "v2, 2025"]) {
  Deno.test(`${kind}: a result arrives though its stream was cut`, async () => {
    await using served = await startGateway();
    await using proxy = await startProxy(served.url.origin);
    const url = new URL(served.url.pathname, proxy.url);
    const begun = Promise.withResolvers<void>();
    const watching: FetchLike = async (url, init) => {
      const response = await fetch(url, init);
      if (!String(init?.body).includes("pc__slow")) return response;
      const watched = response.body?.pipeThrough(
        new TransformStream({
          transform(chunk, controller) {
            controller.enqueue(chunk);
            begun.resolve();
          },
        }),
      );
      return new Response(watched ?? null, response);
    };
    await using client = await CLIENTS[kind]!({ url, fetch: watching });
    await client.tools();
    const called = client.call("pc__slow");
    await served.holds(1);
    await begun.promise; // before the first event there is nothing to go on from
    proxy.sever();
    served.release();
    assertEquals((await called).content[0]?.text, "done");
    await client.terminate();
  });
}

Deno.test("a client reads on from the last event that it has read, as often as it likes", async () => {
  await using served = await startGateway();
  const session = await openSession(served.url);
  const first = eventsOf(await session.call(1, "pc__slow"));
  const { value: begun } = await first.next();
  assertEquals(begun?.message, null); // it has an id, and nothing else yet
  await first.return();
  await served.holds(1);
  served.release();
  for (let times = 0; times < 2; times++) {
    const [{ id = "", message } = {}, ...more] = await Array.fromAsync(
      eventsOf(await session.read(begun?.id)),
    );
    assertEquals([message.id, textOf(message)], [1, "done"]);
    assertEquals(more, []);
    assertEquals(
      await Array.fromAsync(eventsOf(await session.read(id))),
      [],
    );
  }
  await (await session.end()).text();
});

Deno.test("a stream that is opened again replaces the one whose end nobody has noticed", async () => {
  await using served = await startGateway();
  const session = await openSession(served.url);
  const stale = await session.call(1, "pc__slow");
  const first = eventsOf(stale);
  const { value: begun } = await first.next();
  await served.holds(1);
  const again = eventsOf(await session.read(begun?.id));
  assertEquals((await first.next()).done, true);
  served.release();
  assertEquals(textOf((await again.next()).value?.message), "done");
  assertEquals((await again.next()).done, true);
  await (await session.end()).text();
});

Deno.test("changes are sent again, and answers of other streams are not", async () => {
  await using served = await startGateway();
  const session = await openSession(served.url);
  const changes = eventsOf(await session.read());
  await served.computer.leave();
  const { value: first } = await changes.next();
  await changes.return();
  await (await session.call(7, "pc__echo", { text: "other" })).text();
  await served.computer.join("north");
  const again = eventsOf(await session.read(first?.id));
  const { value: next } = await again.next();
  assertEquals(
    [first, next].map((event) => event?.message.method),
    Array(2).fill("notifications/tools/list_changed"),
  );
  await again.return();
  await (await session.end()).text();
});

Deno.test("an id that no event has is refused; before 2025-11-25 no event is without a message", async () => {
  await using served = await startGateway();
  const session = await openSession(served.url, "2025-06-18");
  const [{ message } = {}, ...more] = await Array.fromAsync(
    eventsOf(await session.call(1, "pc__none")), // a result would be one JSON text
  );
  const { error } = Object(message);
  assertEquals([error.message, more], ["Unknown tool: pc__none", []]);
  const refused = await session.read("nonsense");
  assertEquals(refused.status, 400);
  assertEquals(
    (await refused.json()).error.message,
    "Nothing is kept of the stream of Last-Event-ID",
  );
  await (await session.end()).text();
});

Deno.test("no stream ends without an answer, after which clients would open it again: cancelled requests and ended sessions have one", async () => {
  await using served = await startGateway();
  const session = await openSession(served.url);
  const lastOf = async (response: Response) => {
    const all = await Array.fromAsync(eventsOf(response));
    const { id, error } = all.at(-1)?.message ?? {};
    return [id, error?.message];
  };
  const calling = [1, 2].map((id) => session.call(id, "pc__slow"));
  await served.holds(2);
  // Their streams begin while they run.
  const [cancelled, ended] = (await Promise.all(calling)).map(lastOf);
  await (await session.notify("notifications/cancelled", { requestId: 1 }))
    .text();
  assertEquals(await cancelled, [1, "It was cancelled"]);
  await (await session.end()).text();
  assertEquals(await ended, [2, "The session has ended"]);
});
