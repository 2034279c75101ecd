/**
 * Calls of clients with the Tasks extension, which are answered the same by the quick door and by the app: as
 * results, and as tasks once they wait for a person or run for long.
 *
 * @module
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { GATEWAY_KEYS, gatewayKeys } from "../../../support/mcp/gateway.ts";
import { fetchByTheApp, post } from "../../../support/mcp/post.ts";
import {
  askModern,
  messagesOf,
  type SeenTask,
  sendModern,
  type SlowOffice,
  startSlowOffice,
  TaskClient,
} from "../../../support/mcp/tasks.ts";
import { captureLog } from "../../../support/log_capture.ts";
import { hurryTimers } from "../../../support/timers.ts";

/** How long a call runs before it becomes a task. */
const TASK_AFTER_MS = 8_000;

/** How a client reaches an office. */
type Reach = SlowOffice & {
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
};

/** By the quick door, and by the app. */
const REACHES = [{ fetch }, { fetch: fetchByTheApp }];

/** By a connection of its own: one that is kept may be closed by the Server at that moment. */
async function fetchAlone(url: URL, { headers, body }: RequestInit) {
  const answer = await post(url, {
    headers: Object.fromEntries(new Headers(headers)),
    body: String(body),
  });
  return Response.json(JSON.parse(answer.body));
}

/** Runs the same in both ways, which must give the same. */
async function bothWays<T>(
  run: (reach: Reach) => Promise<T>,
  setup: Parameters<typeof startSlowOffice>[0] = {},
): Promise<T> {
  const seen: T[] = [];
  for (const reach of REACHES) {
    await using slow = await startSlowOffice(setup);
    seen.push(await run({ ...slow, ...reach }));
  }
  const [quick, app] = seen;
  assertEquals(quick, app);
  assert(quick !== undefined);
  return quick;
}

/** What does not differ between two tasks of the same call. */
function plain({ taskId, createdAt, lastUpdatedAt, ttlMs, ...task }: SeenTask) {
  assert(/^[\w-]{24}$/.test(taskId));
  assert(lastUpdatedAt >= createdAt && Number.isInteger(ttlMs));
  return task;
}

/** Calls a tool, and returns the answer as it begins. */
const call = (
  reach: Parameters<typeof sendModern>[0],
  name: string,
  meta: object = {},
) => sendModern(reach, "tools/call", { name, _meta: meta });

Deno.test("a call that waits for a person is the same task by both ways, until its result", async () => {
  const [begun, working, ended] = await bothWays(async (reach) => {
    const client = new TaskClient(reach);
    const task = await client.begin("pc__confirm");
    const working = await client.get(task.taskId);
    const ended = client.reaches(task.taskId, "completed");
    reach.release("confirm");
    await ended;
    return [task, working, await client.get(task.taskId)].map(plain);
  });
  assertEquals(
    [begun?.resultType, begun?.status, begun?.statusMessage],
    ["task", "working", "waits for confirmation at pc"],
  );
  assertEquals(working?.status, "working");
  assertEquals(ended?.result?.content[0]?.text, "confirm is done");
});

Deno.test("a call that runs for long is the same task by both ways, and is cancelled once", async () => {
  using _ = hurryTimers(TASK_AFTER_MS);
  const [begun, ended, ...cancelled] = await bothWays(async (reach) => {
    const client = new TaskClient(reach);
    const task = await client.begin("pc__slow");
    await reach.began("slow");
    await client.cancel(task.taskId);
    const ended = await client.get(task.taskId);
    return [plain(task), plain(ended), ...await reach.cancels(1)];
  });
  assertEquals(Object(begun).resultType, "task");
  assertEquals(Object(ended).statusMessage, "cancelled by its client");
  assertEquals(cancelled, ["slow"]);
});

Deno.test("the questions of a task are the same by both ways, and so is the result of their answers", async () => {
  const [asked, ended] = await bothWays(async (reach) => {
    const client = new TaskClient(reach);
    const { taskId } = await client.begin("pc__ask");
    const asked = await client.reaches(taskId, "input_required");
    const answer = { action: "accept", content: { name: "Ann" } };
    await client.answer(taskId, { "1.first": answer, "1.second": answer });
    await reach.began("ask", 2);
    reach.release("ask"); // the one that has asked
    reach.release("ask");
    return [asked, await client.reaches(taskId, "completed")].map(plain);
  });
  assertEquals(Object.keys(asked?.inputRequests ?? {}), [
    "1.first",
    "1.second",
  ]);
  assertEquals(ended?.status, "completed");
});

Deno.test("progress precedes a task by both ways, but not the wait that makes it one", async () => {
  const token = { progressToken: 7 };
  const messages = await bothWays(async (reach) => {
    const response = call(reach, "pc__slow", token);
    await reach.began("slow");
    reach.progress({ progress: 1 });
    const all = messagesOf(await response);
    const { value: progress } = await all.next();
    reach.progress({ waiting: "confirmation" });
    const [{ result }, ...more] = await Array.fromAsync(all);
    await new TaskClient(reach).cancel(result.taskId);
    return [progress, plain(result), ...more];
  });
  const [progress, task, ...more] = messages;
  assertEquals(progress.params, { progress: 1, progressToken: 7 });
  assertEquals(task.statusMessage, "waits for confirmation at pc");
  assertEquals(more, []);
  const waiting = await bothWays(async (reach) => {
    const response = await call(reach, "pc__confirm", token);
    const { result } = await response.json();
    await new TaskClient(reach).cancel(result.taskId);
    return plain(result);
  });
  assertEquals(waiting.statusMessage, "waits for confirmation at pc");
});

Deno.test("a silent call begins its stream by both ways, in which its task follows", async () => {
  const task = await bothWays(async (reach) => {
    const response = await call(reach, "pc__slow");
    assertEquals(response.headers.get("content-type"), "text/event-stream");
    await reach.began("slow");
    reach.progress({ waiting: "confirmation" });
    const [{ result }, ...more] = await Array.fromAsync(messagesOf(response));
    assertEquals(more, []);
    await new TaskClient(reach).cancel(result.taskId);
    return plain(result);
  }, { gateway: { heartbeatMs: 10 } });
  assertEquals(task.resultType, "task");
});

Deno.test("a client that goes cancels its call by both ways, and not its task", async () => {
  await bothWays(async (reach) => {
    const client = new TaskClient(reach);
    const { taskId } = await client.begin("pc__confirm");
    const gone = new AbortController();
    const called = call({ ...reach, signal: gone.signal }, "pc__slow");
    await reach.began("slow");
    gone.abort();
    await assertRejects(() => called);
    assertEquals(await reach.cancels(1), ["slow"]);
    reach.release("confirm");
    return plain(await client.reaches(taskId, "completed"));
  });
});

Deno.test("a call that becomes a task is one line of the audit log by both ways, with who made it", async () => {
  const lines = await bothWays(async (reach) => {
    using log = captureLog();
    const headers = { "x-api-key": GATEWAY_KEYS.ann };
    const client = new TaskClient({ ...reach, headers });
    const { taskId } = await client.begin("pc__confirm");
    const ended = client.reaches(taskId, "completed");
    reach.release("confirm");
    await ended;
    return log.audit.filter(({ event }) => event === "tool_call")
      .map(({ principal, client, tool, outcome }) =>
        [principal, client, tool, outcome].join(", ")
      );
  }, { authenticator: gatewayKeys() });
  assertEquals(lines, ["key:ann, raw 1, confirm, ok"]);
});

Deno.test("a client without room for a task waits for the result, by both ways", async () => {
  using _ = hurryTimers(TASK_AFTER_MS);
  await using slow = await startSlowOffice();
  const filling = new TaskClient({ ...slow, fetch: fetchAlone });
  // Those that have ended count, too.
  for (let made = 0; made < 1_000; made += 50) {
    const tasks = await Promise.all(
      Array.from({ length: 50 }, () => filling.begin("pc__slow")),
    );
    for (const { resultType } of tasks) assertEquals(resultType, "task");
    await slow.began("slow", made + 50);
    for (const _ of tasks) slow.release("slow");
  }
  const waiting = REACHES.map((reach) =>
    askModern({ ...slow, ...reach }, "tools/call", { name: "pc__confirm" })
  );
  await slow.began("confirm", 2);
  for (const _ of waiting) slow.release("confirm");
  const [quick, app] = await Promise.all(waiting);
  assertEquals(quick, app);
  assertEquals(quick?.result.resultType, "complete");
  assertEquals(Object(quick?.result).content[0].text, "confirm is done");
});
