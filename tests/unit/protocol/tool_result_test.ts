import { assert, assertEquals, assertStrictEquals } from "@std/assert";
import { ErrorCode } from "../../../protocol/errors.ts";
import {
  cancelledResult,
  resultMeta,
  timeoutResult,
  toolErrorResult,
  type Wait,
  waitedFor,
  withResultMeta,
} from "../../../protocol/payloads/tool_result.ts";
import {
  type CallToolResult,
  MCP_SERVER_KEY,
  mcpServerOf,
  parseCallToolResult,
  waitingText,
} from "../../../protocol/payloads/tools.ts";

const OK: CallToolResult = { content: [{ type: "text", text: "done" }] };

/** Every result that this package makes up itself. */
const MADE: Record<string, [CallToolResult, Record<string, unknown>]> = {
  "toolErrorResult()": [
    toolErrorResult(ErrorCode.TOOL_AUTHORIZATION_REQUIRED, "log in first", {
      mcp_server: "web",
      auth_hint: { action: "login", message: "run login" },
    }),
    {
      error_code: 4006,
      mcp_server: "web",
      auth_hint: { action: "login", message: "run login" },
    },
  ],
  "toolErrorResult() without fields": [
    toolErrorResult(ErrorCode.TOOL_NOT_FOUND, "no such tool"),
    { error_code: 4001 },
  ],
  "timeoutResult()": [
    timeoutResult(30),
    { error_code: 4004, a2c_timeout: true, timeout: true },
  ],
  "cancelledResult()": [
    cancelledResult(),
    { a2c_cancelled: true, a2c_cancel_reason: "agent_requested" },
  ],
};

Deno.test("failures of a call are results: isError, text, and the meta of the spec", () => {
  for (const [made, [result, meta]] of Object.entries(MADE)) {
    assertEquals(result.isError, true, made);
    assertEquals(result.content.length, 1, made);
    assertEquals(result.content[0]?.type, "text", made);
    assert((result.content[0]?.text ?? "").length > 5, made);
    assertEquals(resultMeta(result), meta, made);
    assertEquals(parseCallToolResult(result), result, made);
  }
});

Deno.test("results are written with meta and _meta, equal", () => {
  for (const [made, [result, meta]] of Object.entries(MADE)) {
    assertEquals(result.meta, meta, made);
    assertEquals(result._meta, meta, made);
  }
  const added = withResultMeta(OK, { a: 1 });
  assertEquals(added, { ...OK, meta: { a: 1 }, _meta: { a: 1 } });
});

Deno.test("timeoutResult() tells a person how long was waited", () => {
  assert(timeoutResult(30).content[0]?.text?.includes("30 s"));
});

Deno.test("results of calls that waited for a person say for what, to people and to waitedFor()", () => {
  const ended = [
    [
      (wait?: Wait) => timeoutResult(9, wait),
      {
        none: "The tool did not answer within 9 s",
        confirmation:
          "Nobody at pc confirmed the call within 9 s; the tool did not run",
        answer:
          "Nobody at pc answered the question of the tool's MCP server within 9 s",
      },
    ],
    [
      (wait?: Wait) => cancelledResult("operator", wait),
      {
        none: "The call was cancelled by an operator of the Server",
        confirmation:
          "The call was cancelled by an operator of the Server; it waited for confirmation at pc",
        answer:
          "The call was cancelled by an operator of the Server; it waited for an answer at pc",
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
  assertEquals(
    waitingText("confirmation", "pc"),
    "waits for confirmation at pc",
  );
  assertEquals(waitingText("answer", "pc"), "waits for an answer at pc");
});

Deno.test("resultMeta() reads either key, _meta first", () => {
  const results: [result: CallToolResult, meta: Record<string, unknown>][] = [
    [OK, {}],
    [{ ...OK, meta: null, _meta: null }, {}],
    [{ ...OK, meta: { a: 1 } }, { a: 1 }],
    [{ ...OK, _meta: { a: 1 } }, { a: 1 }],
    [{ ...OK, meta: { a: 1, b: 1 }, _meta: { a: 2, c: 2 } }, {
      a: 2,
      b: 1,
      c: 2,
    }],
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
});

Deno.test("withResultMeta() leaves a result without metadata as it is", () => {
  assertStrictEquals(withResultMeta(OK, {}), OK);
});

Deno.test("mcpServerOf() is the bundle_id, else the server's name of older Computers", () => {
  const tool = {
    ...{ name: "t", description: "", params_schema: {}, return_schema: null },
    meta: { [MCP_SERVER_KEY]: "files" },
  };
  assertEquals(mcpServerOf({ ...tool, bundle_id: "b" }), "b");
  assertEquals(mcpServerOf(tool), "files");
  assertEquals(
    mcpServerOf({ ...tool, meta: { [MCP_SERVER_KEY]: 1 } }),
    undefined,
  );
  assertEquals(mcpServerOf({ ...tool, meta: {} }), undefined);
});
