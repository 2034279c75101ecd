import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  CallToolRequestSchema,
  ErrorCode,
  JSONRPCMessageSchema,
  ListToolsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { PassThrough } from "node:stream";
import fc from "fast-check";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import { Questions } from "../../../../computer/host/mcp/questions.ts";
import { connectMcp } from "../../../../computer/host/mcp/connect.ts";
import {
  type AnswerQuestion,
  readTool,
} from "../../../../computer/host/mcp/mcp_connection.ts";
import {
  CONNECTION_CLOSED,
  HttpAnswerError,
  INVALID_PARAMS,
  mcpErrorCode,
  REQUEST_TIMEOUT,
  sdkFailure,
  URL_REQUIRED,
} from "../../../../computer/host/mcp/errors.ts";
import { httpTimeouts } from "../../../../computer/host/mcp/http.ts";
import { lineQueue, readMessage } from "../../../../computer/host/mcp/lines.ts";
import { requestFailure } from "../../../../computer/tools/call_failure.ts";
import { writtenOf } from "../../../../shared/json/written.ts";
import { type Line, LineDecoder } from "../../../../shared/line_decoder.ts";
import { seeded } from "../../../support/wire/hostile_payloads.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

const line = (text: string, valid = true): Line => ({ text, valid });

Deno.test("lineQueue() takes the rest at the end, in its order", () => {
  const taken: string[] = [];
  const queue = lineQueue(
    new PassThrough(),
    (line) => "text" in line && taken.push(line.text),
  );
  const all = Array.from({ length: 1_000 }, (_, at) => `${at}`);
  queue.push(all.map((text) => line(text)), 1_000);
  assert(taken.length < all.length, "some wait for the next turn");
  queue.end();
  assertEquals(taken, all);
});

/** Reads an answer as a long line; returns its result, and the text of that. */
function readLong(text: string, bytes = utf8(text)) {
  const message = readMessage({ ...line(text), bytes }, "utf-8");
  assert("result" in message);
  const { result } = message;
  const written = writtenOf(result);
  return { result, text: written && new TextDecoder().decode(written) };
}

/** Answers, and the text of the result that is kept of each. */
const WRITTEN: readonly (readonly [answer: string, text?: string])[] = [
  ['{"jsonrpc":"2.0","id":1,"result":{"a":"}"}}', '{"a":"}"}'],
  ['{"result":{"a":"}"},"jsonrpc":"2.0","id":1}', '{"a":"}"}'],
  ['{"id":12,"result":{"a":{}},"jsonrpc":"2.0"}\r', '{"a":{}}'],
  ['{ "jsonrpc": "2.0", "id": 1, "result": { "a": [] } } ', '{ "a": [] }'],
  [
    '{"result" : {"é":"\\u00e9€😀"}\t,"id":1 ,"jsonrpc":"2.0" }',
    '{"é":"\\u00e9€😀"}',
  ],
  [
    '{"jsonrpc":"2.0","id":1,"result":{"n":[1e2,-0,1.50]}}',
    '{"n":[1e2,-0,1.50]}',
  ],
  [
    '{"jsonrpc":"2.0","id":1,"result":{"id":2,"result":{},"jsonrpc":"2.0"}}',
    '{"id":2,"result":{},"jsonrpc":"2.0"}',
  ],
  // Readers differ in what a name means that is given twice.
  ['{"jsonrpc":"2.0","id":1,"result":{"a":1},"result":{"b":2}}'],
  ['{"jsonrpc":"2.0","id":1,"id":1,"result":{"a":1}}'],
  ['{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":{"c":1,"\\u0063":2}}}'],
  ['{"jsonrpc":"2.0","id":1,"result":{"n":1e400}}'],
  // Valid, and rarely written so.
  ['{"jsonrpc":"2.0","id":1.0,"result":{"a":1}}'],
  ['{"result":{"a":1},"id":1e0,"jsonrpc":"2.0"}'],
  ['{"json\\u0072pc":"2.0","id":1,"result":{"a":1}}'],
  ['{"result":{"a":1},"json\\u0072pc":"2.0","id":1}'],
  // Their mended result is another one.
  ['{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1}}}'],
];

Deno.test("readMessage() keeps the text of a long result, where it is certain what it is", () => {
  for (const [answer, expected] of WRITTEN) {
    assertEquals(readLong(answer).text, expected, answer);
  }
  const values = (count: number) => JSON.stringify(Array(count).fill(0));
  const answer = (list: string) =>
    `{"jsonrpc":"2.0","id":1,"result":{"a":${list}}}`;
  assertEquals(readLong(answer(values(998))).text?.length, 6 + 1_997);
  assertEquals(readLong(answer(values(999))).text, undefined);
});

Deno.test("readMessage() keeps no text of a line with a byte order mark, or without its bytes", () => {
  const [[answer = ""] = []] = WRITTEN;
  assertEquals(readLong(answer, utf8("\ufeff" + answer)).text, undefined);
  const message = readMessage(line(answer), "utf-8");
  assert("result" in message);
  assertEquals(writtenOf(message.result), undefined);
});

/** A JSON text of a value with space between its tokens, some of its letters escaped, and maybe a name twice. */
function rewrite(value: unknown, random: () => number): string {
  const space = () => " \t\r"[Math.floor(random() * 12)] ?? "";
  const around = (text: string) => `${space()}${text}${space()}`;
  if (typeof value === "string") {
    const text = JSON.stringify(value);
    return around(
      random() < 0.95
        ? text
        : text.replaceAll(/[a-zé]/g, (letter) =>
          /\\/.test(text)
            ? letter
            : `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`),
    );
  }
  if (typeof value !== "object" || value === null) {
    return around(JSON.stringify(value));
  }
  if (Array.isArray(value)) {
    return around(`[${value.map((item) => rewrite(item, random)).join()}]`);
  }
  const members = Object.entries(value).map(([name, item]) =>
    `${rewrite(name, random)}:${rewrite(item, random)}`
  );
  if (random() < 0.05 && members[0]) members.unshift(members[0]);
  return around(`{${members.join()}}`);
}

Deno.test("readMessage() keeps a text only that means its result, of answers however written", () => {
  let kept = 0;
  const fields = fc.shuffledSubarray(["jsonrpc", "id", "result"], {
    minLength: 3,
  });
  const results = fc.dictionary(
    fc.oneof(fc.string(), fc.constantFrom("id", "result", "jsonrpc", "a")),
    fc.jsonValue({ maxDepth: 3 }),
  );
  fc.assert(
    fc.property(
      fields,
      results,
      fc.nat(),
      fc.nat(),
      (fields, result, id, seed) => {
        const all: Record<string, unknown> = { jsonrpc: "2.0", id, result };
        const answer = Object.fromEntries(
          fields.map((name) => [name, all[name]]),
        );
        const random = seeded(seed);
        const text = rewrite(answer, random).trim();
        const read = readMessage({ ...line(text), bytes: utf8(text) }, "utf-8");
        if (!("result" in read)) return;
        const written = writtenOf(read.result);
        if (!written) return;
        kept++;
        const own = new TextDecoder().decode(written);
        assert(text.includes(own));
        assertEquals(
          JSON.stringify(JSON.parse(own)),
          JSON.stringify(read.result),
        );
        assertEquals([own[0], own.at(-1)], ["{", "}"]);
      },
    ),
    { numRuns: 2_000 },
  );
  assert(kept > 100, `${kept}`);
});

Deno.test("readMessage() returns what the MCP SDK's schema does, for answers of all kinds", () => {
  const value = fc.oneof(
    fc.constantFrom<unknown>("2.0", 1, 1.5, "x", null, {}, [], { a: [1] }),
    fc.constantFrom<unknown>({ _meta: { progressToken: 1 } }, { _meta: 5 }),
    fc.jsonValue(),
  );
  const field = fc.constantFrom("jsonrpc", "id", "result", "error", "method");
  const changes = fc.dictionary(field, value, { maxKeys: 2 });
  const answer = { jsonrpc: "2.0", id: 1, result: { a: 1 } };
  fc.assert(fc.property(changes, (changed) => {
    const text = JSON.stringify({ ...answer, ...changed });
    const { success, data } = JSONRPCMessageSchema.safeParse(JSON.parse(text));
    if (success) assertEquals(readMessage(line(text), "utf-8"), data);
  }));
  for (const _meta of [null, 5, [], "a"]) {
    const odd = { ...answer, result: { ...answer.result, _meta } };
    assertEquals<unknown>(
      readMessage(line(JSON.stringify(odd)), "utf-8"),
      answer,
    );
  }
  const _meta = { progressToken: {}, other: 1 };
  const odd = { ...answer, result: { _meta } };
  assertEquals<unknown>(readMessage(line(JSON.stringify(odd)), "utf-8"), {
    ...answer,
    result: { _meta: { other: 1 } },
  });
});

Deno.test("readMessage() turns an unreadable answer into an error answer, and throws for another line without quoting it", () => {
  const rows: [text: string, valid: boolean, id: unknown, part: string][] = [
    ['{"jsonrpc":"2.0","id":7,"result":{"a":"\ufffd"}}', false, 7, "gbk"],
    ['{"jsonrpc":"2.0","id":"x","result":5}', true, "x", "JSON-RPC"],
    ['{"jsonrpc":"2.0","id":7}', true, 7, "JSON-RPC"],
    ['{"jsonrpc":"2.0","id":7,"result":{"a":NaN}}', true, 7, "not JSON"],
  ];
  for (const [text, valid, id, part] of rows) {
    const message = readMessage(line(text, valid), "gbk");
    assertEquals("id" in message && message.id, id);
    assertStringIncludes(JSON.stringify(message), part);
  }
  for (
    const text of [
      "password: hunter2",
      '{"hunter2":1}',
      '{"id":7,"hunter2":1}',
      '{"id":7,"hunter2":NaN}',
      '{"jsonrpc":"2.0","id":7,"method":"x","params":NaN}',
      '{"jsonrpc":"2.0","id":7,"method":5}',
      "[]",
      '"hunter2"',
    ]
  ) {
    const error = assertThrows(() => readMessage(line(text), "utf-8"), Error);
    assertEquals(error.message.includes("hunter2"), false);
  }
});

Deno.test("LineDecoder counts the values of a long line, and readMessage() refuses too many without reading them: the answer of a request, if it is one", () => {
  const lists = (count: number) => "[],".repeat(count) + "[]";
  const lines = new LineDecoder(
    { encoding: "utf-8", encoding_error_handler: "strict" },
    64 * 2 ** 20,
  );
  const read = (text: string) => {
    const [line] = lines.push(utf8(`${text}\n`));
    assert(line && "text" in line);
    return readMessage(line, "utf-8");
  };
  const large = (id: string, count = 600_000) =>
    `{"jsonrpc":"2.0","result":{"id":2,"a":[${lists(count)}]},"id":${id}}`;
  assertEquals(read(large("7", 400_000)), JSON.parse(large("7", 400_000)));
  for (const id of ["7", '"x"']) {
    const message = read(large(id));
    assert("error" in message);
    assertEquals(message.id, JSON.parse(id));
    assertStringIncludes(message.error.message, "more than 1000000 values");
  }
  const values = lists(600_000);
  for (
    const text of [
      `{"jsonrpc":"2.0","id":7,"method":"x","params":[${values}]}`,
      large("null"),
      `[${values}]`,
      `{"id":7,"result":[${values}`,
    ]
  ) assertThrows(() => read(text), Error, "more than 1000000 values");
});

Deno.test("readTool() skips or repairs an invalid entry, and reports it", () => {
  const inputSchema = { type: "object" };
  const good = { name: "x", inputSchema };
  const plain = {
    ...good,
    description: "",
    outputSchema: null,
    annotations: undefined,
    meta: {},
  };
  const full = {
    description: "d",
    outputSchema: inputSchema,
    annotations: { a: 1 },
  };
  const rows: [unknown, tool: unknown, problem?: string][] = [
    [good, plain],
    [{ ...good, ...full, _meta: { b: 2 } }, {
      ...plain,
      ...full,
      meta: { b: 2 },
    }],
    [{ ...good, description: 5, annotations: null, _meta: [] }, plain],
    [{ ...good, inputSchema: null }, plain, "inputSchema"],
    [{ ...good, outputSchema: "no" }, plain, "outputSchema"],
    ...[null, "x", {}, { name: "" }, { name: 5 }, { name: "x".repeat(257) }]
      .map((bad): [unknown, unknown, string] => [bad, undefined, "left out"]),
  ];
  for (const [entry, expected, part] of rows) {
    const problems: string[] = [];
    assertEquals<unknown>(readTool(entry, problems), expected);
    assertEquals(problems.length, part === undefined ? 0 : 1);
    assertStringIncludes(problems.join(), part ?? "");
  }
});

Deno.test("durations above the longest timer are capped", () => {
  const longest = 2 ** 31 - 1;
  assertEquals(
    httpTimeouts({ timeout: 9_999_999, sse_read_timeout: 0.5 }),
    { requestMs: longest, silenceMs: 500 },
  );
  assertEquals(
    httpTimeouts({ timeout: "PT30S", sse_read_timeout: "P365D" }),
    { requestMs: 30_000, silenceMs: longest },
  );
});

Deno.test("mcpErrorCode() recognises errors of the MCP SDK, and no others", () => {
  const { InvalidParams, ConnectionClosed, RequestTimeout } = ErrorCode;
  const errors = [InvalidParams, ConnectionClosed, RequestTimeout]
    .map((code) => new McpError(code, "it failed"));
  const others = [new Error("it failed"), { code: INVALID_PARAMS }, undefined];
  assertEquals(
    [...errors, ...others].map(mcpErrorCode),
    [
      INVALID_PARAMS,
      CONNECTION_CLOSED,
      REQUEST_TIMEOUT,
      undefined,
      undefined,
      undefined,
    ],
  );
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
    const { message } = requestFailure("a", new McpError(code, text));
    assertEquals(message, `MCP server "a" ${expected}`);
  }
  const elicitations = [{ url: "https://example.com/sign-in" }];
  const statuses: [rpc: HttpAnswerError["rpc"], number, string][] = [
    [undefined, 500, "answered HTTP 400: no"],
    [{ code: -32000, data: undefined }, 500, "answered HTTP 400: no"],
    [{ code: INVALID_PARAMS, data: undefined }, 400, "answered HTTP 400: no"],
    [
      { code: URL_REQUIRED, data: { elicitations } },
      500,
      "needs a person to open https://example.com/sign-in first; then call again",
    ],
  ];
  for (const [rpc, expected, text] of statuses) {
    const error = new HttpAnswerError("answered HTTP 400: no", 400, rpc);
    const { code, message } = requestFailure("a", error);
    assertEquals([code, message], [expected, `MCP server "a" ${text}`]);
  }
});

Deno.test("sdkFailure() knows the errors of the MCP SDK: a lost connection, and no answer in time; a server's own with the same codes are others", async () => {
  const server = new Server({ name: "s", version: "1" }, {
    capabilities: { tools: {} },
  });
  const called = Promise.withResolvers<void>();
  server.setRequestHandler(CallToolRequestSchema, () => {
    called.resolve();
    return new Promise<never>(() => {});
  });
  let code = 0;
  server.setRequestHandler(ListToolsRequestSchema, () => {
    throw new McpError(code, "said by the server");
  });
  const client = new Client({ name: "c", version: "1" });
  const [a, b] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(a), client.connect(b)]);
  const call = (timeout?: number) =>
    assertRejects(
      () =>
        client.callTool({ name: "x" }, undefined, {
          ...(timeout && { timeout }),
        }),
      Error,
    );
  for (code of [CONNECTION_CLOSED, REQUEST_TIMEOUT]) {
    const error = await assertRejects(() => client.listTools(), Error);
    assertEquals([mcpErrorCode(error), sdkFailure(error)], [code, undefined]);
  }
  assertEquals(sdkFailure(await call(1)), "timeout");
  const lost = call();
  await called.promise;
  await client.close();
  assertEquals(sdkFailure(await lost), "closed");
});

Deno.test("connectMcp() rejects with the reason of an abort, whose message cannot be set", async () => {
  const { servers: [config] } = parseComputerConfig({
    servers: {
      a: {
        type: "streamable",
        server_parameters: { url: "http://127.0.0.1:1/mcp" },
      },
    },
  });
  assert(config);
  const error = await assertRejects(() =>
    connectMcp(config, AbortSignal.abort())
  );
  assert(error instanceof DOMException);
});

Deno.test("a question is withdrawn when the last call that may have caused it ends, before that returns", async () => {
  const questions = new Questions();
  const asked = Promise.withResolvers<AbortSignal>();
  const answer: AnswerQuestion = (_, { signal }) => {
    asked.resolve(signal);
    return new Promise(() => {});
  };
  const ends = [1, 2].map(() => Promise.withResolvers<void>());
  const calls = ends.map(({ promise }) =>
    questions.during(answer, () => promise)
  );
  const requestedSchema = { type: "object" as const, properties: {} };
  const { signal: never } = new AbortController();
  void questions.answer({ message: "Which?", requestedSchema }, never);
  const signal = await asked.promise;
  const withdrawn: boolean[] = [];
  for (const [i, call] of calls.entries()) {
    ends[i]?.resolve();
    await call;
    withdrawn.push(signal.aborted);
  }
  assertEquals(withdrawn, [false, true]);
});
