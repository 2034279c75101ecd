import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import {
  type MeasuredResult,
  measureResult,
} from "../../../../computer/tools/results.ts";
import {
  callFingerprint,
  CallTable,
  ResultStore,
} from "../../../../computer/tools/call_table.ts";
import { ProtocolError, type ToolCallReq } from "../../../../protocol/mod.ts";

const request = (over: Partial<ToolCallReq> = {}): ToolCallReq => ({
  agent: "planner",
  req_id: "1",
  computer: "pc",
  tool_name: "echo",
  params: { a: 1, b: { c: [1], d: 2 } },
  timeout: 30,
  ...over,
});

const result = (text: string): MeasuredResult =>
  measureResult({ content: [{ type: "text", text }] });

/** An execution that ends when told. */
function execution() {
  const { promise, resolve, reject } = Promise.withResolvers<MeasuredResult>();
  const signals: AbortSignal[] = [];
  return {
    run: (signal: AbortSignal) => {
      signals.push(signal);
      return promise;
    },
    end: resolve,
    break: reject,
    signals,
  };
}

Deno.test("CallTable shares one execution among equal requests while it runs", async () => {
  const table = new CallTable();
  const work = execution();
  const both = [
    table.run(request(), work.run),
    table.run(
      request({ timeout: 5, params: { b: { d: 2, c: [1] }, a: 1 } }),
      work.run,
    ),
  ];
  assertEquals(table.running, 1);
  work.end(result("done"));
  assertEquals(await Promise.all(both), [result("done"), result("done")]);
  assertEquals(work.signals.length, 1);
  assertEquals(table.running, 0);
});

Deno.test("CallTable answers a repeated request from its store after it ended", async () => {
  const table = new CallTable();
  await table.run(request(), () => Promise.resolve(result("first")));
  assertEquals(
    await table.run(request(), () => Promise.resolve(result("second"))),
    result("first"),
  );
});

Deno.test("CallTable keeps the calls of different agents and ids apart", async () => {
  const table = new CallTable();
  const run = (over: Partial<ToolCallReq>) =>
    table.run(
      request(over),
      () => Promise.resolve(result(JSON.stringify(over))),
    );
  for (const over of [{}, { req_id: "2" }, { agent: "other" }]) {
    assertEquals(await run(over), result(JSON.stringify(over)));
  }
});

Deno.test("CallTable refuses a req_id used for another tool or other params with 400", async () => {
  const table = new CallTable();
  const work = execution();
  const running = table.run(request(), work.run);
  const refused = async () => {
    for (const over of [{ tool_name: "other" }, { params: {} }]) {
      const error = await assertRejects(
        () => table.run(request(over), work.run),
        ProtocolError,
        '"1"',
      );
      assertEquals(error.code, 400);
    }
  };
  await refused();
  work.end(result("done"));
  await running;
  await refused();
});

Deno.test("CallTable.cancel() takes a reason that is none of its own for absence (spec §7.6)", () => {
  for (
    const [reason, aborted] of [
      ["timeout", "timeout"],
      ["operator", "operator"],
      ["left", "cancelled"],
      [{ any: "thing" }, "cancelled"],
    ]
  ) {
    const table = new CallTable();
    const work = execution();
    void table.run(request(), work.run);
    table.cancel(Object({ agent: "planner", req_id: "1", reason }));
    assertEquals(work.signals[0]?.reason, aborted);
  }
});

Deno.test("CallTable.cancel() aborts only a running call", async () => {
  const table = new CallTable();
  const [one, two] = [execution(), execution()];
  const calls = [
    table.run(request(), one.run),
    table.run(request({ req_id: "2" }), two.run),
  ];
  table.cancel({ agent: "other", req_id: "1" });
  table.cancel({ agent: "planner", req_id: "3" });
  assertEquals(one.signals[0]?.aborted, false);
  table.cancel({ agent: "planner", req_id: "1" });
  assertEquals(one.signals[0]?.reason, "cancelled");
  assertEquals(two.signals[0]?.aborted, false);
  one.end(result("1"));
  two.end(result("2"));
  await Promise.all(calls);
  table.cancel({ agent: "planner", req_id: "1" });
});

Deno.test("CallTable.clear() aborts running calls and forgets all results", async () => {
  const table = new CallTable();
  const work = execution();
  const running = table.run(request(), work.run);
  await table.run(
    request({ req_id: "2" }),
    () => Promise.resolve(result("old")),
  );
  table.clear();
  assertEquals(work.signals[0]?.reason, "left");
  work.end(result("late"));
  await running;
  for (const req_id of ["1", "2"]) {
    assertEquals(
      await table.run(
        request({ req_id }),
        () => Promise.resolve(result("new")),
      ),
      result("new"),
    );
  }
});

Deno.test("CallTable does not store a call that threw", async () => {
  const table = new CallTable();
  await assertRejects(() =>
    table.run(request(), () => Promise.reject(new Error("broken")))
  );
  assertEquals(
    await table.run(request(), () => Promise.resolve(result("fine"))),
    result("fine"),
  );
});

Deno.test("callFingerprint() distinguishes tools and params, and ignores the order of keys", () => {
  const print = (tool_name: string, params: Record<string, unknown>) =>
    callFingerprint({ tool_name, params });
  assertEquals(
    print("a", { x: 1, y: [{ p: 1, q: 2 }] }),
    print("a", { y: [{ q: 2, p: 1 }], x: 1 }),
  );
  const different = [
    print("a", {}),
    print("b", {}),
    print("a", { x: 1 }),
    print("a", { x: "1" }),
    print("a", { x: [1, 2] }),
    print("a", { x: [2, 1] }),
  ];
  assertEquals(new Set(different).size, different.length);
});

Deno.test("callFingerprint() is short for params of any size, and distinguishes large ones", () => {
  const print = (last: string, order: "ab" | "ba") =>
    callFingerprint({
      tool_name: "a",
      params: Object.fromEntries(
        [...order].map((key) => [key, key.repeat(10_000) + last]),
      ),
    });
  assertEquals(print("x", "ab"), print("x", "ba"));
  assert(print("x", "ab") !== print("y", "ab"));
  assert(print("x", "ab").length < 100);
});

Deno.test("ResultStore respects its limits, drops the oldest first, and still knows which calls ran", () => {
  const stored = (text: string) => ({
    fingerprint: text,
    ...result(text),
  });
  const known = (store: ResultStore) =>
    ["a", "b", "c"].filter((key) => store.get(key));
  const kept = (store: ResultStore) =>
    known(store).filter((key) => !store.get(key)?.result.isError);
  const size = result("x").bytes;

  const few = new ResultStore({ count: 2, bytes: 1_000_000 });
  for (const key of ["a", "b", "c"]) few.add(key, stored("x"));
  assertEquals([known(few), kept(few)], [["b", "c"], ["b", "c"]]);

  const small = new ResultStore({ count: 10, bytes: 2 * size });
  for (const key of ["a", "b", "c"]) small.add(key, stored("x"));
  assertEquals(kept(small), ["b", "c"]);
  small.add("a", stored("x".repeat(size * 3)));
  assertEquals([known(small), kept(small)], [["a", "b", "c"], ["b", "c"]]);
  assertEquals(small.get("a")?.fingerprint, "x".repeat(size * 3));
  assertStringIncludes(
    small.get("a")?.result.content[0]?.text ?? "",
    "too large to keep",
  );
  small.clear();
  assertEquals(known(small), []);
});
