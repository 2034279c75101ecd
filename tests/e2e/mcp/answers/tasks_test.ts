import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  Client,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import { ConnectionError, type SmcpAgent } from "../../../../agent/mod.ts";
import { fixtureHere } from "../../../support/computer/fixture_here.ts";
import { ChildTransport } from "../../../support/mcp/clients.ts";
import {
  GATEWAY_KEYS,
  gatewayKeys,
  pipeCommand,
  startGateway,
} from "../../../support/mcp/gateway.ts";
import {
  askModern,
  type SeenTask,
  sendModern,
  startSlowOffice,
  TaskClient,
  TASKS,
  taskSession,
} from "../../../support/mcp/tasks.ts";
import { hurryTimers } from "../../../support/timers.ts";

/** How long a call runs before it becomes a task. */
const TASK_AFTER_MS = 8_000;

const EXTENSION = "io.modelcontextprotocol/tasks";

const EXPIRED =
  "Task not found: its id is not one of yours, or its time is over";

/** Why an Agent may not join; it must be refused. */
async function refusal(agent: SmcpAgent): Promise<string> {
  using _ = hurryTimers(2_000);
  const join = () => agent.join("north");
  return (await assertRejects(join, ConnectionError)).message;
}

Deno.test("a call that waits for a person becomes a task, which ends with the call's result", async () => {
  await using slow = await startSlowOffice();
  const client = new TaskClient(slow);
  const task = await client.begin("pc__confirm");
  const { taskId, createdAt, lastUpdatedAt, resultType, ttlMs, ...begun } =
    task;
  assertEquals(resultType, "task");
  assert(/^[\w-]{24}$/.test(taskId));
  assertEquals(createdAt, new Date(createdAt).toISOString());
  assert(lastUpdatedAt >= createdAt && Number.isInteger(ttlMs));
  assertEquals(Object(begun), {
    ...Object(begun),
    status: "working",
    statusMessage: "waits for confirmation at pc",
    pollIntervalMs: 3_000,
  });
  const working = await client.get(taskId);
  assertEquals([working.resultType, working.status], ["complete", "working"]);
  const ended = client.reaches(taskId, "completed");
  slow.release("confirm");
  const { result, resultType: _, ...notified } = await ended;
  assertEquals(result?.content[0]?.text, "confirm is done");
  assertEquals(Object(result).resultType, "complete");
  const { taskId: id, status, ttlMs: kept } = await client.get(taskId);
  assertEquals([id, status], [taskId, "completed"]);
  assertEquals([notified.status, notified.ttlMs], ["completed", kept]);
});

Deno.test("a call that runs for long becomes a task, whose message is the tool's progress", async () => {
  using _ = hurryTimers(TASK_AFTER_MS);
  await using slow = await startSlowOffice();
  const client = new TaskClient(slow);
  const { taskId, resultType, statusMessage } = await client.begin("pc__slow");
  assertEquals([resultType, statusMessage], ["task", undefined]);
  slow.progress({ progress: 3, total: 10 });
  slow.progress({ progress: 4, message: "copying" });
  slow.progress({ waiting: "confirmation" });
  const stream = await client.listen([taskId]);
  for await (const { params } of stream) {
    if (params.statusMessage === "waits for confirmation at pc") break;
  }
  slow.progress({ waiting: null });
  slow.release("slow");
  const { result } = await client.reaches(taskId, "completed");
  assertEquals(result?.content[0]?.text, "slow is done");
});

Deno.test("a client that does not declare tasks gets none, and may not ask for them", async () => {
  using _ = hurryTimers(TASK_AFTER_MS);
  await using slow = await startSlowOffice();
  const other = { ...slow, capabilities: {} };
  const called = askModern(other, "tools/call", { name: "pc__confirm" });
  await slow.began("confirm");
  const { taskId } = await new TaskClient(slow).begin("pc__slow");
  slow.release("confirm");
  assertEquals((await called).result.resultType, "complete");
  const stream = { notifications: { taskIds: [taskId] } };
  for (
    const [method, params] of [
      ["tasks/get", { taskId }],
      ["tasks/update", { taskId, inputResponses: {} }],
      ["tasks/cancel", { taskId }],
      ["subscriptions/listen", stream],
    ] as const
  ) {
    const { error } = await askModern(other, method, params);
    assertEquals(error?.code, -32021, method);
    assertEquals(error?.data, { requiredCapabilities: { extensions: TASKS } });
  }
  for (const method of ["tasks/list", "tasks/result"]) {
    const { error } = await askModern(slow, method, { taskId });
    assertEquals(error?.code, -32601, method);
  }
  await new TaskClient(slow).cancel(taskId);
});

Deno.test("a task is cancelled at the Computer, and stays so", async () => {
  await using slow = await startSlowOffice();
  const client = new TaskClient(slow);
  const { taskId } = await client.begin("pc__confirm");
  const cancelled = client.reaches(taskId, "cancelled");
  await client.cancel(taskId);
  const { result, statusMessage } = await cancelled;
  assertEquals([result, statusMessage], [undefined, "cancelled by its client"]);
  assertEquals(await slow.cancels(1), ["confirm"]);
  await client.cancel(taskId); // as often as the client likes
  assertEquals((await client.get(taskId)).status, "cancelled");
});

Deno.test("of a result and a cancellation that meet, one counts, for good", async () => {
  await using slow = await startSlowOffice();
  const client = new TaskClient(slow);
  for (let round = 0; round < 10; round++) {
    const { taskId } = await client.begin("pc__confirm");
    const cancelling = client.cancel(taskId);
    if (round % 2 === 0) await Promise.resolve();
    slow.release("confirm");
    await cancelling;
    const first = await client.get(taskId);
    assert(["completed", "cancelled"].includes(first.status), first.status);
    assertEquals("result" in first, first.status === "completed");
    const { _meta: _, ...again } = Object(await client.get(taskId));
    const { _meta: __, ...before } = Object(first);
    assertEquals(again, before);
  }
});

Deno.test("a task belongs to who made it: it does not exist for others", async () => {
  await using slow = await startSlowOffice({ authenticator: gatewayKeys() });
  const [ann, bob] = [GATEWAY_KEYS.ann, GATEWAY_KEYS.bob].map((key) =>
    new TaskClient({ ...slow, headers: { "x-api-key": key } })
  );
  assert(ann && bob);
  const { taskId } = await ann.begin("pc__confirm");
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
    const params = { taskId, inputResponses: {} };
    const { error } = await bob.tried(method, params);
    assertEquals([error?.code, error?.message], [-32602, EXPIRED]);
  }
  const [acknowledged, ended, ...more] = await Array.fromAsync(
    await bob.listen([taskId, "unknown"]),
  );
  assertEquals(acknowledged.params.notifications, {});
  assertEquals(ended.result.resultType, "complete");
  assertEquals(more, []);
  assertEquals((await ann.get(taskId)).status, "working");
  slow.release("confirm");
  await ann.reaches(taskId, "completed");
});

Deno.test("open tasks hold the seat, which a refused Agent is told", async () => {
  await using slow = await startSlowOffice();
  const { agent } = slow.office;
  const client = new TaskClient(slow);
  const first = await client.begin("pc__confirm");
  const second = await client.begin("pc__confirm");
  assertMatch(await refusal(agent), /: 2 tasks wait$/);
  await client.cancel(first.taskId);
  assertEquals(
    await refusal(agent),
    'Room already has an agent: "mcp" has it for MCP clients, until their tasks have ended: 1 task waits',
  );
  slow.release("confirm");
  await client.reaches(second.taskId, "completed");
  await agent.join("north");
  // Its result is there all the same.
  assertEquals((await client.get(second.taskId)).status, "completed");
});

Deno.test("a request that goes cancels its call, and not its task", async () => {
  await using slow = await startSlowOffice();
  const gone = new AbortController();
  const request = sendModern(
    { ...slow, signal: gone.signal },
    "tools/call",
    { name: "pc__slow" },
  );
  await slow.began("slow");
  gone.abort();
  await assertRejects(() => request);
  await slow.cancels(1);
  const client = new TaskClient(slow);
  const { taskId } = await client.begin("pc__confirm");
  slow.release("confirm");
  assertEquals(await slow.cancels(1), ["slow"]);
  const { result } = await client.reaches(taskId, "completed");
  assertEquals(result?.content[0]?.text, "confirm is done");
});

Deno.test("a stream for tasks has other notifications, too", async () => {
  await using slow = await startSlowOffice();
  const client = new TaskClient(slow);
  const { taskId } = await client.begin("pc__confirm");
  const more = { toolsListChanged: true, resourceSubscriptions: ["a2c://x"] };
  const stream = await client.listen([taskId, taskId], more);
  const { value: acknowledged } = await stream.next();
  assertEquals(acknowledged.params.notifications, {
    ...more,
    taskIds: [taskId],
  });
  const { value: working } = await stream.next();
  assertEquals(working.params.status, "working");
  assertEquals(working.params._meta, acknowledged.params._meta);
  await slow.office.addScriptedComputer("other", () => ({
    req_id: "1",
    tools: [],
  }));
  slow.release("confirm");
  const { value: completed } = await stream.next();
  assertEquals(completed.method, "notifications/tasks");
  assertEquals(completed.params.result.content[0].text, "confirm is done");
  await stream.return(undefined);
});

Deno.test("the SDK's client and the extension's package: a task with questions", async () => {
  using _ = hurryTimers(TASK_AFTER_MS);
  await using served = await startGateway({
    servers: { fix: fixtureHere({ only: ["ask"] }) },
  });
  const asked: string[] = [];
  await using client = await taskSession(served.url, (message) => {
    asked.push(message);
    return { name: `person ${asked.length}` };
  });
  const execution = await client.session.callTool("pc__ask", { rounds: 2 });
  const { outcome } = await execution.settle();
  assert(outcome.status === "completed");
  const { content: [content] } = Object(outcome.result);
  assertEquals(
    JSON.parse(content.text).map(({ content }: { content: object }) => content),
    [{ name: "person 1" }, { name: "person 2" }],
  );
  assertEquals(asked, ["Who are you?", "Who are you?"]);
});

/** Sends requests to a program, or a server, over stdio. */
class LineClient {
  readonly #transport: ChildTransport;
  readonly #messages: Record<string, unknown>[] = [];
  #wake = Promise.withResolvers<void>();
  #id = 0;

  constructor(transport: ChildTransport) {
    this.#transport = transport;
    transport.onmessage = (message) => {
      this.#messages.push({ ...message });
      this.#wake.resolve();
      this.#wake = Promise.withResolvers();
    };
  }

  /** Sends a request; returns its id. */
  async send(method: string, params: object): Promise<number> {
    const id = ++this.#id;
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": { extensions: TASKS },
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
    };
    await this.#transport.send({
      jsonrpc: "2.0",
      id,
      method,
      params: { ...params, _meta },
    });
    return id;
  }

  /** Waits for a message. */
  async seen(
    is: (message: Record<string, unknown>) => boolean,
  ): Promise<Record<string, unknown>> {
    for (;;) {
      const found = this.#messages.find(is);
      if (found) return found;
      await this.#wake.promise;
    }
  }

  async ask(method: string, params: object): Promise<SeenTask> {
    const asked = await this.send(method, params);
    return Object(await this.seen(({ id }) => id === asked)).result;
  }
}

Deno.test("tasks over stdio, by the program that a client starts", async () => {
  await using slow = await startSlowOffice();
  const transport = new ChildTransport(pipeCommand(slow.url));
  await transport.start();
  const client = new LineClient(transport);
  const discovered = Object(await client.ask("server/discover", {}));
  assertEquals(discovered.capabilities.extensions[EXTENSION], {});
  const { taskId } = await client.ask("tools/call", { name: "pc__confirm" });
  const listening = await client.send("subscriptions/listen", {
    notifications: { taskIds: [taskId] },
  });
  const notified = (status: string) =>
    client.seen(({ method, params }) =>
      method === "notifications/tasks" && Object(params).status === status
    );
  const working = Object(await notified("working"));
  assertEquals(
    working.params._meta["io.modelcontextprotocol/subscriptionId"],
    listening,
  );
  slow.release("confirm");
  await notified("completed");
  const { status, result } = await client.ask("tasks/get", { taskId });
  assertEquals([status, result?.content[0]?.text], [
    "completed",
    "confirm is done",
  ]);
  await transport.close();
});

Deno.test("questions of a task are answered one by one, and its cancellation reaches the call that asks", async () => {
  await using slow = await startSlowOffice();
  const client = new TaskClient(slow);
  const first = await client.begin("pc__ask");
  const asked = await client.reaches(first.taskId, "input_required");
  assertEquals(Object.keys(asked.inputRequests ?? {}), ["1.first", "1.second"]);
  const answer = { action: "accept", content: { name: "Ann" } };
  await client.answer(first.taskId, { "1.second": answer });
  const { status, inputRequests } = await client.get(first.taskId);
  assertEquals([status, Object.keys(inputRequests ?? {})], [
    "input_required",
    ["1.first"],
  ]);
  await client.answer(first.taskId, { "1.first": { action: "decline" } });
  await slow.began("ask", 2);
  slow.release("ask"); // the one that has asked
  slow.release("ask");
  const { result } = await client.reaches(first.taskId, "completed");
  assertEquals(JSON.parse(result?.content[0]?.text ?? ""), {
    first: { action: "decline" },
    second: answer,
  });
  const second = await client.begin("pc__ask");
  await client.reaches(second.taskId, "input_required");
  // No call is in flight, and the task holds the seat.
  assertMatch(await refusal(slow.office.agent), /: 1 task waits$/);
  await client.cancel(second.taskId);
  assertEquals(await slow.cancels(1), ["ask"]);
});

Deno.test("a client with a session gets no task, whatever it declares, and waits with progress", async () => {
  using _ = hurryTimers(TASK_AFTER_MS);
  await using slow = await startSlowOffice();
  const client = new Client(
    { name: "test", version: "1.0.0" },
    {
      versionNegotiation: { mode: "legacy" },
      capabilities: { elicitation: { form: {} }, extensions: TASKS },
    },
  );
  await client.connect(new StreamableHTTPClientTransport(slow.url));
  const { extensions } = client.getServerCapabilities() ?? {};
  assertEquals(Object(extensions)[EXTENSION], undefined);
  const messages: (string | undefined)[] = [];
  const called = client.callTool({ name: "pc__confirm", arguments: {} }, {
    onprogress: ({ message }) => messages.push(message),
  });
  await slow.began("confirm");
  const { taskId } = await new TaskClient(slow).begin("pc__slow");
  await assertRejects(
    () => client.request({ method: "tasks/get", params: { taskId } }, ANY),
    Error,
    "Method not found",
  );
  slow.release("confirm");
  const { content: [content] } = await called;
  assert(content?.type === "text");
  assertEquals(content.text, "confirm is done");
  assertMatch(messages[0] ?? "", /^waits for confirmation at pc, \d+ s$/);
  await new TaskClient(slow).cancel(taskId);
  await client.close();
});

const ANY = z.looseObject({});
