import { assertEquals, assertRejects } from "@std/assert";
import {
  checkVrl,
  runtimeErrorText,
  transformResult,
  vrlEvent,
  withTransformed,
} from "../../../../computer/util/vrl.ts";
import type { CallToolResult } from "../../../../protocol/mod.ts";

const result: CallToolResult = {
  content: [{ type: "text", text: "hello" }],
  structuredContent: { n: 1 },
};
const call = { server: "s", tool: "greet", parameters: { who: "ann" } };

Deno.test("vrlEvent() returns the result with isError, tool_name and parameters", () => {
  assertEquals(vrlEvent(result, "greet", { who: "ann" }), {
    ...result,
    isError: false,
    tool_name: "greet",
    parameters: { who: "ann" },
  });
  assertEquals(
    vrlEvent({ content: [], isError: true, _meta: { a: 1 } }, "t", {}),
    {
      content: [],
      isError: true,
      _meta: { a: 1 },
      tool_name: "t",
      parameters: {},
    },
  );
});

Deno.test("withTransformed() adds a JSON string to meta and _meta", () => {
  const meta = { origin: "x", a2c_vrl_transformed: '{"a":1}' };
  assertEquals(
    withTransformed({ content: [], _meta: { origin: "x" } }, { a: 1 }),
    { content: [], meta, _meta: meta },
  );
});

Deno.test("transformResult() runs the program on the result and its call", async () => {
  const transform = async (program: string) => {
    const { meta } = await transformResult(result, program, call);
    return JSON.parse(String(meta?.a2c_vrl_transformed));
  };
  assertEquals(
    await transform(
      '. = {"t": .tool_name, "w": .parameters.who, "e": .isError, "n": .structuredContent.n}',
    ),
    { t: "greet", w: "ann", e: false, n: 1 },
  );
  assertEquals(await transform(".seen = true\ndel(.content)"), {
    structuredContent: { n: 1 },
    isError: false,
    tool_name: "greet",
    parameters: { who: "ann" },
    seen: true,
  });
  assertEquals(await transform(". = 1"), 1);
  assertEquals(await transform(". = null"), null);
});

Deno.test("transformResult() does not change the result if the program fails or is absent", async () => {
  const before = structuredClone(result);
  for (const program of ["abort", '.n = to_int!("x")', null, undefined, ""]) {
    assertEquals(await transformResult(result, program, call), before);
  }
});

Deno.test("checkVrl() refuses a program that does not compile, with the compiler's message", async () => {
  await checkVrl(".a = 1");
  await checkVrl(null);
  await assertRejects(() => checkVrl(".a = "), Error, "syntax error");
  await assertRejects(
    () => checkVrl(".a = foo(1)"),
    Error,
    "undefined function",
  );
});

Deno.test("checkVrl() shows the line and a caret, without the compiler's notes", async () => {
  const rows: [program: string, said: string][] = [
    [
      "this is no VRL",
      "Cannot compile the VRL program: syntax error (line 1, column 6)\n  this is no VRL\n       ^",
    ],
    [
      '.a = 1\n.b = "ööö" + nosuch!(.c)\n.d = 1',
      'Cannot compile the VRL program: call to undefined function: undefined function (line 2, column 14)\n  .b = "ööö" + nosuch!(.c)\n               ^',
    ],
  ];
  for (const [program, said] of rows) {
    const error = await assertRejects(() => checkVrl(program), Error);
    assertEquals(error.message, said);
  }
});

Deno.test("runtimeErrorText() describes where a program failed, without its data", () => {
  const program = ".a = 1\n.x = to_int!(.secret)";
  assertEquals(
    runtimeErrorText(
      program,
      'Termination;\nfunction call error for "to_int" at (12:28): Invalid integer "hunter2"',
    ),
    "its function to_int failed in line 2, column 6",
  );
  assertEquals(
    runtimeErrorText(program, "Termination;\nhunter2"),
    "it aborted, or a step of it failed",
  );
});
