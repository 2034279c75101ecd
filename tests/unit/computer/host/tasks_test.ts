import { assertEquals, assertRejects } from "@std/assert";
// @ts-types="@modelcontextprotocol/sdk/types"
import { McpError } from "@modelcontextprotocol/sdk/types.js";
import {
  finished,
  isTaskOnly,
  runsTasks,
  type TaskPort,
} from "../../../../computer/host/mcp/tasks.ts";
import { hurryTimers } from "../../../support/timers.ts";

type Json = Record<string, unknown>;

/** A server that answers questions about a task in this order, the last one again and again. */
function portOf(
  answers: Record<string, (Json | Error)[]>,
  more: Partial<TaskPort> = {},
) {
  const sent: [method: string, params: Json][] = [];
  const reported: string[] = [];
  const port: TaskPort = {
    request: (method, params) => {
      sent.push([method, params]);
      const [next = {}, ...rest] = answers[method] ?? [];
      if (rest.length > 0) answers[method] = rest;
      return next instanceof Error
        ? Promise.reject(next)
        : Promise.resolve(next);
    },
    answers: (asked) =>
      Promise.resolve(
        Object.fromEntries(Object.keys(asked).map((key) => [key, "answer"])),
      ),
    report: (message) => void reported.push(message),
    signal: new AbortController().signal,
    ...more,
  };
  return { port, sent, reported, methods: () => sent.map(([name]) => name) };
}

const ID = { taskId: "t" };
const WORKING = { ...ID, status: "working", pollInterval: 50 };

Deno.test("a result that is no task is returned as it is, and nothing is asked", async () => {
  const { port, sent } = portOf({});
  for (
    const result of [
      { content: [] },
      { resultType: "complete", taskId: "t" },
      { task: { status: "working" } },
      { task: null },
      { resultType: "task" },
    ]
  ) assertEquals(await finished(result, port), result);
  assertEquals(sent, []);
});

Deno.test("a task of 2025-11-25 ends with its result, a failed one too; each text is reported once", async () => {
  using _ = hurryTimers(50);
  for (const status of ["completed", "failed", "input_required"]) {
    const { port, reported, methods } = portOf({
      "tasks/get": [
        { ...WORKING, statusMessage: "one" },
        { task: { ...WORKING, statusMessage: "two" } },
        { ...WORKING, statusMessage: "two" },
        { ...WORKING, status },
      ],
      "tasks/result": [{ content: ["x"] }],
    });
    assertEquals(await finished({ task: WORKING }, port), { content: ["x"] });
    assertEquals(reported, ["one", "two"]);
    assertEquals(methods(), [...Array(4).fill("tasks/get"), "tasks/result"]);
  }
});

Deno.test("a task that is cancelled at its server fails with its text; one whose result is an error fails with that", async () => {
  using _ = hurryTimers(50);
  const cancelled = { ...WORKING, status: "cancelled", statusMessage: "why" };
  for (
    const result of [{ task: WORKING }, { resultType: "task", ...WORKING }]
  ) {
    const { port, methods } = portOf({ "tasks/get": [cancelled] });
    await assertRejects(() => finished(result, port), McpError, "why");
    assertEquals(methods(), ["tasks/get"]);
  }
  const { port, methods } = portOf({
    "tasks/result": [new McpError(-5, "broke")],
  });
  const done = { task: { ...WORKING, status: "failed" } };
  await assertRejects(() => finished(done, port), McpError, "broke");
  assertEquals(methods(), ["tasks/result"]);
});

Deno.test("a task of the extension ends with the result in it, answers each question once, and fails with its error", async () => {
  using _ = hurryTimers(50);
  const first = { resultType: "task", ...WORKING };
  const asking = {
    ...WORKING,
    status: "input_required",
    inputRequests: { a: {}, b: {} },
  };
  const more = { ...asking, inputRequests: { b: {}, c: {} } };
  const { port, sent } = portOf({
    "tasks/get": [
      asking,
      asking,
      more,
      { ...WORKING, status: "completed" },
      { ...WORKING, status: "completed", result: { content: [] } },
    ],
  });
  assertEquals(await finished(first, port), { content: [] });
  assertEquals(
    sent.filter(([method]) => method === "tasks/update"),
    [
      ["tasks/update", { ...ID, inputResponses: { a: "answer", b: "answer" } }],
      ["tasks/update", { ...ID, inputResponses: { c: "answer" } }],
    ],
  );
  const rows: [fields: Json, code: number, text: string][] = [
    [{ error: { code: -7, message: "broke" } }, -7, "broke"],
    [{ statusMessage: "why" }, -32603, "why"],
    [{ error: "odd" }, -32603, "The task failed"],
  ];
  for (const [fields, code, text] of rows) {
    const { port } = portOf({
      "tasks/get": [{ ...WORKING, status: "failed", ...fields }],
    });
    const error = await assertRejects(
      () => finished(first, port),
      McpError,
      text,
    );
    assertEquals(error.code, code);
  }
});

Deno.test("a task is cancelled when its call ends, or its server cannot be reached, and not when it has answered with an error", async () => {
  const rows: [error: Error | undefined, cancels: boolean][] = [
    [undefined, true],
    [new Error("lost"), true],
    [new McpError(-32000, "Connection closed"), true],
    [new McpError(-32001, "Request timed out"), true],
    [new McpError(-5, "unknown task"), false],
  ];
  for (const [error, cancels] of rows) {
    using _ = hurryTimers(50);
    const end = new AbortController();
    const { port, methods } = portOf(
      {
        "tasks/get": [error ?? { ...WORKING, statusMessage: "on" }],
        "tasks/cancel": [new Error("unknown task")],
      },
      { signal: end.signal, report: () => end.abort("enough") },
    );
    await finished({ task: WORKING }, port).then(
      () => Promise.reject(new Error("it ended")),
      () => {},
    );
    assertEquals(methods().includes("tasks/cancel"), cancels, `${error}`);
  }
});

Deno.test("a task is looked at as often as its server names, within bounds", async () => {
  const rows: [named: Json, ms: number][] = [
    [{ pollIntervalMs: 200, pollInterval: 300 }, 200],
    [{ pollInterval: 300 }, 300],
    [{}, 1_000],
    [{ pollInterval: "soon" }, 1_000],
    [{ pollInterval: 1 }, 50],
    [{ pollIntervalMs: 1e9 }, 60_000],
  ];
  for (const [named, ms] of rows) {
    using timers = hurryTimers(50, 200, 300, 1_000, 60_000);
    const { port } = portOf({ "tasks/get": [{ ...ID, status: "completed" }] });
    await finished({ task: { ...ID, status: "working", ...named } }, port);
    assertEquals(timers.armed, [ms]);
  }
});

Deno.test("a tool is a task alone where it says so, and servers run calls as tasks where they declare it", () => {
  const only = (taskSupport: unknown) =>
    isTaskOnly({ execution: { taskSupport } });
  assertEquals(
    ["required", "optional", "forbidden", undefined].map(only),
    [true, false, false, false],
  );
  assertEquals(
    [isTaskOnly(null), isTaskOnly({}), isTaskOnly({ execution: 1 })],
    [
      false,
      false,
      false,
    ],
  );
  const call = { requests: { tools: { call: {} } } };
  assertEquals(
    [{}, { tasks: {} }, { tasks: { requests: {} } }, { tasks: call }]
      .map(runsTasks),
    [false, false, false, true],
  );
});
