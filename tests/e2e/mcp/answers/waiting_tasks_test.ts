/**
 * Calls that a person at a real Computer has to confirm, for MCP clients with the Tasks extension and for
 * those without.
 *
 * @module
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { slowPerson } from "../../../support/approvals/slow_person.ts";
import { fixtureHere } from "../../../support/computer/fixture_here.ts";
import { serveOffice } from "../../../support/mcp/gateway.ts";
import {
  askModern,
  messagesOf,
  type SeenTask,
  sendModern,
  TaskClient,
} from "../../../support/mcp/tasks.ts";

/** An office whose Computer asks a person who is slow. */
async function start() {
  const person = slowPerson();
  const office = await serveOffice({
    servers: { fix: fixtureHere({ only: ["echo"] }) },
    computer: { confirm: person.confirm },
  });
  const begin = async (text: string, at = 0) => {
    const client = new TaskClient(office);
    const task = await client.begin("pc__echo", { text });
    return { client, task, question: await person.asked(at) };
  };
  return {
    office,
    person,
    begin,
    [Symbol.asyncDispose]: () => office[Symbol.asyncDispose](),
  };
}

/** Text and `error_code` of the result of a task. */
const endOf = ({ result }: SeenTask) => {
  const { content, _meta } = Object(result);
  return [content?.[0]?.text, _meta?.error_code];
};

Deno.test("a call that waits for a person is a task at once, which has the tool's result after a yes", async () => {
  await using scene = await start();
  const { client, task, question } = await scene.begin("hello");
  assertEquals(
    [task.resultType, task.status, task.statusMessage],
    ["task", "working", "waits for confirmation at pc"],
  );
  assertEquals(question.request.params, { text: "hello" });
  assertEquals((await client.get(task.taskId)).status, "working");
  question.say("once");
  const ended = await client.reaches(task.taskId, "completed");
  assertEquals(endOf(ended), ["hello", undefined]);
  assertEquals(scene.person.count, 1);
});

Deno.test("a task has the refusal as its result after a no", async () => {
  await using scene = await start();
  const { client, task, question } = await scene.begin("hello");
  question.say("no");
  const ended = await client.reaches(task.taskId, "completed");
  const [text, code] = endOf(ended);
  assertEquals([code, ended.result?.isError], [4005, true]);
  assertStringIncludes(text, "The person at pc refused");
});

Deno.test("tasks/cancel withdraws the question, and a later yes does nothing", async () => {
  await using scene = await start();
  const { client, task, question } = await scene.begin("hello");
  const withdrawn = new Promise((resolve) => {
    question.signal.addEventListener("abort", resolve);
  });
  await client.cancel(task.taskId);
  await withdrawn;
  assertEquals(question.signal.reason, "cancelled");
  question.say("once");
  const { status, result } = await client.get(task.taskId);
  assertEquals([status, result], ["cancelled", undefined]);
});

Deno.test("a task has the timeout as its result when nobody has answered in time", async () => {
  await using scene = await start();
  const { office, person } = scene;
  const url = new URL("?timeout=1", office.url);
  const client = new TaskClient({ url });
  const task = await client.begin("pc__echo", { text: "hello" });
  assertEquals(task.resultType, "task");
  const { signal, request } = await person.asked();
  assert(request.leftMs <= 1_000); // a client's own limit is for the whole call
  const ended = await client.reaches(task.taskId, "completed");
  const [text, code] = endOf(ended);
  assertEquals(code, 4004);
  assertStringIncludes(text, "not confirmed at pc within 1 s");
  assertEquals(signal.reason, "timeout");
});

Deno.test("a client that declares tasks for another request only waits for this one, with progress", async () => {
  await using scene = await start();
  const { office, person } = scene;
  const { client, task } = await scene.begin("a task");
  const response = await sendModern(
    { url: office.url, capabilities: {} },
    "tools/call",
    {
      name: "pc__echo",
      arguments: { text: "no task" },
      _meta: { progressToken: 7 },
    },
  );
  const messages = messagesOf(response);
  const { value: progress } = await messages.next();
  assertEquals(progress.method, "notifications/progress");
  assertStringIncludes(
    progress.params.message,
    "waits for confirmation at pc",
  );
  (await person.asked(1)).say("once");
  let last = progress;
  for await (const message of messages) last = message;
  assertEquals(last.result.resultType, "complete");
  assertEquals(last.result.content[0].text, "no task");
  await client.cancel(task.taskId);
  const { error } = await askModern(
    { url: office.url, capabilities: {} },
    "tasks/get",
    { taskId: task.taskId },
  );
  assertEquals(error?.code, -32021);
});
