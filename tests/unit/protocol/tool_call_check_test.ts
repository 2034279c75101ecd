import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { isToolCallReq } from "../../../protocol/payloads/tools.ts";
import {
  parseCallToolResult,
  parseToolCallReq,
} from "../../../protocol/mod.ts";
import {
  callToolResultSchema,
  toolCallReqSchema,
} from "../../../protocol/payloads/tools.ts";

const call = {
  agent: "planner",
  req_id: "1",
  computer: "laptop",
  tool_name: "echo",
  params: { message: "hello" },
  timeout: 30,
};

/** Values at the edges of what each field may be, and anything that JSON can hold. */
const value = fc.oneof(
  fc.constantFrom<unknown>(
    ...["", "x", "x".repeat(256), "x".repeat(257), "😀".repeat(128)],
    ...[0, 1, 1.5, 3600, 3601, -0, NaN, 2 ** 53, "1"],
    ...[undefined, null, {}, [], [{}]],
  ),
  fc.jsonValue(),
);
const field = fc.constantFrom(...Object.keys(call), "later", "__proto__");

Deno.test("isToolCallReq() takes exactly what the schema takes, and nothing of it is changed", () => {
  fc.assert(
    fc.property(
      fc.dictionary(field, value, { maxKeys: 3 }),
      fc.subarray(Object.keys(call), { maxLength: 1 }),
      (changed, missing) => {
        const entries = Object.entries({ ...call, ...changed })
          .filter(([name]) => !missing.includes(name));
        // As JSON.parse() makes it: a key named __proto__ is one like any other.
        const data: unknown = Object.fromEntries(entries);
        const parsed = toolCallReqSchema.safeParse(data);
        if (isToolCallReq(data)) {
          assert(parsed.success);
          assertEquals(parsed.data, data);
        } else {assert(
            !parsed.success || Object.hasOwn(Object(data), "__proto__"),
          );}
      },
    ),
    { numRuns: 5_000 },
  );
});

Deno.test("isToolCallReq() leaves what is no object at all to the schema", () => {
  for (const data of [undefined, null, "x", 1, [], [call], () => call]) {
    assertEquals(isToolCallReq(data), false);
  }
});

Deno.test("parseToolCallReq() passes unknown fields through, and drops a key named __proto__", () => {
  const later = { ...call, later: [1] };
  assertEquals(parseToolCallReq(later), later);
  const odd = JSON.parse(
    `{"__proto__": {"agent": "x"}, ${JSON.stringify(call).slice(1)}`,
  );
  assertEquals(Object.keys(parseToolCallReq(odd)), Object.keys(call));
});

const block = fc.dictionary(
  fc.constantFrom("type", "text", "annotations", "_meta", "later", "__proto__"),
  fc.oneof(fc.constantFrom<unknown>("text", "image", null, {}), fc.jsonValue()),
);
const resultField = fc.constantFrom(
  ...["content", "structuredContent", "isError", "meta", "_meta", "later"],
);

Deno.test("parseCallToolResult() takes exactly what the schema takes, and as the schema", () => {
  const text = { type: "text", text: "hello" };
  const content = fc.array(fc.oneof(fc.constant(text), block));
  fc.assert(
    fc.property(
      fc.oneof(content, fc.jsonValue()),
      fc.dictionary(
        resultField,
        fc.oneof(fc.constantFrom<unknown>(true, null, {}), fc.jsonValue()),
        { maxKeys: 2 },
      ),
      (content, changed) => {
        const data = JSON.parse(JSON.stringify({ content, ...changed }));
        const parsed = callToolResultSchema.safeParse(data);
        if (parsed.success) {
          assertEquals(parseCallToolResult(data), parsed.data);
        } else assertThrows(() => parseCallToolResult(data));
      },
    ),
    { numRuns: 5_000 },
  );
});
