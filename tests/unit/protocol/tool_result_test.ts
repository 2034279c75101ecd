import {
  assert,
  assertEquals,
  assertStrictEquals,
  assertThrows,
} from "@std/assert";
import fc from "fast-check";
import { ErrorCode } from "../../../protocol/errors.ts";
import type { Resource } from "../../../protocol/mod.ts";
import {
  inBothSpellings,
  inMcpSpelling,
} from "../../../protocol/payloads/resources.ts";
import {
  type CallToolResult,
  callToolResultSchema,
  cancelledResult,
  parseCallToolResult,
  resultMeta,
  timeoutResult,
  toolErrorResult,
  type Wait,
  waitedFor,
  withResultMeta,
} from "../../../protocol/payloads/tool_result.ts";
import {
  isToolCallReq,
  MCP_SERVER_KEY,
  mcpServerOf,
  parseToolCallReq,
  toolCallReqSchema,
  waitingText,
} from "../../../protocol/payloads/tools.ts";

const OK: CallToolResult = { content: [{ type: "text", text: "done" }] };

const HINT = {
  mcp_server: "web",
  auth_hint: { action: "login", message: "run login" },
};

/** Every result that this package makes up itself, and its meta. */
const MADE: [CallToolResult, meta: Record<string, unknown>][] = [
  [
    toolErrorResult(
      ErrorCode.TOOL_AUTHORIZATION_REQUIRED,
      "log in first",
      HINT,
    ),
    { error_code: 4006, ...HINT },
  ],
  [
    toolErrorResult(ErrorCode.TOOL_NOT_FOUND, "no such tool"),
    { error_code: 4001 },
  ],
  [timeoutResult(30), { error_code: 4004, a2c_timeout: true, timeout: true }],
  [
    cancelledResult(),
    { a2c_cancelled: true, a2c_cancel_reason: "agent_requested" },
  ],
];

Deno.test("failures of a call are results: isError, text, and the meta of the spec", () => {
  for (const [result, meta] of MADE) {
    const [block, ...others] = result.content;
    assertEquals([result.isError, block?.type, others], [true, "text", []]);
    assert((block?.text ?? "").length > 5);
    assertEquals(resultMeta(result), meta);
    assertEquals(parseCallToolResult(result), result);
  }
});

Deno.test("results are written with meta and _meta, equal", () => {
  for (const [{ meta, _meta }, expected] of MADE) {
    assertEquals([meta, _meta], [expected, expected]);
  }
  const added = withResultMeta(OK, { a: 1 });
  assertEquals(added, { ...OK, meta: { a: 1 }, _meta: { a: 1 } });
});

Deno.test("the result of a call that was not confirmed in time says that repeating it is right only where a later yes counts", () => {
  const late = ". Repeat it";
  const wait: Wait = { waiting: "confirmation", computer: "pc", late };
  const textOf = (result: CallToolResult) => result.content[0]?.text;
  assertEquals(
    textOf(timeoutResult(9, wait)),
    `The call was not confirmed at pc within 9 s; the tool did not run${late}`,
  );
  assertEquals(
    textOf(cancelledResult("timeout", wait)),
    `The call was cancelled: the agent's timeout has passed; it waited for confirmation at pc${late}`,
  );
  for (const reason of ["operator", undefined] as const) {
    const text = textOf(cancelledResult(reason, wait)) ?? "";
    assertEquals(text.includes("Repeat"), false, text);
  }
});

Deno.test("results of calls that waited for a person say for what, to people and to waitedFor()", () => {
  const cancelled = "The call was cancelled by an operator of the Server";
  const ended = [
    [
      (wait?: Wait) => timeoutResult(9, wait),
      {
        none: "The tool did not answer within 9 s",
        confirmation:
          "The call was not confirmed at pc within 9 s; the tool did not run",
        answer:
          "The question of the tool's MCP server was not answered at pc within 9 s",
      },
    ],
    [
      (wait?: Wait) => cancelledResult("operator", wait),
      {
        none: cancelled,
        confirmation: `${cancelled}; it waited for confirmation at pc`,
        answer: `${cancelled}; it waited for an answer at pc`,
      },
    ],
  ] as const;
  for (const [end, texts] of ended) {
    for (const waiting of ["confirmation", "answer"] as const) {
      const result = end({ waiting, computer: "pc" });
      assertEquals(result.content[0]?.text, texts[waiting]);
      assertEquals(waitedFor(result), waiting);
    }
    assertEquals(end().content[0]?.text, texts.none);
    assertEquals(waitedFor(end()), undefined);
  }
  assertEquals(waitedFor({ ...OK, meta: { a2c_waited_for: "x" } }), undefined);
});

Deno.test("waitingText() says for what a call waits, and where", () => {
  const texts = (["confirmation", "answer"] as const)
    .map((waiting) => waitingText(waiting, "pc"));
  assertEquals(texts, [
    ...["waits for confirmation at pc", "waits for an answer at pc"],
  ]);
});

Deno.test("resultMeta() reads either key, _meta first", () => {
  const results: [result: CallToolResult, meta: Record<string, unknown>][] = [
    [OK, {}],
    [{ ...OK, meta: null, _meta: null }, {}],
    [{ ...OK, meta: { a: 1 } }, { a: 1 }],
    [{ ...OK, _meta: { a: 1 } }, { a: 1 }],
    [
      { ...OK, meta: { a: 1, b: 1 }, _meta: { a: 2, c: 2 } },
      { a: 2, b: 1, c: 2 },
    ],
  ];
  for (const [result, meta] of results) assertEquals(resultMeta(result), meta);
});

Deno.test("withResultMeta() keeps what was there and makes both keys equal", () => {
  const one = { ...OK, _meta: { mine: "kept", error_code: 1 } };
  const result = withResultMeta(one, { error_code: 4003 });
  const meta = { mine: "kept", error_code: 4003 };
  assertEquals(result, { ...OK, meta, _meta: meta });
  assertEquals(one._meta, { mine: "kept", error_code: 1 });
});

Deno.test("withResultMeta() mirrors a server's own _meta even when it adds nothing", () => {
  assertEquals(withResultMeta({ ...OK, _meta: { a: 1 } }, {}), {
    ...OK,
    meta: { a: 1 },
    _meta: { a: 1 },
  });
  assertStrictEquals(withResultMeta(OK, {}), OK);
});

Deno.test("mcpServerOf() is the bundle_id, else the server's name of older Computers", () => {
  const tool = {
    name: "t",
    description: "",
    params_schema: {},
    return_schema: null,
  };
  const named = { ...tool, meta: { [MCP_SERVER_KEY]: "files" } };
  const odd = { ...tool, meta: { [MCP_SERVER_KEY]: 1 } };
  const tools = [{ ...named, bundle_id: "b" }, named, odd, {
    ...tool,
    meta: {},
  }];
  assertEquals(tools.map(mcpServerOf), ["b", "files", undefined, undefined]);
});

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
/** Fields that a call may lack, and what may be in them. */
const optional = fc.dictionary(
  fc.constantFrom("_meta", "accepts"),
  fc.oneof(
    fc.constantFrom<unknown>(["form"], ["form", 1], {}, null, { a: { b: 1 } }),
    fc.tuple(fc.constantFrom("x", "ü", "€"), fc.integer({ min: 0, max: 9_000 }))
      .map(([letter, length]) => ({ a: letter.repeat(length) })),
    fc.jsonValue(),
  ),
);

Deno.test("isToolCallReq() takes exactly what the schema takes, and nothing of it is changed", () => {
  fc.assert(
    fc.property(
      fc.dictionary(field, value, { maxKeys: 3 }),
      fc.subarray(Object.keys(call), { maxLength: 1 }),
      optional,
      (changed, missing, more) => {
        const entries = Object.entries({ ...call, ...changed, ...more })
          .filter(([name]) => !missing.includes(name));
        // As JSON.parse() makes it: a key named __proto__ is one like any other.
        const data: unknown = Object.fromEntries(entries);
        const parsed = toolCallReqSchema.safeParse(data);
        if (isToolCallReq(data)) assertEquals(parsed.data, data);
        else {
          const isOdd = Object.hasOwn(Object(data), "__proto__");
          assert(!parsed.success || isOdd);
        }
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

const MCP: Resource = {
  uri: "a://b",
  title: "A",
  mimeType: "text/plain",
  annotations: { audience: ["user"], lastModified: "2026" },
  own: { mimeType: 1 },
};
const BOTH: Resource = {
  ...MCP,
  mime_type: "text/plain",
  annotations: { ...MCP.annotations, last_modified: "2026" },
};

Deno.test("inBothSpellings() adds the protocol's names to those of MCP, and drops nothing (protocol §8.2)", () => {
  for (const resource of [MCP, BOTH]) {
    assertEquals(inBothSpellings(resource), BOTH);
  }
});

Deno.test("inMcpSpelling() reads either spelling, and both (protocol §8.2)", () => {
  const { mimeType: _, ...rest } = MCP;
  const annotations = { audience: ["user"], last_modified: "2026" };
  const wire = { ...rest, mime_type: "text/plain", annotations };
  for (const resource of [MCP, BOTH, wire]) {
    assertEquals(inMcpSpelling(resource), MCP);
  }
});

Deno.test("resources of other shapes are left alone, and what an MCP server spells itself", () => {
  const others: Resource[] = [
    {},
    { uri: "a://b" },
    JSON.parse('{"mimeType": 1, "mime_type": null, "annotations": null}'),
    JSON.parse('{"annotations": "x"}'),
    { mimeType: "text/plain", mime_type: "its own" },
  ];
  for (const resource of others) {
    assertStrictEquals(inBothSpellings(resource), resource);
    assertStrictEquals(inMcpSpelling(resource), resource);
  }
});
