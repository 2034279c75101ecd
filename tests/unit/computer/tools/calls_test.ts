import { Buffer } from "node:buffer";
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { jsonBytes } from "../../../../client/message_limits.ts";
import { BlobStore } from "../../../../computer/blobs/store.ts";
import {
  callFingerprint,
  CallTable,
  limitResult,
  type MeasuredResult,
  measureResult,
  moveOut,
} from "../../../../computer/tools/results.ts";
import {
  checkVrl,
  runtimeErrorText,
  transformResult,
} from "../../../../computer/util/vrl.ts";
import {
  type CallToolResult,
  ProtocolError,
  resultMeta,
  type ToolCallReq,
} from "../../../../protocol/mod.ts";
import { keepWritten, writtenOf } from "../../../../shared/json/written.ts";

const request = (over: Partial<ToolCallReq> = {}): ToolCallReq => ({
  agent: "planner",
  req_id: "1",
  computer: "pc",
  tool_name: "echo",
  params: { a: 1, b: { c: [1], d: 2 } },
  timeout: 30,
  ...over,
});

const result = (text: string) =>
  measureResult({ content: [{ type: "text", text }] });

/** A table; calls that end at once with a text, and one that ends when the test says so. */
function setup() {
  const table = new CallTable();
  const { promise, resolve } = Promise.withResolvers<MeasuredResult>();
  const signals: AbortSignal[] = [];
  return {
    table,
    /** Runs a call that ends with this text; returns the text of its result. */
    run: async (text: string, over?: Partial<ToolCallReq>) => {
      const { result: { content } } = await table.run(
        request(over),
        () => Promise.resolve(result(text)),
      );
      return content[0]?.text;
    },
    start: (over?: Partial<ToolCallReq>) =>
      table.run(request(over), (signal) => {
        signals.push(signal);
        return promise;
      }),
    /** Ends all that were started. */
    end: () => resolve(result("done")),
    signals,
  };
}

Deno.test("CallTable shares one execution among equal requests while it runs", async () => {
  const { table, start, end, signals } = setup();
  const again = { timeout: 5, params: { b: { d: 2, c: [1] }, a: 1 } };
  const both = [start(), start(again)];
  assertEquals(table.running, 1);
  end();
  assertEquals(await Promise.all(both), [result("done"), result("done")]);
  assertEquals([signals.length, table.running], [1, 0]);
});

Deno.test("CallTable answers a repeated request from its store after it ended well, and keeps agents and ids apart", async () => {
  const { table, run } = setup();
  const broken = () => Promise.reject(new Error("broken"));
  await assertRejects(() => table.run(request(), broken), Error, "broken");
  assertEquals(await run("first"), "first");
  assertEquals(await run("second"), "first");
  assertEquals(await run("2", { req_id: "2" }), "2");
  assertEquals(await run("other", { agent: "other" }), "other");
});

Deno.test("CallTable refuses a req_id used for another tool or other params with 400", async () => {
  const { start, end } = setup();
  const running = start();
  for (const ended of [false, true]) {
    if (ended) {
      end();
      await running;
    }
    for (const over of [{ tool_name: "other" }, { params: {} }]) {
      const error = await assertRejects(
        () => start(over),
        ProtocolError,
        '"1"',
      );
      assertEquals(error.code, 400);
    }
  }
});

Deno.test("CallTable.cancel() aborts only a running call, and takes a reason that is none of its own for absence (protocol §7)", async () => {
  const planner = { agent: "planner", req_id: "1" };
  const rows: [cancel: Record<string, unknown>, reason: unknown][] = [
    [{ agent: "other", req_id: "1" }, undefined],
    [{ agent: "planner", req_id: "3" }, undefined],
    [planner, "cancelled"],
    [{ ...planner, reason: "timeout" }, "timeout"],
    [{ ...planner, reason: "operator" }, "operator"],
    [{ ...planner, reason: "left" }, "cancelled"],
    [{ ...planner, reason: { any: "thing" } }, "cancelled"],
  ];
  for (const [cancel, reason] of rows) {
    const { table, start, end, signals } = setup();
    const calls = [start(), start({ req_id: "2" })];
    table.cancel(Object(cancel));
    assertEquals(signals.map((signal) => signal.reason), [reason, undefined]);
    end();
    await Promise.all(calls);
    table.cancel(Object(cancel));
  }
});

Deno.test("CallTable.clear() aborts running calls and forgets all results", async () => {
  const { table, run, start, end, signals } = setup();
  const running = start();
  await run("old", { req_id: "2" });
  table.clear();
  assertEquals(signals[0]?.reason, "left");
  const next = Promise.withResolvers<MeasuredResult>();
  const again = table.run(request(), () => next.promise);
  end();
  await running;
  assertEquals(table.running, 1);
  next.resolve(result("next"));
  await again;
  assertEquals([await run("new"), await run("new", { req_id: "2" })], [
    "next",
    "new",
  ]);
});

Deno.test("callFingerprint() distinguishes tools and params, ignores the order of keys, and is short", () => {
  const print = (tool_name: string, params: Record<string, unknown>) =>
    callFingerprint({ tool_name, params });
  const a = "a".repeat(10_000);
  const b = "b".repeat(10_000);
  const same = [
    [{ x: 1, y: [{ p: 1, q: 2 }] }, { y: [{ q: 2, p: 1 }], x: 1 }],
    [{ a, b }, { b, a }],
  ];
  for (const [one = {}, two = {}] of same) {
    assertEquals(print("a", one), print("a", two));
  }
  const different = [
    print("a", {}),
    print("b", {}),
    ...[1, "1", [1, 2], [2, 1]].map((x) => print("a", { x })),
    print("a", { a, b }),
    print("a", { a, b: `${b}y` }),
  ];
  assertEquals(new Set(different).size, different.length);
  assert(different.every(({ length }) => length < 100));
});

Deno.test("CallTable respects its limits, drops the oldest first, and keeps which calls ran", async () => {
  const many = setup();
  for (let i = 0; i <= 1_000; i++) await many.run("x", { req_id: `${i}` });
  const again = (req_id: string) => many.run("again", { req_id });
  assertEquals([await again("1"), await again("0")], ["x", "again"]);

  const { run, start } = setup();
  const [half, all] = [9, 17].map((size) => "x".repeat(size * 2 ** 20));
  const kept = async () => {
    const ids = ["a", "b", "c", "d"];
    const texts = await Promise.all(ids.map((req_id) => run("", { req_id })));
    return texts.map((text) =>
      /too large to keep/.test(text ?? "") ? "shrunk" : text?.length
    );
  };
  for (const req_id of ["a", "b", "c"]) await run("x", { req_id });
  assertEquals(await run(half ?? "", { req_id: "d" }), half);
  assertEquals(await kept(), [1, 1, 1, half?.length]);
  assertEquals(await run(half ?? "", { req_id: "e" }), half);
  assertEquals(await kept(), ["shrunk", "shrunk", "shrunk", "shrunk"]);
  assertEquals(await run(all ?? "", { req_id: "f" }), all);
  assertStringIncludes(await run("", { req_id: "f" }) ?? "", "too large");
  assertEquals(await run("", { req_id: "e" }), half);
  const other = { req_id: "f", tool_name: "other" };
  await assertRejects(() => start(other), ProtocolError, '"f"');
});

Deno.test("limitResult() passes results within the limit, and states both sizes of larger ones", () => {
  const nested = (levels: number): Record<string, unknown> =>
    levels === 1 ? {} : { inner: nested(levels - 1) };
  const deep = (levels: number) =>
    measureResult({ content: [], structuredContent: nested(levels - 1) });
  const wide = result("ü€😀".repeat(100));
  const bytes = new TextEncoder().encode(JSON.stringify(wide.result)).length;
  assertEquals([wide.bytes, jsonBytes(wide.result)], [bytes, bytes]);
  type Row = [given: MeasuredResult, most: number | undefined, fits: boolean];
  const rows: Row[] = [
    [wide, bytes + 64, true], // with room for the packet around it
    [wide, bytes + 63, false],
    [wide, undefined, true],
    [deep(63), undefined, true],
    [deep(64), undefined, false],
  ];
  for (const [given, most, fits] of rows) {
    const limited = limitResult(given, most).result;
    if (fits) assertEquals(limited, given.result);
    else {
      assertEquals([limited.isError, resultMeta(limited)], [true, {
        error_code: 4003,
      }]);
      const text = String(limited.content[0]?.text);
      for (const size of most ? [`${bytes} bytes`, `${most}`] : []) {
        assertStringIncludes(text, size);
      }
    }
  }
});

Deno.test("moveOut() keeps every byte of content that is decoded in slices", async () => {
  const maxBytes = 16 * 2 ** 20;
  const store = new BlobStore({
    maxBytes,
    memoryBytes: maxBytes,
    directory: tmpdir(),
  });
  for (const size of [3 * 2 ** 20, 3 * 2 ** 20 + 1, 7_000_000]) {
    const bytes = Buffer.alloc(size, "every byte counts");
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const data = bytes.toString("base64");
    const { content } = await moveOut(
      { content: [{ type: "image", mimeType: "image/png", data }] },
      store,
      1_000,
    );
    assertEquals(content[0]?._meta?.a2c_sha256, sha256);
    assertEquals(content[0]?._meta?.a2c_total_size, size);
  }
  await store.close();
});

Deno.test("transformResult() adds the output of a program on the result and its call as JSON to meta and _meta, and nothing if it fails", async () => {
  const content = [{ type: "text" as const, text: "hello" }];
  const call = { tool_name: "greet", parameters: { who: "ann" } };
  const result = { structuredContent: { n: 1 } };
  const _meta = { origin: "x" };
  const rows: [over: object, program: string, output?: unknown][] = [
    [result, ".", { content, isError: false, ...call, ...result }],
    [{ isError: true, _meta }, ".seen = true\ndel(.content)", {
      isError: true,
      ...call,
      _meta,
      seen: true,
    }],
    [result, ". = 1", 1],
    [result, ". = null", null],
    [result, "abort"],
    [result, '.n = to_int!("x")'],
  ];
  for (const [over, program, output] of rows) {
    const given: CallToolResult = { content, ...over };
    const { parameters, tool_name: tool } = call;
    const { meta, ...after } = await transformResult(
      structuredClone(given),
      program,
      { server: "s", tool, parameters },
    );
    const { a2c_vrl_transformed: text, ...others } = meta ?? {};
    const isAdded = output !== undefined;
    assertEquals(isAdded ? JSON.parse(String(text)) : text, output, program);
    assertEquals(after, { ...given, ...(isAdded && { _meta: meta }) }, program);
    assertEquals(others, given._meta ?? {}, program);
  }
});

Deno.test("checkVrl() refuses a program that does not compile, with the compiler's message, the line and a caret, without its notes", async () => {
  await checkVrl(".a = 1");
  await checkVrl(null);
  const rows: [program: string, said: string][] = [
    [
      "this is no VRL",
      "syntax error (line 1, column 6)\n  this is no VRL\n       ^",
    ],
    [
      '.a = 1\n.b = "ööö" + nosuch!(.c)\n.d = 1',
      'call to undefined function: undefined function (line 2, column 14)\n  .b = "ööö" + nosuch!(.c)\n               ^',
    ],
  ];
  for (const [program, said] of rows) {
    const { message } = await assertRejects(() => checkVrl(program), Error);
    assertEquals(message, `Cannot compile the VRL program: ${said}`);
  }
});

Deno.test("runtimeErrorText() describes where a program failed, without its data", () => {
  const place =
    'function call error for "to_int" at (12:28): Invalid integer "hunter2"';
  const rows: [message: string, text: string][] = [
    [place, "its function to_int failed in line 2, column 6"],
    ["hunter2", "it aborted, or a step of it failed"],
  ];
  for (const [message, text] of rows) {
    const program = ".a = 1\n.x = to_int!(.secret)";
    assertEquals(runtimeErrorText(program, `Termination;\n${message}`), text);
  }
});

/** A result as an MCP server has written it. */
function writtenResult(json: string): CallToolResult {
  const result = JSON.parse(json);
  keepWritten(result, new TextEncoder().encode(json), (most) => most);
  return result;
}

Deno.test("measureResult() takes the size of a text as it was written, where it is certain to fit when it is written anew", () => {
  const numbers = "1e20,".repeat(100) + "1e20";
  const json = `{"content":[],"structuredContent":{"a":[${numbers}]}}`;
  const result = writtenResult(json);
  const anew = JSON.stringify(result).length;
  assert(anew > 3 * json.length);
  for (const most of [undefined, anew * 2]) {
    assertEquals(measureResult(result, most).bytes, json.length);
  }
  for (const most of [anew + 100, anew, json.length]) {
    assertEquals(measureResult(result, most).bytes, anew, `at most ${most}`);
  }
  result.content.push({ type: "text", text: "changed" });
  assertEquals(measureResult(result).bytes, JSON.stringify(result).length);
});

Deno.test("measureResult() never lets a text be sent that is longer than the size that it returns", () => {
  const json = `{"content":[],${" ".repeat(1_000)}"isError":false}`;
  const result = writtenResult(json);
  for (const most of [undefined, 7_000, 6_000, 1_000]) {
    const measured = measureResult(result, most);
    const { length = 0 } = writtenOf(measured.result) ?? {};
    assert(length <= measured.bytes, `at most ${most}`);
    assertEquals(length > 0, most !== 6_000 && most !== 1_000);
  }
});

Deno.test("CallTable answers a repeated request from a text as it was written", async () => {
  const { table } = setup();
  const json = '{"content":[{"text": "\\u00e9€", "type":"text"}]}';
  const run = (given: string) =>
    table.run(
      request(),
      () => Promise.resolve(measureResult(writtenResult(given))),
    );
  const first = await run(json);
  assertEquals(first.bytes, new TextEncoder().encode(json).length);
  const again = await run("{}");
  assertEquals(again.result, JSON.parse(json));
});
