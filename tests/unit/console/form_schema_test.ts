import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import {
  FieldError,
  type FormField,
  objectOf,
  planForm,
  readText,
} from "../../../console/page/server/form_schema.js";

/** How many fields there are in all. */
const count = ({ fields = [], item }: FormField): number =>
  1 + fields.reduce((sum, field) => sum + count(field), 0) +
  (item ? count(item) : 0);

const kinds = (schema: unknown) =>
  planForm(schema).fields?.map(({ name, kind }) => [name, kind]);

Deno.test("each type of a schema has a field of its own, and what has none is JSON", () => {
  assertEquals(
    kinds({
      type: "object",
      properties: {
        text: { type: "string" },
        whole: { type: "integer" },
        size: { type: "number" },
        sure: { type: "boolean" },
        one: { enum: ["a", 2, null] },
        fixed: { const: "a" },
        many: { type: "array", items: { type: "string" } },
        part: { type: "object", properties: { x: { type: "number" } } },
        any: {},
        either: { anyOf: [{ type: "string" }, { type: "null" }] },
        elsewhere: { $ref: "#/$defs/x" },
        table: { type: "object", additionalProperties: { type: "string" } },
        deep: { type: "array", items: { type: "object", properties: {} } },
        types: { type: ["string", "null"] },
      },
    }),
    [
      ["text", "text"],
      ["whole", "integer"],
      ["size", "number"],
      ["sure", "boolean"],
      ["one", "choice"],
      ["fixed", "choice"],
      ["many", "list"],
      ["part", "group"],
      ["any", "json"],
      ["either", "json"],
      ["elsewhere", "json"],
      ["table", "json"],
      ["deep", "json"],
      ["types", "json"],
    ],
  );
});

Deno.test("what is no schema of an object is one field for JSON", () => {
  const foreign = [undefined, null, 1, "x", [], true, { type: "string" }, {
    oneOf: [],
  }];
  for (const schema of foreign) assertEquals(planForm(schema).kind, "json");
  assertEquals(planForm({ type: "object" }).fields, []);
});

Deno.test("constraints, defaults and names of a schema reach its fields", () => {
  const [count, mail] = planForm({
    properties: {
      count: {
        type: "integer",
        minimum: 1,
        maximum: 9,
        default: 3,
        title: "How many",
      },
      mail: {
        type: "string",
        format: "email",
        maxLength: 80,
        description: "to whom",
      },
    },
    required: ["count"],
  }).fields ?? [];
  assertEquals(count?.label, "How many");
  assertEquals([count?.isRequired, count?.initial], [true, 3]);
  assertEquals(count?.rules, { min: "1", max: "9", step: "1" });
  assertEquals(mail?.description, "to whom");
  assertEquals(mail?.rules, { maxlength: "80", type: "email" });
});

Deno.test("a deep, wide or cyclic schema ends in few fields", () => {
  const cyclic: Record<string, unknown> = { type: "object" };
  cyclic.properties = { again: cyclic, list: { type: "array", items: cyclic } };
  let deep: Record<string, unknown> = { type: "string" };
  for (let i = 0; i < 1000; i++) {
    deep = { type: "object", properties: { x: deep } };
  }
  const names = Array.from({ length: 10_000 }, (_, i) => `p${i}`);
  const wide = {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, deep])),
  };
  const listed = { properties: { x: { enum: names } } };
  for (const schema of [cyclic, deep, wide, listed]) {
    assert(count(planForm(schema)) <= 130, String(count(planForm(schema))));
  }
  assertEquals(kinds(listed), [["x", "json"]]);
});

Deno.test("no schema makes the plan of a form fail, or grow without bound", () => {
  const json = fc.jsonValue({ maxDepth: 2 });
  // Two levels deeper than a plan goes; without a bound most of the time went into the schemas.
  const depth = { maxDepth: 6, depthIdentifier: fc.createDepthIdentifier() };
  const value = fc.letrec((tie) => ({
    inner: fc.option(tie("schema"), { ...depth, nil: 1 }),
    schema: fc.record({
      type: fc.constantFrom("object", "array", "string", "number", "x", 1),
      properties: fc.dictionary(
        fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor")),
        tie("inner"),
        { maxKeys: 5 },
      ),
      items: tie("inner"),
      enum: fc.oneof(json, fc.array(json)),
      required: json,
      default: json,
      title: json,
      $ref: fc.constantFrom("#", 1),
    }, { requiredKeys: [] }),
  })).schema;
  fc.assert(fc.property(value, (schema) => {
    const plan = planForm(schema);
    assert(["group", "json"].includes(plan.kind));
    assert(count(plan) <= 130);
  }));
});

Deno.test("names of properties are names alone", () => {
  const made = objectOf([["__proto__", { polluted: 1 }], ["gone", undefined]]);
  assertEquals(Object.keys(made), ["__proto__"]);
  assertEquals(({} as Record<string, unknown>).polluted, undefined);
});

Deno.test("what was typed becomes a value, nothing, or an error that names the field", () => {
  const field = (kind: FormField["kind"], isRequired = true): FormField => ({
    kind,
    name: "n",
    label: "Size",
    description: "",
    isRequired,
  });
  assertEquals(readText(field("text"), ""), "");
  assertEquals(readText(field("text", false), ""), undefined);
  assertEquals(readText(field("integer"), "12"), 12);
  assertEquals(readText(field("number", false), " "), undefined);
  assertEquals(readText(field("json"), '{"a":[1]}'), { a: [1] });
  for (
    const [kind, text] of [
      ["integer", "1.5"],
      ["number", "x"],
      ["number", ""],
      ["json", "{"],
    ] as const
  ) {
    assertThrows(() => readText(field(kind), text), FieldError, "Size: ");
  }
});
