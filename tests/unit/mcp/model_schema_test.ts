import fc from "fast-check";
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { mendForModels } from "../../../mcp/tools/model_schema.ts";

const type = "object";
const text = { type: "string" };
const number = { type: "number" };

/** What is refused, what becomes of it, and what is said about that. */
const ROWS: readonly (readonly [
  refused: Record<string, unknown>,
  mended: Record<string, unknown>,
  ...changes: string[],
])[] = [
  [
    {},
    { type, properties: {} },
    'type at the root is "object"',
    "properties at the root are added",
  ],
  [{ type }, { type, properties: {} }, "properties at the root are added"],
  [
    {
      type,
      properties: { id: text },
      required: ["id"],
      anyOf: [
        { properties: { a: text }, required: ["a", "id"] },
        { properties: { a: number, b: text }, required: ["b", "id"] },
        { type: "null" },
      ],
    },
    {
      type,
      properties: { id: text, a: { anyOf: [text, number] }, b: text },
      required: ["id"],
    },
    "anyOf at the root is merged into its properties",
  ],
  [
    {
      type,
      oneOf: [
        { properties: { kind: { const: 1 }, a: text }, required: ["kind"] },
        { properties: { kind: { const: 2 } }, required: ["kind", "b"] },
      ],
    },
    {
      type,
      properties: { kind: { anyOf: [{ const: 1 }, { const: 2 }] }, a: text },
      required: ["kind"],
    },
    "oneOf at the root is merged into its properties",
    "properties at the root are added",
  ],
  [
    {
      type,
      properties: {},
      allOf: [
        { $ref: "#/$defs/one" },
        { anyOf: [{ properties: { c: text } }], required: ["c"] },
      ],
      $defs: { one: { properties: { a: text }, required: ["a"] } },
    },
    {
      type,
      properties: { a: text, c: text },
      required: ["a", "c"],
      $defs: { one: { properties: { a: text }, required: ["a"] } },
    },
    "allOf at the root is merged into its properties",
  ],
  [
    {
      $ref: "#/definitions/Args",
      definitions: { Args: { type, properties: { a: text } } },
      $schema: "http://json-schema.org/draft-07/schema#",
    },
    {
      type,
      properties: { a: text },
      definitions: { Args: { type, properties: { a: text } } },
    },
    "$schema of an earlier draft is left out",
    "$ref at the root is replaced by what it leads to",
  ],
  [
    {
      type,
      properties: { a: text },
      not: { required: ["a"] },
      if: {},
      then: {},
    },
    { type, properties: { a: text } },
    "not at the root is left out",
    "if at the root is left out",
    "then at the root is left out",
  ],
  [
    {
      id: "args",
      type,
      properties: {
        id: { type: "integer", minimum: 1, exclusiveMinimum: true },
        b: { maximum: 2, exclusiveMaximum: false },
        c: {
          type: "array",
          items: [text, { id: "x" }],
          additionalItems: false,
        },
        d: { type: "array" },
        e: { type: "any", required: true },
        f: { type: ["str", "null"], required: false },
        g: { type: "list" },
      },
      required: ["id"],
    },
    {
      type,
      properties: {
        id: { type: "integer", exclusiveMinimum: 1 },
        b: { maximum: 2 },
        c: { type: "array", prefixItems: [text, {}], items: false },
        d: { type: "array", items: {} },
        e: {},
        f: { type: ["string", "null"] },
        g: { type: "array", items: {} },
      },
      required: ["id", "e"],
    },
    "required of properties is written as a list",
    "exclusiveMinimum is written as a number",
    "exclusiveMaximum is written as a number",
    "id, the name of a schema in draft 4, is left out",
    "items that are a list are written as prefixItems",
    "items of lists are added",
    "types that JSON Schema does not have are replaced",
  ],
];

Deno.test("mendForModels() mends what the APIs of models refuse, and names each change", () => {
  for (const [refused, mended, ...changes] of ROWS) {
    const before = structuredClone(refused);
    const found = mendForModels(refused);
    assertEquals(found.schema, mended);
    assertEquals(new Set(found.changes), new Set(changes));
    assertEquals(refused, before);
  }
});

Deno.test("mendForModels() returns what is accepted as it is", () => {
  for (
    const schema of [
      { type, properties: {} },
      {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type,
        properties: {
          required: text,
          id: { anyOf: [text, { enum: [1] }] },
          list: { type: "array", prefixItems: [text], items: {}, minimum: 1 },
          any: true,
        },
        required: ["id"],
        additionalProperties: false,
      },
    ]
  ) {
    const { schema: same, changes } = mendForModels(schema);
    assertStrictEquals(same, schema);
    assertEquals(changes, []);
  }
});

Deno.test("mendForModels() ends for schemas that refer to themselves, and for any JSON, as a schema that stays", () => {
  const loops = [
    { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } },
    {
      anyOf: [{ $ref: "#/$defs/a" }],
      $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } },
    },
  ];
  const check = (given: unknown) => {
    const { schema } = mendForModels(given as Record<string, unknown>);
    assertEquals(schema.type, type);
    assert(typeof schema.properties === "object");
    assertEquals(mendForModels(schema).changes, []);
  };
  loops.forEach(check);
  // References may multiply: 50 to the power of eight alternatives.
  const $ref = "#/$defs/a";
  const allOf = Array.from({ length: 50 }, () => ({ $ref }));
  check({ allOf, $defs: { a: { allOf, properties: { a: text } } } });
  const key = fc.constantFrom(
    ...["type", "properties", "items", "anyOf", "required", "id", "not"],
    ...["exclusiveMinimum", "minimum", "$ref", "x"],
  );
  const { node } = fc.letrec((tie) => ({
    node: fc.dictionary(
      key,
      fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom("array", "object", "any", true, 1, null, "#/x"),
        tie("node"),
        fc.array(tie("node"), { maxLength: 3 }),
      ),
    ),
  }));
  fc.assert(fc.property(node, check), { numRuns: 100 });
});
