import { Ajv, type Options } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
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
import {
  whyUnsound,
  withoutNames,
} from "../../../protocol/mcp/schema_check.ts";
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

/** As the SDKs make them, but that they print nothing. */
const OPTIONS: Options = {
  strict: false,
  validateSchema: false,
  allErrors: true,
  logger: false,
};

/** The validator of a client, which it has for the output schemas of all tools. */
function validator(
  Compiler: typeof Ajv | typeof Ajv2019 | typeof Ajv2020 = Ajv,
  options: Options = {},
): AjvJsonSchemaValidator {
  const compiler = new Compiler({ ...OPTIONS, ...options });
  ajvFormats.default(compiler);
  return new AjvJsonSchemaValidator(compiler as Ajv);
}

/** Whether the clients that compile output schemas when they list tools can. */
function compiles(
  schema: Members,
  client: AjvJsonSchemaValidator = validator(),
): boolean {
  try {
    client.getValidator(schema);
    return true;
  } catch {
    return false;
  }
}

/** Fails if a client of either generation cannot use a list of output schemas, as the gateway shows them. */
function assertUsable(schemas: readonly Members[]): void {
  const first = validator();
  const later = {
    "2020": validator(Ajv2020),
    "2019": validator(Ajv2019),
    "draft": validator(),
  };
  for (const schema of schemas) {
    const shown = withoutNames(schema);
    const dialect = /draft-0|2019/.exec(String(schema.$schema))?.[0] ?? "2020";
    const second = later[dialect === "draft-0" ? "draft" : dialect as "2019"];
    for (const client of [first, second]) {
      try {
        const validate = client.getValidator(shown);
        let value: unknown = "end";
        for (let depth = 0; depth < 8; depth++) {
          validate(value);
          value = depth % 2 ? { a: value, b: [value] } : [value, null];
        }
      } catch (error) {
        throw new Error(JSON.stringify([schema, shown]), { cause: error });
      }
    }
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

/** Keywords in which Ajv finds less than we do. */
const LESS =
  /"(\$defs|\$ref|\$id|\$anchor|\$schema|\$async|\$dynamic|\$recursive|id|if|items|prefixItems|dependent|unevaluated|minContains|format[EM])/;

Deno.test("whyUnsound() finds every schema for which a client cannot use a list of them, and none that is valid", () => {
  // Ajv compiles no branch of an `anyOf` in which one is always valid, but where a later branch may be needed for
  // `unevaluatedProperties`: what one dialect passes by, another one compiles.
  const clients = [Ajv, Ajv2019, Ajv2020].map((Compiler) =>
    validator(Compiler, { validateSchema: true })
  );
  const lists = fc.array(anySchema, { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(lists, (schemas) => {
      assertUsable(schemas.filter((schema) => !whyUnsound(schema)));
      for (const schema of schemas) {
        const isOurs = LESS.test(JSON.stringify(schema));
        if (isOurs || whyUnsound(schema) === undefined) continue;
        assert(
          clients.some((client) => !compiles(schema, client)),
          JSON.stringify(schema),
        );
      }
    }),
    { numRuns: 300 },
  );
});

const VALID: readonly Members[] = [
  {},
  { type: "object", properties: { type: { type: "string" }, id: {} } },
  { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object" },
  { $schema: "http://json-schema.org/draft-07/schema#", items: [true] },
  { $schema: "https://json-schema.org/draft/2019-09/schema", items: [true] },
  { $defs: { a: { type: ["string", "null"] } }, $ref: "#/$defs/a" },
  { definitions: { "a/b": {} }, items: { $ref: "#/definitions/a~1b" } },
  { properties: { self: { $ref: "#" } } },
  { properties: { a: { $anchor: "x" }, b: { $ref: "#x" } } },
  {
    $id: "https://a.example/root.json",
    properties: { a: { $ref: "#/$defs/b" } },
    $defs: { b: {} },
  },
  {
    $id: "https://a.example/root.json",
    items: { $ref: "b.json#/$defs/c" },
    $defs: { b: { $id: "b.json", $defs: { c: { $ref: "root.json" } } } },
  },
  { properties: { a: { $id: "" } } },
  { type: "string", nullable: true },
  { enum: [null, "a", {}], default: { $ref: "nothing" }, const: { id: 1 } },
  { examples: [{ type: 5 }], format: "unheard-of", title: "T" },
  { patternProperties: { "^\\w+$": { pattern: "\\p{L}" } } },
  { prefixItems: [{ type: "integer" }, true], items: false },
  { if: { required: ["a"] }, then: true, else: { not: {} } },
  { anyOf: [{ minimum: 0 }, { exclusiveMaximum: 1.5 }], oneOf: [true] },
  { dependencies: { a: ["b"], c: { type: "object" } } },
  { dependentRequired: { a: ["b"] }, unevaluatedProperties: false },
  { type: "string", format: "date", formatMinimum: "2020-01-01" },
  { "x-ui": { order: ["a"], $ref: "nowhere" }, discriminator: { mapping: {} } },
  // Of zod, with a type that contains itself.
  {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { root: { $ref: "#/$defs/__schema0" } },
    required: ["root"],
    additionalProperties: false,
    $defs: {
      __schema0: {
        type: "object",
        properties: {
          children: { type: "array", items: { $ref: "#/$defs/__schema0" } },
        },
      },
    },
  },
  // Of Pydantic and FastMCP.
  {
    $defs: {
      "Page_Item_": {
        properties: {
          items: { items: { $ref: "#/$defs/Item" }, type: "array" },
          next: {
            anyOf: [{ $ref: "#/$defs/Page_Item_" }, { type: "null" }],
            default: null,
          },
        },
        title: "Page[Item]",
        type: "object",
      },
      Item: { properties: { at: { format: "date-time", type: "string" } } },
    },
    properties: {
      result: {
        discriminator: { propertyName: "kind" },
        oneOf: [{ $ref: "#/$defs/Item" }, { $ref: "#/$defs/Page_Item_" }],
      },
    },
    title: "searchOutput",
    type: "object",
    "x-fastmcp-wrap-result": true,
  },
  // Of TypeBox.
  {
    $id: "T0",
    type: "object",
    properties: { nodes: { type: "array", items: { $ref: "T0" } } },
  },
];

Deno.test("whyUnsound() leaves valid schemas, and clients use them all in one list", () => {
  for (const schema of VALID) {
    assertEquals(whyUnsound(schema), undefined, JSON.stringify(schema));
    assert(compiles(schema), JSON.stringify(schema));
  }
  assertUsable([...VALID, ...VALID.toReversed()]);
});

Deno.test("whyUnsound() allows references to any name, and as many types as a large API has", () => {
  const names = ["a b", "a%b", "a[b]", "é", "a/b~c", "List`1", "#", "a.b", ""];
  for (const name of names) {
    const part = name.replaceAll("~", "~0").replaceAll("/", "~1");
    for (const to of new Set([part, encodeURIComponent(part)])) {
      const schema = {
        properties: { x: { $ref: `#/$defs/${to}` } },
        $defs: { [name]: { type: "string" } },
      };
      const isUri = to === encodeURIComponent(part);
      const why = whyUnsound(schema);
      if (isUri) assertEquals(why, undefined, to);
      if (why === undefined) assertUsable([schema]);
    }
  }
  const types = Array.from({ length: 80 }, (_, at) => [`T${at}`, {
    type: "object",
    properties: {
      next: { $ref: `#/$defs/T${(at + 1) % 80}` },
      others: { type: "string" },
    },
  }]);
  const large = {
    properties: { x: { $ref: "#/$defs/T0" } },
    $defs: Object.fromEntries(types),
  };
  assertEquals(whyUnsound(large), undefined);
  assertUsable([large]);
});

Deno.test("withoutNames() leaves out ids and anchors alone, and its references mean the same", () => {
  const schema = {
    $id: "https://a.example/root",
    title: "T",
    properties: {
      $id: { type: "string" },
      tree: { $ref: "tree" },
      leaf: { $ref: "tree#leaf" },
      own: { $ref: "#/$defs/a%20b" },
    },
    $defs: {
      "a b": { const: { $id: 1 } },
      tree: {
        $id: "tree",
        properties: { sub: { $ref: "#" }, leaf: { $ref: "#/$defs/x" } },
        $defs: { x: { $anchor: "leaf", type: "string" } },
      },
    },
    default: { $id: "data" },
  };
  assertEquals(withoutNames(schema), {
    title: "T",
    properties: {
      $id: { type: "string" },
      tree: { $ref: "#/$defs/tree" },
      leaf: { $ref: "#/$defs/tree/$defs/x" },
      own: { $ref: "#/$defs/a%20b" },
    },
    $defs: {
      "a b": { const: { $id: 1 } },
      tree: {
        properties: {
          sub: { $ref: "#/$defs/tree" },
          leaf: { $ref: "#/$defs/tree/$defs/x" },
        },
        $defs: { x: { type: "string" } },
      },
    },
    default: { $id: "data" },
  });
  const plain = { properties: { $id: { type: "string" } } };
  assertStrictEquals<unknown>(withoutNames(plain), plain);
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
  for (const resultType of [5, "x", true, [], {}, "", null, "input_required"]) {
    assertEquals(mendResult({ resultType }, () => {}), { content: [] });
  }
  const complete = { content: [], resultType: "complete" };
  assertStrictEquals<unknown>(mendResult(complete, () => {}), complete);
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
  const sound: Members[] = [];
  for (const [kind, poison] of Object.entries(POISON)) {
    const mended = mendTool({ inputSchema: {}, ...poison }, () => {});
    assert(ToolSchema.safeParse(mended).success, kind);
    const { outputSchema } = mended;
    if (isObject(outputSchema)) sound.push(outputSchema);
  }
  assertUsable(sound);
});
