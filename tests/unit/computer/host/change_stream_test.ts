import { assertEquals, assertRejects } from "@std/assert";
// @ts-types="@modelcontextprotocol/sdk/types"
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import { ChangeStream } from "../../../../computer/host/mcp/change_stream.ts";
import { hurryTimers, keepTimers } from "../../../support/timers.ts";

const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/** One request for changes. */
interface Listening {
  readonly asked: Record<string, unknown>;
  readonly signal: AbortSignal;
  readonly end: ReturnType<typeof Promise.withResolvers<unknown>>;
}

/** A stream whose requests a test answers. */
function start(lists: Record<string, { listChanged?: boolean }> = {}) {
  const requests: Listening[] = [];
  const missed: string[] = [];
  let wake = () => {};
  const stream = new ChangeStream(lists, {
    timeoutMs: 5_000,
    listen: (asked, signal) => {
      const end = Promise.withResolvers<unknown>();
      signal.addEventListener("abort", () => end.reject(signal.reason));
      requests.push({ asked, signal, end });
      wake();
      return end.promise;
    },
    missed: (method, { uri }) => {
      missed.push(uri === undefined ? method : `${method} ${uri}`);
      wake();
    },
  });
  /** Resolves once something has happened. */
  const until = async (is: () => boolean) => {
    while (!is()) await new Promise<void>((resolve) => wake = resolve);
  };
  return {
    stream,
    requests,
    missed,
    until,
    /** Acknowledges the request that comes as the n-th. */
    async acknowledge(count: number): Promise<Listening> {
      await until(() => requests.length >= count);
      assertEquals(stream.takes(ACKNOWLEDGED), true);
      return requests[count - 1]!;
    },
  };
}

Deno.test("a stream names the lists whose changes the server announces, and is none without them", async () => {
  const { stream, requests, acknowledge } = start({
    tools: { listChanged: true },
    prompts: {},
    resources: { listChanged: true },
  });
  const { asked } = await acknowledge(1);
  assertEquals(asked, { toolsListChanged: true, resourcesListChanged: true });
  assertEquals(stream.takes("notifications/tools/list_changed"), false);
  stream.close();
  assertEquals(requests[0]?.signal.aborted, true);
  const none = start({ tools: {} });
  await Promise.resolve();
  assertEquals(none.requests, []);
});

Deno.test("what is subscribed to at once is one request; the one before ends when it is acknowledged", async () => {
  const { stream, requests, acknowledge } = start();
  const both = [stream.add("a"), stream.add("b")];
  const first = await acknowledge(1);
  await Promise.all(both);
  assertEquals(first.asked, { resourceSubscriptions: ["a", "b"] });
  const third = stream.add("c");
  const second = await acknowledge(2);
  assertEquals(first.signal.aborted, false);
  await third;
  assertEquals(second.asked, { resourceSubscriptions: ["a", "b", "c"] });
  assertEquals(first.signal.aborted, true);
  stream.remove("a");
  stream.remove("unknown");
  const { asked } = await acknowledge(3);
  assertEquals(asked, { resourceSubscriptions: ["b", "c"] });
  stream.close();
  assertEquals(requests.length, 3);
});

Deno.test("without anything to listen for the stream ends", async () => {
  const { stream, requests, acknowledge } = start();
  const added = stream.add("a");
  const { signal } = await acknowledge(1);
  await added;
  const ended = new Promise((resolve) =>
    signal.addEventListener("abort", resolve)
  );
  stream.remove("a");
  await ended;
  assertEquals(requests.length, 1);
});

Deno.test("a refusal is that of the subscription, which is not tried again; the stream before goes on", async () => {
  const { stream, requests, acknowledge, until } = start();
  const added = stream.add("a");
  const { signal } = await acknowledge(1);
  await added;
  const refused = assertRejects(() => stream.add("b"), McpError, "too many");
  await until(() => requests.length === 2);
  requests[1]!.end.reject(new McpError(-32603, "too many"));
  await refused;
  assertEquals(signal.aborted, false);
  const third = stream.add("c");
  const { asked } = await acknowledge(3);
  await third;
  assertEquals(asked, { resourceSubscriptions: ["a", "c"] });
  stream.close();
});

Deno.test("a stream that ends is opened again, later each time, and reports what may have changed", async () => {
  using timers = hurryTimers(1_000, 2_000, 4_000);
  const { stream, requests, missed, acknowledge, until } = start({
    tools: { listChanged: true },
  });
  await acknowledge(1);
  const added = stream.add("a");
  const second = await acknowledge(2);
  await added;
  second.end.resolve({});
  await until(() => requests.length === 3);
  assertEquals(missed, []);
  requests[2]!.end.reject(new Error("not there"));
  const { asked } = await acknowledge(4);
  assertEquals(asked, {
    toolsListChanged: true,
    resourceSubscriptions: ["a"],
  });
  await until(() => missed.length === 2);
  assertEquals(missed, [
    "notifications/tools/list_changed",
    "notifications/resources/updated a",
  ]);
  assertEquals(timers.armed, [1_000, 2_000]);
  stream.close();
});

Deno.test("a stream that is not acknowledged in time is no subscription", async () => {
  using timers = keepTimers(5_000);
  const { stream, requests, until } = start();
  const added = assertRejects(() => stream.add("a"));
  await until(() => requests.length === 1);
  timers.fire();
  await added;
  assertEquals(requests[0]?.signal.aborted, true);
  const closed = assertRejects(() => stream.add("b"), Error, "is closed");
  stream.close();
  await closed;
});
