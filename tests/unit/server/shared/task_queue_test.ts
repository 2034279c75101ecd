import { assertEquals } from "@std/assert";
import { createTaskQueue } from "../../../../server/shared/task_queue.ts";

Deno.test("createTaskQueue() runs a task synchronously when idle, and others in order", async () => {
  const failures: unknown[] = [];
  const order: string[] = [];
  const enqueue = createTaskQueue((error) => failures.push(error));
  const gate = Promise.withResolvers<void>();
  assertEquals(enqueue(() => void order.push("at once")), undefined);
  assertEquals(order, ["at once"]);
  const first = enqueue(async () => {
    order.push("begins");
    await gate.promise;
    order.push("ends");
  });
  const second = enqueue(() => void order.push("second"));
  assertEquals(order, ["at once", "begins"]);
  gate.resolve();
  await Promise.all([first, second]);
  assertEquals(order, ["at once", "begins", "ends", "second"]);
  assertEquals(enqueue(() => void order.push("idle again")), undefined);
  assertEquals(order.at(-1), "idle again");
  assertEquals(failures, []);
});

Deno.test("createTaskQueue() continues after a task that throws or rejects", async () => {
  const failures: unknown[] = [];
  const order: number[] = [];
  const enqueue = createTaskQueue((error) => failures.push(error));
  enqueue(() => {
    throw "thrown";
  });
  const rejected = enqueue(() => Promise.reject("rejected"));
  await Promise.all([rejected, enqueue(() => void order.push(1))]);
  assertEquals(failures, ["thrown", "rejected"]);
  assertEquals(order, [1]);
});

Deno.test("createTaskQueue() runs a task that is added by another one after that one", async () => {
  const order: string[] = [];
  const enqueue = createTaskQueue(() => {});
  let inner: Promise<void> | undefined;
  enqueue(() => {
    inner = enqueue(() => void order.push("inner"));
    order.push("outer");
  });
  await inner;
  assertEquals(order, ["outer", "inner"]);
});
