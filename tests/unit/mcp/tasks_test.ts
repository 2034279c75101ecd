import { assert, assertEquals, assertThrows } from "@std/assert";
import type * as Mcp from "@modelcontextprotocol/server";
import { ownerOf } from "../../../shared/gateway.ts";
import { RunningCall } from "../../../mcp/tasks/running_call.ts";
import type { Task } from "../../../mcp/tasks/task.ts";
import { TaskTable } from "../../../mcp/tasks/task_table.ts";
import {
  listenForTasks,
  taskEvent,
  withTasks,
} from "../../../mcp/tasks/task_listening.ts";
import { TestClock } from "../../support/clock.ts";

const KEPT_MS = 30 * 60_000;
const MIB = 2 ** 20;

/** The clock of the machine, which goes with the timers, and ahead of them in sleep. */
class MachineClock extends TestClock {
  readonly #now = Date.now;
  #slept = 0;

  constructor() {
    super();
    Date.now = () => 1_800_000_000_000 + this.time + this.#slept;
  }

  sleep(ms: number): void {
    this.#slept += ms;
  }

  override [Symbol.dispose](): void {
    Date.now = this.#now;
    super[Symbol.dispose]();
  }
}

/** A table whose tasks note what ends with them. */
function startTable() {
  const ends: string[] = [];
  const table = new TaskTable(() => () => ends.push("released"));
  return {
    ends,
    table,
    begin: (principal = "ann", ttlMs = 1_000) =>
      table.begin({ principal }, ttlMs, (why) => ends.push(why)),
    find: (id: string, principal = "ann") =>
      table.find(id, ownerOf({ principal })),
    [Symbol.dispose]: () => table.close(),
  };
}

/** The task, which there must be. */
function there(task: Task | undefined): Task {
  assert(task);
  return task;
}

const textOf = (result: Mcp.Result | undefined) => Object(result).content;

const text = (letters: string): Mcp.Result => ({
  content: [{ type: "text", text: letters }],
});

Deno.test("an open task is cancelled when its time is over, and forgotten", () => {
  using clock = new MachineClock();
  using tasks = startTable();
  const { id } = there(tasks.begin());
  clock.pass(999);
  assertEquals(tasks.find(id)?.describe().ttlMs, 1_000);
  assertEquals(tasks.ends, []);
  clock.pass(1);
  assertEquals(tasks.find(id), undefined);
  assertEquals(tasks.ends, ["released", "its time is over"]);
  assertEquals(clock.timers, 0);
});

Deno.test("the time of a task passes while the machine sleeps", () => {
  using clock = new MachineClock();
  using tasks = startTable();
  const { id } = there(tasks.begin());
  clock.sleep(1_000);
  assertEquals(tasks.find(id), undefined);
  assertEquals(tasks.ends, ["released", "its time is over"]);
});

Deno.test("a result is kept for the time that its task names", () => {
  using clock = new MachineClock();
  using tasks = startTable();
  const task = there(tasks.begin());
  clock.pass(500);
  task.end({ status: "completed", result: text("done") });
  assertEquals(tasks.ends, ["released"]);
  assertEquals(task.describe().ttlMs, 500 + KEPT_MS);
  clock.pass(KEPT_MS - 1);
  assertEquals(tasks.find(task.id), task);
  clock.pass(1);
  assertEquals(tasks.find(task.id), undefined);
  assertEquals(tasks.ends, ["released"]);
});

Deno.test("the end that comes first counts: nothing changes an ended task", () => {
  using tasks = startTable();
  const task = there(tasks.begin());
  task.end({ status: "completed", result: text("done") });
  const before = task.describe();
  task.cancel("too late");
  task.note("copying", true);
  task.end({ status: "failed", error: { code: 1, message: "no" } });
  void task.ask({}, 1);
  assertEquals(task.describe(), before);
  assertEquals(tasks.ends, ["released"]);
});

Deno.test("a principal has 1,000 tasks, an office 5,000; others stay requests", () => {
  using tasks = startTable();
  for (const owner of ["a", "b", "c", "d", "e"]) {
    for (let count = 0; count < 1_000; count++) there(tasks.begin(owner));
    assertEquals(tasks.begin(owner), undefined);
  }
  assertEquals(tasks.begin("f"), undefined);
});

Deno.test("results that take too much room become errors: read ones first, then the oldest", () => {
  using tasks = startTable();
  const [first, read, other, last] = ["ann", "ann", "bob", "ann"].map((owner) =>
    there(tasks.begin(owner))
  );
  assert(first && read && other && last);
  const end = (task: Task, mib: number) =>
    task.end({ status: "completed", result: text("x".repeat(mib * MIB)) });
  for (const task of [first, read, other]) end(task, 7);
  read.isFetched = true;
  end(last, 5);
  const kept = [first, read, other, last].map(({ result }) => !result?.isError);
  assertEquals(kept, [true, false, true, true]);
  assertEquals(
    tasks.find(read.id)?.describe().status,
    "completed",
  );
  assertEquals(textOf(other.result)[0].text.length, 7 * MIB);
});

Deno.test("questions of a task have names that are used once; each is answered for itself", async () => {
  using tasks = startTable();
  const task = there(tasks.begin());
  const question = {
    method: "elicitation/create" as const,
    params: {
      message: "?",
      requestedSchema: { type: "object" as const, properties: {} },
    },
  };
  const asked = task.ask({ a: question, b: question }, 1_000);
  const open = () => Object.keys(Object(task.describe()).inputRequests ?? {});
  assertEquals(open(), ["1.a", "1.b"]);
  task.answer({ "1.a": { action: "decline" }, c: 7 });
  assertEquals([task.describe().status, open()], ["input_required", ["1.b"]]);
  assertThrows(() => task.answer({ "1.b": { action: "maybe" } }));
  task.answer({ "1.a": { action: "accept" } }); // it is answered
  task.answer({ "1.b": { action: "cancel" } });
  assertEquals(task.describe().status, "working");
  assertEquals(await asked, {
    a: { action: "decline" },
    b: { action: "cancel" },
  });
  void task.ask({ a: question }, 1_000);
  assertEquals(open(), ["2.a"]);
});

Deno.test("a client cannot listen to a task by the name that it has on the way", () => {
  using tasks = startTable();
  const task = there(tasks.begin());
  const { uri } = Object(taskEvent(task.describe()));
  const listen = (principal: string) =>
    listenForTasks(
      {
        jsonrpc: "2.0",
        id: 1,
        method: "subscriptions/listen",
        params: {
          notifications: { taskIds: [task.id] },
          _meta: {
            "io.modelcontextprotocol/clientCapabilities": {
              extensions: { "io.modelcontextprotocol/tasks": {} },
            },
          },
        },
      },
      tasks.table,
      ownerOf({ principal }),
    );
  const urisOf = (message: unknown) =>
    Object(message).params.notifications.resourceSubscriptions;
  assertEquals(urisOf(listen("ann")), [uri]);
  assertEquals(urisOf(listen("bob")), []);
  assert(uri.length > task.id.length + 36); // it cannot be guessed
  const passed = { ...Object(task.describe()), uri };
  assertEquals(
    withTasks({
      jsonrpc: "2.0",
      method: "notifications/resources/updated",
      params: passed,
    }, tasks.table),
    [{
      jsonrpc: "2.0",
      method: "notifications/tasks",
      params: { ...task.describe() },
    }],
  );
});

/** How long a call runs before it becomes a task. */
const TASK_AFTER_MS = 8_000;

/** A call that the MCP SDK has no request of yet. */
function startCall(tasks: TaskTable) {
  let due = 0;
  const options = { callTimeoutMs: 60_000 };
  const running = new RunningCall({ tasks, options }, () => due++);
  /** Lets the MCP SDK answer it by a handler. */
  const answer = (
    handler: (signal: AbortSignal) => Promise<Mcp.Result>,
    signal = new AbortController().signal,
  ) =>
    running.answer((_, { mcpReq }) => handler(mcpReq.signal), {
      request: { jsonrpc: "2.0", id: 1, method: "tools/call" },
      context: Object({ mcpReq: { signal, notify: async () => {} } }),
    });
  return { running, answer, due: () => due };
}

const never = () => new Promise<never>(() => {});

Deno.test("a call that runs for long becomes a task once the MCP SDK has its request", async () => {
  using clock = new MachineClock();
  using tasks = startTable();
  const { answer, due } = startCall(tasks.table);
  clock.pass(TASK_AFTER_MS - 1);
  assertEquals([due(), tasks.table.size], [0, 0]);
  clock.pass(1);
  assertEquals([due(), tasks.table.size], [1, 0]);
  const { resultType, status } = Object(await answer(never));
  assertEquals([resultType, status], ["task", "working"]);
});

Deno.test("a call that waits before the MCP SDK has its request becomes a task that waits", async () => {
  using _ = new MachineClock();
  using tasks = startTable();
  const { running, answer, due } = startCall(tasks.table);
  running.report({ progress: 0, waiting: "confirmation" }, "pc");
  assertEquals([due(), running.isTask], [1, false]);
  const task = Object(await answer(never));
  assertEquals(task.statusMessage, "waits for confirmation at pc");
  assertEquals([due(), running.isTask], [1, true]);
});

Deno.test("a call whose client is gone before the MCP SDK has its request becomes no task, and is cancelled", async () => {
  using clock = new MachineClock();
  using tasks = startTable();
  const { answer, due } = startCall(tasks.table);
  clock.pass(TASK_AFTER_MS);
  const result = await answer(
    (signal) => Promise.resolve(text(String(signal.reason))),
    AbortSignal.abort("gone"),
  );
  assertEquals([due(), tasks.table.size], [1, 0]);
  assertEquals(result, text("gone"));
});

Deno.test("a call that has ended becomes no task", () => {
  using clock = new MachineClock();
  using tasks = startTable();
  const { running, due } = startCall(tasks.table);
  running.end();
  assertEquals(clock.timers, 0);
  clock.pass(TASK_AFTER_MS);
  assertEquals(due(), 0);
});
