import { Ajv } from "ajv";
import fc from "fast-check";
import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { isSpecType } from "@modelcontextprotocol/client";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  CallToolResultSchema,
  ToolSchema,
} from "@modelcontextprotocol/sdk/types.js";
// @ts-types="@modelcontextprotocol/sdk/validation/ajv"
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import {
  mendContents,
  mendInputSchema,
  mendOutputSchema,
  mendResult,
  mendToolAnnotations,
} from "../../../protocol/mcp/mend.ts";
import { whyUnsound } from "../../../protocol/mcp/schema_check.ts";
import {
  anyBlock,
  anyResult,
  anySchema,
  anyTool,
  POISON,
} from "../../support/mcp/poison.ts";

type Members = Record<string, unknown>;

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** As the SDK makes it, but that it prints nothing. */
const ajv = (validateSchema = false) =>
  new Ajv({
    strict: false,
    validateSchema,
    allErrors: true,
    logger: false,
  });

/** Whether the clients that compile output schemas when they list tools can. */
function compiles(schema: Members, compiler: Ajv = ajv()): boolean {
  try {
    new AjvJsonSchemaValidator(compiler).getValidator(schema);
    return true;
  } catch {
    return false;
  }
}

/** A tool, as both generations of clients get it. */
function mendTool(
  { inputSchema, outputSchema, annotations }: Members,
  note: (problem: string) => void,
): Members {
  const output = isObject(outputSchema)
    ? mendOutputSchema({ ...outputSchema, type: "object" }, note)
    : undefined;
  const mended = mendToolAnnotations(annotations, note);
  return {
    name: "t",
    inputSchema: mendInputSchema(
      { ...(isObject(inputSchema) && inputSchema), type: "object" },
      note,
    ),
    ...(output && { outputSchema: output }),
    ...(mended && { annotations: mended }),
  };
}

Deno.test("mended tools are valid for both generations of the MCP SDK, whatever they were", () => {
  fc.assert(
    fc.property(anyTool, (tool) => {
      const mended = mendTool(tool, () => {});
      assert(ToolSchema.safeParse(mended).success, JSON.stringify(mended));
      assert(isSpecType.Tool(mended), JSON.stringify(mended));
    }),
    { numRuns: 1_500 },
  );
});

Deno.test("whyUnsound() finds every schema that Ajv cannot compile, and none of those that it can among valid ones", () => {
  const any = ajv();
  const checking = ajv(true);
  fc.assert(
    fc.property(anySchema, (schema) => {
      if (whyUnsound(schema) === undefined) {
        assert(compiles(schema, any), JSON.stringify(schema));
      } else if (!/"(\$defs|\$ref|id|if)"/.test(JSON.stringify(schema))) {
        // Ajv does not look at these in all places.
        assert(!compiles(schema, checking), JSON.stringify(schema));
      }
    }),
    { numRuns: 1_500 },
  );
  const valid: Members[] = [
    {},
    { type: "object", properties: { type: { type: "string" }, id: {} } },
    { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" },
    { $defs: { a: { type: ["string", "null"] } }, $ref: "#/$defs/a" },
    { definitions: { "a/b": {} }, items: { $ref: "#/definitions/a~1b" } },
    { properties: { self: { $ref: "#" } } },
    { properties: { a: { $anchor: "x" }, b: { $ref: "#x" } } },
    {
      $id: "https://a.example/root.json",
      properties: { a: { $ref: "#/$defs/b" } },
      $defs: { b: {} },
    },
    { type: "string", nullable: true },
    { enum: [null, "a", {}], default: { $ref: "nothing" }, const: { id: 1 } },
    { examples: [{ type: 5 }], format: "unheard-of", title: "T" },
    { patternProperties: { "^\\w+$": { pattern: "\\p{L}" } } },
    { items: [{ type: "integer" }, true], additionalItems: false },
    { if: { required: ["a"] }, then: true, else: { not: {} } },
    { anyOf: [{ minimum: 0 }, { exclusiveMaximum: 1.5 }], oneOf: [true] },
    { dependencies: { a: ["b"], c: { type: "object" } } },
  ];
  const invalid: Members[] = [
    { $id: 5 },
    { items: { $id: "a" }, not: { $id: "a", type: "object" } },
    { $ref: "other.json" },
    { $ref: "#/properties/x" },
  ];
  for (const schema of invalid) {
    assert(whyUnsound(schema), JSON.stringify(schema));
    assert(!compiles(schema), JSON.stringify(schema));
  }
  for (const schema of valid) {
    assertEquals(whyUnsound(schema), undefined, JSON.stringify(schema));
    assert(compiles(schema), JSON.stringify(schema));
  }
});

Deno.test("what is valid is not altered: the same object comes back", () => {
  const schema = {
    type: "object",
    properties: { a: { properties: { b: true } }, c: {} },
    required: ["a"],
  };
  const annotations = { title: "T", readOnlyHint: true, later: null };
  const result = {
    content: [
      { type: "text", text: "a", annotations: { priority: 1, other: {} } },
      { type: "image", data: "AA==", mimeType: "image/png" },
      { type: "audio", data: "AAAA\nAAAA", mimeType: "audio/wav", _meta: {} },
      { type: "resource", resource: { uri: "a:b", blob: "" } },
      { type: "resource_link", uri: "a:b", name: "n", size: 0, icons: [] },
      { type: "of a later version", annotations: 5 },
    ],
    structuredContent: { a: null },
    isError: false,
    _meta: { progressToken: 1, mine: 5 },
  };
  const note = (problem: string) => {
    throw new Error(problem);
  };
  assertStrictEquals(mendInputSchema(schema, note), schema);
  assertStrictEquals<unknown>(mendOutputSchema(schema, note), schema);
  assertStrictEquals<unknown>(
    mendToolAnnotations(annotations, note),
    annotations,
  );
  assertStrictEquals<unknown>(mendResult(result, note), result);
  fc.assert(fc.property(anyTool, ({ inputSchema, outputSchema }) => {
    for (const schema of [inputSchema, outputSchema]) {
      const tool = { name: "t", inputSchema: schema, outputSchema: schema };
      const isValid = isObject(schema) && ToolSchema.safeParse(tool).success &&
        isSpecType.Tool(tool);
      if (!isValid) continue;
      assertStrictEquals(mendInputSchema(schema, () => {}), schema);
      const mended = mendOutputSchema(schema, () => {});
      if (mended !== undefined) assertStrictEquals(mended, schema);
    }
  }));
});

Deno.test("mended results are valid for both generations of the MCP SDK, whatever an MCP server answered", () => {
  const known = new Set<unknown>([
    "text",
    "image",
    "audio",
    "resource",
    "resource_link",
  ]);
  fc.assert(
    fc.property(anyResult, (result) => {
      const { structuredContent: _, ...mended } = mendResult(result, () => {});
      mended.content = mended.content.filter(({ type }) => known.has(type));
      const why = CallToolResultSchema.safeParse(mended).error?.message;
      assertEquals(why, undefined, JSON.stringify([result, mended]));
      assert(isSpecType.CallToolResult(mended), JSON.stringify(mended));
    }),
    { numRuns: 1_500 },
  );
});

Deno.test("mendResult() keeps what it can of content, and says what is left out", () => {
  const rows: [block: unknown, mended: unknown, problems: number][] = [
    [
      { type: "text", text: "a", annotations: { priority: 2, x: 1 } },
      { type: "text", text: "a", annotations: { x: 1 } },
      1,
    ],
    [{ type: "text", text: "a", annotations: null }, {
      type: "text",
      text: "a",
    }, 0],
    [
      {
        type: "image",
        data: "data:image/png;base64,_-8=",
        mimeType: "image/png",
      },
      { type: "image", data: "/+8", mimeType: "image/png" },
      0,
    ],
    [
      { type: "image", data: "%", mimeType: "image/png" },
      {
        type: "text",
        text: "[image content is left out: its data is not base64]",
      },
      1,
    ],
    [
      {
        type: "resource",
        resource: { uri: "a:b", blob: "%", mimeType: "x/y" },
      },
      {
        type: "resource",
        resource: {
          uri: "a:b",
          mimeType: "text/plain",
          text: "[bytes of a:b are left out: they are not base64]",
        },
      },
      1,
    ],
    [{ type: "text" }, { type: "text", text: '{"type":"text"}' }, 1],
    [5, { type: "text", text: "5" }, 1],
  ];
  for (const [block, mended, count] of rows) {
    const problems: string[] = [];
    const result = mendResult({ content: [block] }, (p) => problems.push(p));
    assertEquals<unknown>(result.content, [mended]);
    assertEquals(problems.length, count, problems.join());
  }
  assertEquals<unknown>(mendResult({}, () => {}).content, []);
});

Deno.test("mendContents() makes text of bytes that are none", () => {
  fc.assert(fc.property(anyBlock, (block) => {
    const { resource }: { resource?: unknown } = Object(block);
    if (!isObject(resource)) return;
    const mended = mendContents({ ...resource, uri: "a:b" }, () => {});
    assert(
      isSpecType.TextResourceContents(mended) ||
        isSpecType.BlobResourceContents(mended),
      JSON.stringify(mended),
    );
  }));
});

Deno.test("every kind of poison in a tool is mended or leaves its output schema out", () => {
  for (const [kind, poison] of Object.entries(POISON)) {
    const mended = mendTool({ inputSchema: {}, ...poison }, () => {});
    assert(ToolSchema.safeParse(mended).success, kind);
    const { outputSchema } = mended;
    assert(!isObject(outputSchema) || compiles(outputSchema), kind);
  }
});
