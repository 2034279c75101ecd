import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  ErrorCode,
  JSONRPCMessageSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import fc from "fast-check";
import { requestFailure } from "../../../../computer/tools/call_failure.ts";
import {
  sseTimeouts,
  streamableTimeouts,
} from "../../../../computer/host/mcp/http.ts";
import {
  type Line,
  LineDecoder,
  readMessage,
} from "../../../../computer/host/mcp/lines.ts";
import {
  CONNECTION_CLOSED,
  INVALID_PARAMS,
  mcpErrorCode,
  REQUEST_TIMEOUT,
} from "../../../../computer/host/mcp/errors.ts";
import { readTool } from "../../../../computer/host/mcp/connection.ts";

const bytes = (...values: number[]) => new Uint8Array(values);
const utf8 = (text: string) => new TextEncoder().encode(text);
const decoder = (
  encoding = "utf-8",
  encoding_error_handler: "strict" | "ignore" | "replace" = "strict",
) => new LineDecoder({ encoding, encoding_error_handler });

Deno.test("LineDecoder splits lines for any chunking", () => {
  const whole = utf8("one\ntwö\n\nthree");
  for (let size = 1; size <= whole.length; size++) {
    const lines = decoder();
    const texts: string[] = [];
    for (let at = 0; at < whole.length; at += size) {
      const chunk = whole.subarray(at, at + size);
      texts.push(...lines.push(chunk).map(({ text }) => text));
    }
    assertEquals(texts, ["one", "twö", ""], `chunks of ${size}`);
  }
});

Deno.test("LineDecoder treats invalid bytes as encoding_error_handler says", () => {
  const broken = bytes(0x61, 0xff, 0x62, 0x0a);
  const rows: ["strict" | "ignore" | "replace", Line][] = [
    ["strict", { text: "a\ufffdb", valid: false }],
    ["ignore", { text: "ab", valid: true }],
    ["replace", { text: "a\ufffdb", valid: true }],
  ];
  for (const [handler, expected] of rows) {
    assertEquals(decoder("utf-8", handler).push(broken), [expected]);
  }
});

Deno.test("LineDecoder takes U+FFFD that a server wrote for a valid character", () => {
  for (const handler of ["strict", "replace"] as const) {
    assertEquals(decoder("utf-8", handler).push(utf8("a\ufffdb\n")), [
      { text: "a\ufffdb", valid: true },
    ]);
  }
});

Deno.test("LineDecoder keeps a line while the next one grows in its place", () => {
  const lines = decoder();
  const texts = ["o", "ne\ntw", "o\nthr", "ee\n"].flatMap((text) =>
    lines.push(utf8(text)).map(({ text }) => text)
  );
  assertEquals(texts, ["one", "two", "three"]);
});

Deno.test("LineDecoder reads the named encoding, also in Python's spelling", () => {
  for (const label of ["latin1", "latin_1", "ISO-8859-1"]) {
    assertEquals(decoder(label).push(bytes(0xe4, 0x0a)), [
      { text: "ä", valid: true },
    ]);
  }
  assertEquals(decoder("gbk").push(bytes(0xc4, 0xe3, 0x0a)), [
    { text: "你", valid: true },
  ]);
  for (const label of ["utf_8", "utf8", "UTF-8"]) {
    assertEquals(decoder(label).isUtf8, true);
  }
});

Deno.test("LineDecoder refuses unknown encodings, and those with line ends of several bytes", () => {
  for (const label of ["klingon", "utf-16", "utf-16le"]) {
    const error = assertThrows(() => decoder(label), TypeError);
    assertStringIncludes(error.message, `"${label}"`);
  }
});

const line = (text: string, valid = true): Line => ({ text, valid });

Deno.test("readMessage() reads messages, also with null metadata", () => {
  const answer = { jsonrpc: "2.0" as const, id: 1, result: { a: 1 } };
  assertEquals(readMessage(line(JSON.stringify(answer)), "utf-8"), answer);
  const odd = { ...answer, result: { ...answer.result, _meta: null } };
  assertEquals(readMessage(line(JSON.stringify(odd)), "utf-8"), answer);
});

Deno.test("readMessage() returns what the MCP SDK's schema does, for answers of all kinds", () => {
  const value = fc.oneof(
    fc.constantFrom<unknown>("2.0", 1, 1.5, "x", null, {}, [], { a: [1] }),
    fc.constantFrom<unknown>({ _meta: { progressToken: 1 } }, { _meta: 5 }),
    fc.jsonValue(),
  );
  const field = fc.constantFrom("jsonrpc", "id", "result", "error", "method");
  const changes = fc.dictionary(field, value, { maxKeys: 2 });
  fc.assert(fc.property(changes, (changed) => {
    const text = JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, result: { a: 1 } },
      ...changed,
    });
    const { success, data } = JSONRPCMessageSchema.safeParse(JSON.parse(text));
    if (success) assertEquals(readMessage(line(text), "utf-8"), data);
  }));
});

Deno.test("readMessage() turns an unreadable answer into an error answer", () => {
  const invalid = line(
    '{"jsonrpc":"2.0","id":7,"result":{"a":"\ufffd"}}',
    false,
  );
  const odd = line('{"jsonrpc":"2.0","id":"x","result":5}');
  for (
    const [bad, id, part] of [[invalid, 7, "gbk"], [
      odd,
      "x",
      "JSON-RPC",
    ]] as const
  ) {
    const message = readMessage(bad, "gbk");
    assertEquals("id" in message && message.id, id);
    assertStringIncludes(JSON.stringify(message), part);
  }
});

Deno.test("readMessage() throws for an invalid line, without quoting it", () => {
  for (
    const text of ["password: hunter2", '{"hunter2":1}', "[]", '"hunter2"']
  ) {
    const error = assertThrows(() => readMessage(line(text), "utf-8"), Error);
    assertEquals(error.message.includes("hunter2"), false);
  }
});

Deno.test("readTool() skips or repairs an invalid entry, and reports it", () => {
  const schema = { type: "object" };
  const good = { name: "x", inputSchema: schema };
  const plain = {
    name: "x",
    description: "",
    inputSchema: schema,
    outputSchema: null,
    annotations: undefined,
    meta: {},
  };
  assertEquals(readTool(good), { tool: plain });
  const full = {
    description: "d",
    outputSchema: schema,
    annotations: { a: 1 },
  };
  assertEquals(readTool({ ...good, ...full, _meta: { b: 2 } }), {
    tool: { ...plain, ...full, meta: { b: 2 } },
  });
  assertEquals(
    readTool({ ...good, description: 5, annotations: null, _meta: [] }),
    { tool: plain },
  );
  const mended: [Record<string, unknown>, string][] = [
    [{ inputSchema: null }, "inputSchema"],
    [{ outputSchema: "no" }, "outputSchema"],
  ];
  for (const [fields, part] of mended) {
    const { tool, problem } = readTool({ ...good, ...fields });
    assertEquals(tool, plain);
    assertStringIncludes(problem ?? "", part);
  }
  for (
    const bad of [null, "x", {}, { name: "" }, { name: 5 }, {
      name: "x".repeat(257),
    }]
  ) {
    const { tool, problem } = readTool(bad);
    assertEquals(tool, undefined);
    assertStringIncludes(problem ?? "", "left out");
  }
});

Deno.test("durations above the longest timer are capped", () => {
  const longest = 2 ** 31 - 1;
  const server = { url: "http://host/", headers: null };
  assertEquals(
    sseTimeouts({ ...server, timeout: 9_999_999, sse_read_timeout: 0.5 }),
    { requestMs: longest, silenceMs: 500 },
  );
  assertEquals(
    streamableTimeouts({
      ...server,
      timeout: "PT30S",
      sse_read_timeout: "P365D",
      terminate_on_close: true,
    }),
    { requestMs: 30_000, silenceMs: longest },
  );
});

Deno.test("mcpErrorCode() recognises errors of the MCP SDK, and no others", () => {
  assertEquals(
    [
      ErrorCode.InvalidParams,
      ErrorCode.ConnectionClosed,
      ErrorCode.RequestTimeout,
    ].map((code) => mcpErrorCode(new McpError(code, "it failed"))),
    [INVALID_PARAMS, CONNECTION_CLOSED, REQUEST_TIMEOUT],
  );
  const others = [new Error("it failed"), { code: INVALID_PARAMS }, undefined];
  assertEquals(others.map(mcpErrorCode), [undefined, undefined, undefined]);
});

Deno.test("requestFailure() distinguishes answers of an MCP server from other failures", () => {
  const rows: [number, string, string][] = [
    [ErrorCode.RequestTimeout, "Request timed out", "did not answer in time"],
    [ErrorCode.ConnectionClosed, "Connection closed", "was lost meanwhile"],
    [
      ErrorCode.RequestTimeout,
      "no such session",
      "answered: MCP error -32001: no such session",
    ],
  ];
  for (const [code, text, expected] of rows) {
    assertEquals(
      requestFailure("a", new McpError(code, text)).message,
      `MCP server "a" ${expected}`,
    );
  }
});
