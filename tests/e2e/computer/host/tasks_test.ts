import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
// @ts-types="@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory"
import {
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";
import type { AnswerQuestion } from "../../../../computer/host/mcp/mcp_connection.ts";
import { connectInProcess } from "../../../../computer/host/mcp/in_process.ts";
import { connectMcp } from "../../../../computer/host/mcp/connect.ts";
import { connectionOf, startHost } from "../../../support/computer/host.ts";
import { everything } from "../../../support/computer/mcp_servers.ts";

/** A server of MCP 2025-11-25 with a tool that can be called as a task alone. */
function taskServer({ runsTasks = true } = {}) {
  const taskStore = new InMemoryTaskStore();
  const server = new McpServer({ name: "tasks", version: "1.0.0" }, {
    capabilities: runsTasks
      ? { tasks: { requests: { tools: { call: {} } }, cancel: {} } }
      : {},
    taskStore,
    taskMessageQueue: new InMemoryTaskMessageQueue(),
  });
  const ended = Promise.withResolvers<void>();
  server.experimental.tasks.registerToolTask("work", {
    inputSchema: { ends: z.string() },
    execution: { taskSupport: "required" },
  }, {
    createTask: async ({ ends }, { taskStore, taskRequestedTtl }) => {
      const ttl = taskRequestedTtl ?? null;
      const task = await taskStore.createTask({ ttl, pollInterval: 50 });
      const { taskId } = task;
      await taskStore.updateTaskStatus(taskId, "working", "half done");
      if (ends === "never") return { task };
      setTimeout(async () => {
        const text = ends === "failed" ? "it broke" : `done, ttl ${ttl}`;
        await taskStore.storeTaskResult(
          taskId,
          ends === "failed" ? "failed" : "completed",
          { content: [{ type: "text", text }], isError: ends === "failed" },
        );
      }, 100);
      return { task };
    },
    getTask: async (_, { taskId, taskStore }) =>
      await taskStore.getTask(taskId),
    getTaskResult: async (_, { taskId, taskStore }) => {
      const { content } = await taskStore.getTaskResult(taskId);
      return { content: z.array(z.any()).parse(content) };
    },
  });
  const update = taskStore.updateTaskStatus.bind(taskStore);
  taskStore.updateTaskStatus = async (...args) => {
    await update(...args);
    if (args[1] === "cancelled") ended.resolve();
  };
  return {
    connect: () =>
      connectInProcess(server, {
        requestMs: 60_000,
        signal: new AbortController().signal,
      }),
    cancelled: ended.promise,
    taskStore,
  };
}

Deno.test("a tool that is a task alone is called as one: to its result, with its texts as progress, and a failure is one", async () => {
  const { connect, taskStore } = taskServer();
  const connection = await connect();
  await connection.listTools();
  const messages: unknown[] = [];
  const { content } = await connection.callTool("work", { ends: "well" }, {
    onProgress: ({ message }) => messages.push(message),
  });
  assertEquals(content[0]?.text, "done, ttl 3600000");
  assertEquals(messages, ["half done"]);
  const failed = await connection.callTool("work", { ends: "failed" }, {});
  assertEquals(failed.content[0]?.text, "it broke");
  assertEquals(failed.isError, true);
  await connection.close();
  taskStore.cleanup();
});

Deno.test("the end of a call cancels its task", async () => {
  const { connect, cancelled, taskStore } = taskServer();
  const connection = await connect();
  await connection.listTools();
  const abort = new AbortController();
  await assertRejects(() =>
    connection.callTool("work", { ends: "never" }, {
      signal: abort.signal,
      onProgress: () => abort.abort("enough"),
    })
  );
  await cancelled;
  await connection.close();
  taskStore.cleanup();
});

Deno.test("a tool that is a task alone is left out where its server runs no tasks", async () => {
  const { connect, taskStore } = taskServer({ runsTasks: false });
  const connection = await connect();
  assertEquals(await connection.listTools(), {
    tools: [],
    problems: [
      'tool "work" is left out: it can be called as a task alone, and the server runs no calls as tasks',
    ],
  });
  await connection.close();
  taskStore.cleanup();
});

Deno.test("the reference server's task asks its question and ends", async () => {
  await using host = await startHost({ everything: everything() }, {
    connect: (config, signal) => connectMcp(config, signal, { elicits: true }),
  });
  const asked: unknown[] = [];
  const answer: AnswerQuestion = ({ message }) => {
    asked.push(message);
    return Promise.resolve({
      action: "accept",
      content: { interpretation: "snake" },
    });
  };
  const messages: string[] = [];
  const { content } = await connectionOf(host, "everything").callTool(
    "simulate-research-query",
    { topic: "python", ambiguous: true },
    { answer, onProgress: ({ message }) => messages.push(String(message)) },
  );
  assertStringIncludes(String(content[0]?.text), "python (snake)");
  assertEquals(asked.length, 1);
  assert(messages.includes("Analyzing content..."), String(messages));
});
