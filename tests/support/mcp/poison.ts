/**
 * Tools and results that clients of MCP refuse, and that one MCP server in an office may have.
 *
 * @module
 */
import fc from "fast-check";

/** What one tool has, of each kind for which some client refuses the whole list. */
export const POISON: Readonly<
  Record<string, {
    readonly inputSchema?: Record<string, unknown>;
    readonly outputSchema?: Record<string, unknown>;
    readonly annotations?: Record<string, unknown>;
  }>
> = {
  true_property: { inputSchema: { type: "object", properties: { x: true } } },
  false_property: { inputSchema: { type: "object", properties: { x: false } } },
  null_property: { inputSchema: { type: "object", properties: { x: null } } },
  true_result: { outputSchema: { type: "object", properties: { x: true } } },
  list_of_properties: { inputSchema: { type: "object", properties: [] } },
  null_properties: { inputSchema: { type: "object", properties: null } },
  null_required: { inputSchema: { type: "object", required: null } },
  text_required: { inputSchema: { type: "object", required: "a" } },
  odd_required: { inputSchema: { type: "object", required: ["a", 5] } },
  null_title: { annotations: { title: null } },
  null_hint: { annotations: { readOnlyHint: null } },
  text_hint: { annotations: { readOnlyHint: "true" } },
  null_required_result: { outputSchema: { type: "object", required: null } },
  list_of_results: { outputSchema: { type: "object", properties: [] } },
  deep_boolean: {
    inputSchema: {
      type: "object",
      properties: { a: { type: "object", properties: { b: true } } },
    },
  },
  number_schema: { inputSchema: { $schema: 5, type: "object" } },
  number_schema_result: { outputSchema: { $schema: 5, type: "object" } },
  // These fail when a client compiles them.
  missing_reference: {
    outputSchema: {
      type: "object",
      properties: { x: { $ref: "#/$defs/none" } },
    },
  },
  odd_pattern: {
    outputSchema: { type: "object", properties: { x: { pattern: "(" } } },
  },
  odd_type: {
    outputSchema: { type: "object", properties: { x: { type: "text" } } },
  },
  draft_4: {
    outputSchema: {
      type: "object",
      properties: { x: { minimum: 0, exclusiveMinimum: true } },
    },
  },
  ...Object.fromEntries(
    Object.entries(unsoundSchemas()).map(([kind, schema]) => [kind, {
      outputSchema: { type: "object", ...schema },
    }]),
  ),
};

/** Output schemas that cannot be compiled, or that only seem to refer to something. */
function unsoundSchemas(): Record<string, Record<string, unknown>> {
  const chain = Array.from({ length: 300 }, (_, at) => [`d${at}`, {
    type: "array",
    items: { anyOf: [{ $ref: `#/$defs/d${at + 1}` }, { type: "null" }] },
  }]);
  const within = (x: unknown) => ({ properties: { x } });
  return {
    invalid_anchor: { $anchor: "a b" },
    empty_anchor: within({ $anchor: "" }),
    dynamic_anchor: within({ $dynamicAnchor: "#x" }),
    dynamic_reference: within({ $dynamicRef: "#x" }),
    recursive_reference: { $recursiveRef: "foo" },
    two_anchors: { $defs: { a: { $anchor: "n" }, b: { $anchor: "n" } } },
    two_ids: { $defs: { a: { $id: "n" }, b: { $id: "n" } } },
    async_schema: within({ $async: true }),
    limit_without_format: within({
      type: "string",
      formatMinimum: "2020-01-01",
    }),
    limit_of_no_order: within({ format: "email", formatMinimum: "a" }),
    number_limit: within({ format: "date", formatMaximum: 5 }),
    to_itself: within({ $ref: "#/properties/x" }),
    loop: {
      ...within({ $ref: "#/$defs/A" }),
      $defs: { A: { $ref: "#/$defs/A" } },
    },
    loop_of_two: {
      $defs: {
        A: { $ref: "#/$defs/B" },
        B: { allOf: [{ $ref: "#/$defs/A" }] },
      },
    },
    loop_at_root: { anyOf: [{ $ref: "#" }, { type: "null" }] },
    end_of_id: { ...within({ $ref: "oo" }), $defs: { z: { $id: "foo" } } },
    fragment_of_id: {
      ...within({ $ref: "foo#/baz" }),
      $defs: { z: { $id: "foo" } },
    },
    anchor_of_other: {
      ...within({ $ref: "#bar" }),
      $defs: { z: { $id: "foo", $anchor: "bar" } },
    },
    to_unknown_keyword: {
      ...within({ $ref: "#/x-parts/a" }),
      "x-parts": { a: { type: "foo" } },
    },
    to_data: { ...within({ $ref: "#/examples/0" }), examples: [{ type: 5 }] },
    to_map: within({ $ref: "#/properties" }),
    to_percent: within({ $ref: "#/%" }),
    to_surrogate: {
      ...within({ $ref: "#/$defs/\ud800" }),
      $defs: { "\ud800": {} },
    },
    to_meta_schema: within({
      $ref: "http://json-schema.org/draft-07/schema#",
    }),
    id_in_data: { "x-parts": { $id: "foo" } },
    dependencies_on_number: { dependencies: { a: 5 } },
    dependency_on_text: { dependentRequired: { a: "b" } },
    list_in_2020: within({ items: [{ type: "string" }] }),
    unknown_dialect: { $schema: "https://schemas.example/mine" },
    long_pointers: within({
      properties: { ["a".repeat(100_000)]: { properties: { b: {} } } },
    }),
    long_chain: {
      ...within({ $ref: "#/$defs/d0" }),
      $defs: { ...Object.fromEntries(chain), d300: { type: "array" } },
    },
  };
}

const WRONG: readonly unknown[] = [
  null,
  true,
  false,
  0,
  5,
  "a",
  "",
  [],
  ["a"],
  [5],
  {},
  { a: 1 },
  { a: true },
  { a: null },
  { a: {} },
];

const wrong = fc.constantFrom(...WRONG);

const schemaFields = fc.constantFrom(
  "$ref",
  "$ref",
  "$id",
  "$anchor",
  "$async",
  "$dynamicAnchor",
  "$dynamicRef",
  "$recursiveRef",
  "contains",
  "dependencies",
  "dependentRequired",
  "dependentSchemas",
  "examples",
  "formatMaximum",
  "formatMinimum",
  "minContains",
  "prefixItems",
  "unevaluatedProperties",
  "x-parts",
  "$defs",
  "id",
  "type",
  "enum",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "allOf",
  "anyOf",
  "not",
  "if",
  "pattern",
  "patternProperties",
  "format",
  "minimum",
  "exclusiveMinimum",
  "maxLength",
  "uniqueItems",
  "nullable",
  "description",
);

/** JSON Schemas that are mostly wrong somewhere, and those of which nothing is. */
export const anySchema: fc.Arbitrary<Record<string, unknown>> = fc.letrec(
  (tie) => ({
    schema: fc.dictionary(
      schemaFields,
      fc.oneof(
        { maxDepth: 3 },
        wrong,
        fc.constantFrom<unknown>(
          "object",
          "string",
          "date",
          "#",
          "#/$defs/a",
          "#/properties/a",
          "#/allOf/0",
          "#/x-parts/a",
          "#n",
          "n",
          "",
          "x:y#/$defs/a",
          "x:y",
          "http://[",
          "https://a.example/n",
          "[",
          "^a",
        ),
        tie("schema"),
        fc.dictionary(fc.constantFrom("a", "b"), tie("schema"), { maxKeys: 2 }),
        fc.array(tie("schema"), { maxLength: 2 }),
      ),
      { maxKeys: 3 },
    ),
  }),
).schema as fc.Arbitrary<Record<string, unknown>>;

const rootSchema = fc.tuple(anySchema, fc.option(wrong))
  .map(([schema, $schema]) => ({
    type: "object",
    ...schema,
    ...($schema !== null && { $schema }),
  }));

/** Tools of which any field but the name may be wrong. */
export const anyTool: fc.Arbitrary<Record<string, unknown>> = fc.record({
  title: wrong,
  description: wrong,
  inputSchema: fc.oneof(rootSchema, wrong),
  outputSchema: fc.oneof(rootSchema, anySchema, wrong),
  annotations: fc.oneof(
    wrong,
    fc.dictionary(
      fc.constantFrom("title", "readOnlyHint", "destructiveHint", "other"),
      wrong,
    ),
  ),
  icons: fc.oneof(wrong, fc.array(fc.record({ src: wrong, theme: wrong }))),
  execution: wrong,
  _meta: wrong,
}, { requiredKeys: [] });

const annotations = fc.oneof(
  wrong,
  fc.record({
    audience: fc.oneof(wrong, fc.constant(["user"]), fc.constant(["robot"])),
    priority: fc.oneof(wrong, fc.constantFrom(0.5, 2, -1)),
    lastModified: fc.oneof(
      wrong,
      fc.constantFrom(
        "2025-01-31T00:00:00Z",
        "2025-02-30T00:00:00Z",
        "2025-01-31",
        "2025-01-31T24:00:00Z",
        "2025-01-31T00:00:00",
        "2025-01-31T00:00+02:00",
      ),
    ),
  }, { requiredKeys: [] }),
);

const base64 = fc.oneof(
  wrong,
  fc.constantFrom("AAAA", "AA==", "AA", "A", "AA=", "-_-_", "A A\nAA", "é"),
  fc.constant("data:image/png;base64,AAAA"),
  fc.base64String(),
);

const text = fc.oneof({ weight: 3, arbitrary: fc.constant("text") }, {
  weight: 1,
  arbitrary: wrong,
});

/** Content of which any field may be wrong. */
export const anyBlock: fc.Arbitrary<unknown> = fc.oneof(
  wrong,
  fc.record({
    type: fc.oneof(
      fc.constantFrom<unknown>(
        "text",
        "image",
        "audio",
        "resource",
        "resource_link",
        "tool_use",
        "hologram",
      ),
      wrong,
    ),
    text,
    data: base64,
    mimeType: text,
    uri: text,
    name: text,
    title: text,
    size: wrong,
    icons: wrong,
    resource: fc.oneof(
      wrong,
      fc.record({
        uri: text,
        text,
        blob: base64,
        mimeType: text,
        _meta: wrong,
      }, { requiredKeys: [] }),
    ),
    annotations,
    _meta: wrong,
  }, { requiredKeys: ["type"] }),
);

/** Results of tool calls of which anything may be wrong. */
export const anyResult: fc.Arbitrary<Record<string, unknown>> = fc.record({
  content: fc.oneof(
    { weight: 4, arbitrary: fc.array(anyBlock, { maxLength: 4 }) },
    { weight: 1, arbitrary: wrong },
  ),
  structuredContent: wrong,
  isError: wrong,
  resultType: fc.oneof(wrong, fc.constantFrom("complete", "input_required")),
  _meta: fc.oneof(
    wrong,
    fc.record({
      progressToken: wrong,
      "io.modelcontextprotocol/related-task": wrong,
      "io.modelcontextprotocol/serverInfo": wrong,
    }, { requiredKeys: [] }),
  ),
}, { requiredKeys: [] });
