import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  type HttpAnswerError,
  mcpErrorCode,
} from "../../../../computer/host/mcp/errors.ts";
import {
  checkHeaders,
  contentError,
  explainAnswer,
  noMessageError,
  quotingFetch,
  statusError,
} from "../../../../computer/host/mcp/http_answers.ts";
import { fetchWithTimeouts } from "../../../../computer/host/mcp/limited_fetch.ts";
import {
  readProgress,
  readTool,
} from "../../../../computer/host/mcp/mcp_connection.ts";
import { StrayOutput } from "../../../../computer/host/mcp/stdio.ts";
import { AuthorizationError } from "../../../../computer/host/oauth/authorized_fetch.ts";

const hide = (text: string) => text.replaceAll("secret", "***");

const json = (value: unknown) => JSON.stringify(value);

Deno.test("statusError() quotes the words for people in the answer of an MCP server", async () => {
  const html = `<html><head><title>No</title></head>\n<p>Try   again</p>`;
  const rows: [body: string, words: string][] = [
    ["", ": Bad Gateway"],
    [" \n", ": Bad Gateway"],
    ["plain\n text", ": plain text"],
    ["the secret", ": the ***"],
    ["ü".repeat(40_000), `: ${"ü".repeat(500)}…`],
    ["x".repeat(500), `: ${"x".repeat(500)}`],
    [html, ": No Try again"],
    [`  ${html}`, ": No Try again"],
    ["1 < 2 > 0", ": 1 < 2 > 0"],
    [json("text"), ": text"],
    [json({ message: "m", error: "e" }), ": m"],
    [json({ message: "", error_description: "d" }), ": d"],
    [json({ message: 5, detail: "d", title: "t" }), ": d"],
    [json({ title: "t" }), ": t"],
    [json({ error: "e" }), ": e"],
    [json({ message: "outer", error: { message: "inner" } }), ": inner"],
    [json({ error: { error: { detail: "deep" } } }), ": deep"],
    [json({ other: "o" }), ': {"other":"o"}'],
  ];
  for (const [body, words] of rows) {
    const init = { status: 502, statusText: "Bad Gateway" };
    const error = await statusError(new Response(body, init), hide);
    assertEquals(error.what, `answered HTTP 502${words}`);
    assertEquals([error.code, error.rpc], [502, undefined]);
  }
});

Deno.test("statusError() reads a character in two chunks as one, and the beginning of a long body", async () => {
  const bytes = new TextEncoder().encode("aüb");
  let left = 3;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const size = left-- > 2 ? 2 : 4;
      controller.enqueue(size === 2 ? bytes.slice(0, 2) : bytes.slice(2));
      if (left === 1) controller.close();
    },
  });
  const error = await statusError(new Response(body, { status: 500 }), hide);
  assertEquals(error.what, "answered HTTP 500: aüb");
  let isCancelled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(10_000).fill(97)),
    cancel: () => void (isCancelled = true),
  });
  const long = await statusError(new Response(endless, { status: 500 }), hide);
  assertEquals(long.what, `answered HTTP 500: ${"a".repeat(500)}…`);
  assert(isCancelled);
});

Deno.test("statusError() has the wait that the server names, and its error of JSON-RPC", async () => {
  const date = "Wed, 21 Oct 2026 07:28:00 GMT";
  const waits: [header: string, note: string][] = [
    ["5", " (Retry-After: 5 s)"],
    [date, ` (Retry-After: ${date})`],
    ["5 minutes", ""],
    ["-1", ""],
    ["9999999999", ""],
    ["<b>", ""],
  ];
  for (const [header, note] of waits) {
    const headers = { "retry-after": header };
    const response = new Response("no", { status: 429, headers });
    const { what } = await statusError(response, hide);
    assertEquals(what, `answered HTTP 429${note}: no`);
  }
  const error = { code: -32600, message: "m", data: { a: 1 } };
  const rows: [body: unknown, rpc: HttpAnswerError["rpc"]][] = [
    [{ jsonrpc: "2.0", error }, { code: -32600, data: { a: 1 } }],
    [{ jsonrpc: "1.0", error }, undefined],
    [{ jsonrpc: "2.0", error: { ...error, code: "x" } }, undefined],
    [{ jsonrpc: "2.0", result: error }, undefined],
    [[error], undefined],
  ];
  for (const [body, rpc] of rows) {
    const response = Response.json(body, { status: 400 });
    const answer = await statusError(response, hide);
    assertEquals(answer.rpc, rpc);
    assertEquals(mcpErrorCode(answer), rpc?.code);
  }
  const named = Object.assign(new Error("x"), { name: "McpError", code: "5" });
  assertEquals(mcpErrorCode(named), undefined);
});

Deno.test("an answer that is no message names what MCP has in its place", async () => {
  const of = (body: string, type?: string) => {
    const response = new Response(body);
    if (type === undefined) response.headers.delete("content-type");
    else response.headers.set("content-type", type);
    return contentError(response, hide);
  };
  const where = "where MCP has application/json or text/event-stream";
  const rows = [
    [await of("hi"), `answered with no Content-Type, ${where}: hi`],
    [
      await of("", "Text/HTML; charset=x"),
      `answered with Content-Type text/html, ${where}`,
    ],
    [
      await noMessageError(new Response("x", { status: 202 })),
      "answered HTTP 202 without a message, where MCP has the answer to the request",
    ],
  ] as const;
  for (const [error, what] of rows) assertEquals(error.what, what);
  assertEquals(rows.map(([{ code }]) => code), [200, 200, 202]);
});

Deno.test("explainAnswer() explains redirects and what is no JSON-RPC, and leaves other errors", () => {
  const coded = (code: unknown) =>
    Object.assign(
      new Error("Error POSTing to endpoint: <p>the secret</p>"),
      { code },
    );
  const odd = "answered with something that is not JSON-RPC";
  const moved = (code: number) =>
    `answered HTTP ${code}: the ***; correct its "url"`;
  const zod = Object.assign(new Error("x"), { name: "$ZodError" });
  const rows: [error: unknown, what: string | undefined][] = [
    [new SyntaxError("x"), odd],
    [zod, odd],
    [Object.assign(new Error("x"), { name: "ZodError" }), odd],
    [Object.assign(new Error("x"), { name: "ZodErrors" }), undefined],
    [coded(300), moved(300)],
    [coded(399), moved(399)],
    [coded(299), undefined],
    [coded(400), undefined],
    [coded("301"), undefined],
    [new Error("x"), undefined],
    [{ code: 301, message: "x" }, undefined],
  ];
  for (const [error, what] of rows) {
    const explained = explainAnswer(error, hide);
    if (what === undefined) assertEquals(explained, error);
    else assertEquals(Object(explained).what, what);
  }
});

Deno.test("quotingFetch() quotes a server that forbids a request of MCP, or refuses its stream", async () => {
  const request = { method: "POST", body: '{"method":"ping","id":1}' };
  const stream = { headers: { accept: "text/event-stream" } };
  const challenge = { "www-authenticate": "Bearer" };
  const rows: [
    init: RequestInit,
    response: ResponseInit,
    hasHeaders: boolean,
    outcome: string,
  ][] = [
    [request, { status: 200 }, false, "200"],
    [request, { status: 500 }, false, "500"],
    [request, { status: 403, headers: challenge }, false, "403"],
    [request, { status: 403 }, false, "configure"],
    [request, { status: 403 }, true, "grant"],
    [
      { ...request, headers: { authorization: "x" } },
      { status: 403 },
      false,
      "grant",
    ],
    [stream, { status: 403 }, false, "configure"],
    [stream, { status: 400 }, false, "400 answered HTTP 400: no http://a/"],
    [stream, { status: 399 }, false, "399"],
    [{ method: "POST" }, { status: 403 }, false, "403"],
    [{}, { status: 403 }, false, "403"],
  ];
  for (const [init, response, hasHeaders, outcome] of rows) {
    const refused: HttpAnswerError[] = [];
    const fetch = quotingFetch(
      () => Promise.resolve(new Response("no http://a/", response)),
      { hide, hasHeaders, refused: (error) => refused.push(error) },
    );
    const answered = await fetch("http://a/", init)
      .then(({ status }) => `${status}`, (error) => {
        assert(error instanceof AuthorizationError);
        assert(error.message.includes("no …"), error.message);
        return error.hint.action;
      });
    const whole = [answered, ...refused.map(({ what }) => what)].join(" ");
    assertEquals(whole, outcome, json([init, response]));
  }
});

Deno.test("checkHeaders() refuses what HTTP cannot carry, by name and place, without the value", () => {
  const fine = { "X-a": "é~\t", b: 5, c: true, d: "\r\n text \n", e: "" };
  checkHeaders(fine);
  const rows: [name: string, value: string, part: string][] = [
    ["a b", "x", '"a b" of its "headers": invalid name'],
    ["", "x", '"" of its "headers": invalid name'],
    ["a", "secret€", "character 7 of its value is U+20AC"],
    ["a", "  \u0007", "character 1 of its value is U+0007"],
    ["a", "x\ny", "character 2 of its value is U+000A"],
    ["a", "😀", "character 1 of its value is U+1F600"],
  ];
  for (const [name, value, part] of rows) {
    const check = () => checkHeaders({ ...fine, [name]: value });
    const { message } = assertThrows(check, Error, part);
    assert(!message.includes("secret"));
  }
});

Deno.test("StrayOutput quotes the last lines after the first n, hidden and cut", () => {
  const output = new StrayOutput(hide);
  const quoted = (first?: number) =>
    /printed (.*)$/.exec(output.quote(first))?.[1] ?? "";
  assertEquals([output.quote(), output.count], ["", 0]);
  output.push("the secret");
  output.push("two ");
  assertEquals(output.count, 2);
  assertEquals([quoted(), quoted(1), quoted(2)], [
    '"the ***\\ntwo"',
    '"two"',
    "",
  ]);
  for (let at = 3; at <= 25; at++) output.push(`${at}`);
  assertEquals(
    quoted(),
    json(Array.from({ length: 20 }, (_, at) => at + 6).join("\n")),
  );
  assertEquals([quoted(24), quoted(25), output.count], ['"25"', "", 25]);
  output.push("x".repeat(200));
  assertEquals(quoted(25), json("x".repeat(200)));
  output.push("y".repeat(201));
  assertEquals(quoted(26), json(`${"y".repeat(200)}…`));
});

Deno.test("readTool() takes names of 256 characters, titles, and the icons that can be used", () => {
  const read = (more: object) => {
    const problems: string[] = [];
    const entry = { name: "x", inputSchema: { type: "object" }, ...more };
    return { tool: readTool(entry, problems), problems };
  };
  const long = read({ name: "x".repeat(256) });
  assertEquals([long.tool?.name.length, long.problems], [256, []]);
  const titles = ["", "T", 5].map((title) => read({ title }).tool?.title);
  assertEquals(titles, [undefined, "T", undefined]);
  const icon = { src: "a", mimeType: "m", sizes: ["1x1"], theme: "dark" };
  const rows: [icons: unknown, expected: unknown][] = [
    ["none", undefined],
    [[icon], [icon]],
    [[null, "a", {}, { src: 5 }, { src: "x".repeat(8_193) }], []],
    [[{ src: "x".repeat(8_192) }], [{ src: "x".repeat(8_192) }]],
    [[{ src: "a", mimeType: 1, sizes: [1, "1x1"], theme: 1 }], [{ src: "a" }]],
    [[{ src: "a", sizes: "1x1" }], [{ src: "a" }]],
    [[5, ...Array(5).fill(icon)], Array(4).fill(icon)],
  ];
  for (const [icons, expected] of rows) {
    assertEquals<unknown>(read({ icons }).tool?.icons, expected, json(icons));
  }
});

Deno.test("readProgress() needs a number, and takes what else is valid", () => {
  const rows: [given: Record<string, unknown>, expected: object | undefined][] =
    [
      [{ progress: 0 }, { progress: 0 }],
      [{ progress: 1, total: 2, message: "m", more: 1 }, {
        progress: 1,
        total: 2,
        message: "m",
      }],
      [{ progress: 1, total: "2", message: 5 }, { progress: 1 }],
      [{ progress: 1, total: Infinity }, { progress: 1 }],
      [{ progress: "1" }, undefined],
      [{ progress: NaN }, undefined],
      [{}, undefined],
    ];
  for (const [given, expected] of rows) {
    assertEquals<unknown>(readProgress(given), expected);
  }
});

Deno.test("fetchWithTimeouts() refuses a long message, not a long stream of short ones, and cuts an error", async () => {
  const event = `data: ${"x".repeat(600)}\n\n`;
  const stream = { headers: { "content-type": "text/event-stream" } };
  const rows: [body: string, init: ResponseInit, length: number | undefined][] =
    [
      ["x".repeat(1_000), {}, 1_000],
      ["x".repeat(1_001), {}, undefined],
      [event.repeat(3), stream, event.length * 3],
      [event.repeat(3), {}, undefined],
      [`data: ${"x".repeat(1_000)}`, stream, undefined],
      ["x".repeat(70_000), { status: 500 }, 65_536],
      ["x".repeat(65_536), { status: 500 }, 65_536],
    ];
  const answers = rows.map(([body, init]) => new Response(body, init));
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () => answers.shift() ?? new Response(null, { status: 204 }),
  );
  const timeouts = { requestMs: 60_000, silenceMs: 60_000 };
  const fetch = fetchWithTimeouts(timeouts, 1_000);
  const get = () => fetch(`http://127.0.0.1:${server.addr.port}/`);
  for (const [body, init, length] of rows) {
    const read = async () => (await (await get()).text()).length;
    if (length === undefined) await assertRejects(read, Error, "1000");
    else assertEquals(await read(), length, json([body.slice(0, 9), init]));
  }
  const empty = await get();
  assertEquals([empty.status, empty.body], [204, null]);
});
