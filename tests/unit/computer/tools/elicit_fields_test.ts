import { assertEquals, assertThrows } from "@std/assert";
import {
  problemsOf,
  readFields,
  valueOf,
} from "../../../../computer/tools/form.ts";

const fieldsOf = (
  properties: Record<string, unknown>,
  required: string[] = [],
) => readFields({ type: "object", properties, required });

Deno.test("readFields() reads each kind of field of MCP", () => {
  assertEquals(
    fieldsOf({
      name: {
        type: "string",
        title: "Your name",
        description: "d",
        minLength: 1,
      },
      pin: { type: "string" },
      mail: { type: "string", format: "email", default: "nobody" },
      age: { type: "integer", minimum: 0, default: 7 },
      ok: { type: "boolean", default: true },
      plain: { type: "string", enum: ["a", "b"], default: "b" },
      named: { type: "string", enum: ["a", "b"], enumNames: ["A"] },
      titled: { type: "string", oneOf: [{ const: "a", title: "A" }] },
      many: {
        type: "array",
        items: { type: "string", enum: ["a"] },
        maxItems: 1,
      },
      some: {
        type: "array",
        items: { anyOf: [{ const: "a", title: "A" }] },
        default: ["a"],
      },
    }, ["name"]),
    [
      {
        kind: "text",
        name: "name",
        label: "Your name",
        description: "d",
        isRequired: true,
        isSecret: false,
        minLength: 1,
      },
      {
        kind: "text",
        name: "pin",
        label: "pin",
        isRequired: false,
        isSecret: true,
      },
      // Its default is no address.
      {
        kind: "text",
        name: "mail",
        label: "mail",
        isRequired: false,
        isSecret: false,
        format: "email",
      },
      {
        kind: "number",
        name: "age",
        label: "age",
        isRequired: false,
        isInteger: true,
        minimum: 0,
        default: 7,
      },
      {
        kind: "boolean",
        name: "ok",
        label: "ok",
        isRequired: false,
        default: true,
      },
      {
        kind: "choice",
        name: "plain",
        label: "plain",
        isRequired: false,
        options: [{ value: "a", label: "a" }, { value: "b", label: "b" }],
        default: "b",
      },
      {
        kind: "choice",
        name: "named",
        label: "named",
        isRequired: false,
        options: [{ value: "a", label: "A" }, { value: "b", label: "b" }],
      },
      {
        kind: "choice",
        name: "titled",
        label: "titled",
        isRequired: false,
        options: [{ value: "a", label: "A" }],
      },
      {
        kind: "choices",
        name: "many",
        label: "many",
        isRequired: false,
        options: [{ value: "a", label: "a" }],
        maxItems: 1,
      },
      {
        kind: "choices",
        name: "some",
        label: "some",
        isRequired: false,
        options: [{ value: "a", label: "A" }],
        default: ["a"],
      },
    ],
  );
  assertEquals(readFields({}), []);
});

Deno.test("readFields() names what no form can have", () => {
  const rows: [unknown, string][] = [
    [{ type: "object" }, 'the field "x" has the type "object"'],
    [{}, 'the field "x" has the type undefined'],
    [7, 'the field "x" has no schema'],
    [{ type: "array" }, 'the field "x" has no values to choose from'],
  ];
  for (const [x, text] of rows) {
    assertThrows(() => fieldsOf({ x }), Error, text);
  }
});

Deno.test("problemsOf() holds values to the schema, and does not repeat them", () => {
  const of = (schema: unknown, x: unknown, required = false) =>
    problemsOf(fieldsOf({ x: schema }, required ? ["x"] : []), { x });
  const rows: [schema: unknown, good: unknown[], bad: unknown[]][] = [
    [{ type: "string" }, ["", "a", undefined], [1, null, ["a"]]],
    [{ type: "string", minLength: 2, maxLength: 3 }, ["ab", "😀😀"], [
      "a",
      "abcd",
    ]],
    [{ type: "string", format: "email" }, ["a@b"], ["a", "a@", "a b@c"]],
    [{ type: "string", format: "uri" }, ["https://a/b"], ["a"]],
    [{ type: "string", format: "date" }, ["2024-02-29"], [
      "2023-02-29",
      "1.2.2024",
    ]],
    [
      { type: "string", format: "date-time" },
      ["2024-02-29T01:02:03Z", "2024-01-01T00:00:00.5+02:00"],
      ["2024-02-29", "2024-02-30T00:00:00Z", "2024-01-01T25:00:00Z"],
    ],
    [{ type: "integer" }, [1, -2, 0], [1.5, NaN, Infinity, "1"]],
    [{ type: "number", minimum: 1, maximum: 2 }, [1, 1.5, 2], [0.9, 2.1, true]],
    [{ type: "boolean" }, [true, false], ["true", 1]],
    [{ type: "string", enum: ["a"] }, ["a"], ["b", ""]],
    [
      { type: "array", items: { enum: ["a", "b"] }, minItems: 1, maxItems: 1 },
      [["a"]],
      [[], ["a", "b"], ["c"], "a"],
    ],
  ];
  for (const [schema, good, bad] of rows) {
    for (const value of good) {
      assertEquals(of(schema, value), [], JSON.stringify([schema, value]));
    }
    for (const value of bad) {
      assertEquals(
        of(schema, value).length,
        1,
        JSON.stringify([schema, value]),
      );
    }
  }
  assertEquals(of({ type: "string" }, undefined, true), [
    "x: An answer is required",
  ]);
  assertEquals(of({ type: "string", maxLength: 1 }, "hunter2"), [
    "x: At most 1 characters",
  ]);
});

Deno.test("valueOf() reads what was typed", () => {
  const [text, number] = fieldsOf({
    a: { type: "string" },
    b: { type: "number" },
  });
  if (text?.kind !== "text" || number?.kind !== "number") {
    throw new Error("kinds");
  }
  assertEquals(valueOf(text, "7"), "7");
  assertEquals(valueOf(text, ""), undefined);
  assertEquals(valueOf(number, " 7.5 "), 7.5);
  assertEquals(valueOf(number, " "), NaN);
  assertEquals(valueOf(number, "x"), NaN);
});
