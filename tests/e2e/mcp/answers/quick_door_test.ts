import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { once } from "node:events";
import { request } from "node:http";
import { readLoneRequest } from "../../../../mcp/http/quick_message.ts";
import { fixtureHere } from "../../../support/computer/fixture_here.ts";
import { CLIENTS, isCancelled } from "../../../support/mcp/clients.ts";
import {
  GATEWAY_KEYS,
  type ServedGateway,
  startGateway,
} from "../../../support/mcp/gateway.ts";
import { present } from "../../../../shared/checks.ts";
import {
  fetchByTheApp,
  INITIALIZE,
  message,
  post,
} from "../../../support/mcp/post.ts";
import { TASKS } from "../../../support/mcp/tasks.ts";
import { hurryTimers } from "../../../support/timers.ts";

/** The quick door leaves a request without a length to the app. */
const BY_THE_APP = { "transfer-encoding": "chunked" };
const WAYS = { "by the quick door": {}, "by the app": BY_THE_APP };

/** Opens a session of a client that can be asked, or cannot. */
async function openSession(
  { url }: Pick<ServedGateway, "url">,
  headers: Readonly<Record<string, string>> = {},
  capabilities: object = {},
): Promise<Record<string, string>> {
  const body = INITIALIZE.replace(
    '"capabilities":{}',
    `"capabilities":${JSON.stringify(capabilities)}`,
  );
  const opened = await post(url, { body, headers });
  assertEquals(opened.status, 200);
  return {
    ...headers,
    "mcp-session-id": String(opened.headers["mcp-session-id"]),
  };
}

type Answer = Awaited<ReturnType<typeof post>>;

/** What a client reads of an answer, whether it is JSON or a stream. */
function readAnswer({ status, headers, body }: Answer) {
  const isStream = headers["content-type"] === "text/event-stream";
  const messages = isStream
    ? [...body.matchAll(/^data: (.+)$/gm)].map(([, data]) =>
      JSON.parse(data ?? "")
    )
    : body === ""
    ? []
    : [JSON.parse(body)];
  return { status, session: headers["mcp-session-id"], messages };
}

/** Sends a body in both ways; returns what both are answered with, and whether the quick door did. */
async function bothWays(
  { url }: Pick<ServedGateway, "url">,
  headers: Readonly<Record<string, string>>,
  body: string,
) {
  const quick = await post(url, { body, headers });
  const app = await post(url, { body, headers: { ...headers, ...BY_THE_APP } });
  const answer = readAnswer(app);
  assertEquals(readAnswer(quick), answer, body);
  const isQuick = quick.status === 200 &&
    quick.headers["content-type"] === "application/json";
  return { isQuick, answer };
}

const TOOL = { inputSchema: { type: "object" } };

/** Tools with all kinds of results, and one whose schema is another one for clients before 2026. */
const fixture = () => ({
  fix: fixtureHere({
    extraTools: [
      { ...TOOL, name: "list", outputSchema: { type: "array" } },
      {
        name: "city",
        inputSchema: {
          type: "object",
          properties: { city: { type: "string", "x-mcp-header": "City" } },
        },
      },
    ],
  }),
});

const call = (name: string, args: object = {}, more: object = {}) =>
  message(7, "tools/call", { name: `pc__${name}`, arguments: args, ...more });

/** Messages of a session, and whether the quick door answers them. */
const MESSAGES: readonly (readonly [body: string, isQuick: boolean])[] = [
  [call("echo", { text: "hello" }), true],
  [call("echo", { text: "ü€😀\u0000" }), true],
  [call("echo", {}, { _meta: {} }), true],
  [call("echo", {}, { _meta: { own: 1 } }), true],
  [call("fail"), true],
  [call("throw"), true],
  [call("meta"), true],
  [call("unknown"), false],
  [call("ask"), true],
  [message(7, "tools/call", { name: "pc__echo" }), true],
  [message(7, "tools/call", { name: "pc__echo", arguments: null }), false],
  [message(7, "tools/call", { arguments: {} }), false],
  [message(7, "tools/call"), false],
  [call("echo", {}, { task: {} }), false],
  [call("echo", {}, { _meta: { progressToken: {} } }), false],
  [call("echo", {}, { _meta: { "io.modelcontextprotocol/x": 1 } }), false],
  [call("echo").replace("{}", '{"__proto__":{"a":1}}'), false],
  [message(7, "tools/list"), false],
  [message(7, "tools/list", { cursor: "x" }), false],
  [message(7, "ping"), true],
  [message(7, "ping", { x: 1 }), false],
  [message(7, "resources/list"), false],
  [message(7, "prompts/list"), false],
  [message(7, "unknown"), false],
  [message(7, "initialize"), false],
  [`[${message(7, "ping")}]`, false],
  ["[]", false],
  ["{", false],
  ["", false],
  ["null", false],
  ["7", false],
  [JSON.stringify({ jsonrpc: "2.0", method: "notifications/x" }), false],
  [JSON.stringify({ jsonrpc: "2.0", id: 7, result: {} }), false],
  [JSON.stringify({ jsonrpc: "2.0", id: null, method: "ping" }), false],
  [JSON.stringify({ jsonrpc: "2.0", id: 1.5, method: "ping" }), false],
  [JSON.stringify({ jsonrpc: "1.0", id: 7, method: "ping" }), false],
  [JSON.stringify({ jsonrpc: "2.0", id: 7, method: "ping", x: 1 }), false],
  [call("echo", { a: Array(60_000).fill(1) }), false],
];

/** What clients declare that have the Tasks extension, and those without. */
const DECLARED = { "without tasks": {}, "with tasks": { extensions: TASKS } };

for (const [kind, declared] of Object.entries(DECLARED)) {
  Deno.test(`${kind}: every message of a session has the same answer by the quick door and by the app`, async () => {
    await using served = await startGateway({ servers: fixture() });
    const headers = await openSession(served, {}, declared);
    for (const [body, expected] of MESSAGES) {
      const { isQuick } = await bothWays(served, headers, body);
      assertEquals(isQuick, expected, body);
    }
  });
}

Deno.test("lists of tools are answered by the quick door, and pages of them", async () => {
  await using served = await startGateway();
  const headers = await openSession(served);
  for (const params of [undefined, {}, { _meta: {} }, { cursor: "1" }]) {
    const body = message(7, "tools/list", params);
    assertEquals((await bothWays(served, headers, body)).isQuick, true);
  }
  const wrong = message(7, "tools/list", { cursor: "x" });
  assertEquals((await bothWays(served, headers, wrong)).isQuick, false);
});

/** The headers of a call without a session. */
const LONE = {
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "pc__echo",
};
const VERSION = "io.modelcontextprotocol/protocolVersion";
const INFO = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const ENVELOPE = {
  [VERSION]: "2026-07-28",
  [CAPABILITIES]: {},
  [INFO]: { name: "raw", version: "1" },
};

/** A call without a session. */
const lone = (meta: object = {}, params: object = {}) =>
  message(7, "tools/call", {
    name: "pc__echo",
    arguments: { text: "hello" },
    ...params,
    _meta: { ...ENVELOPE, ...meta },
  });

const LISTS = { "mcp-method": "tools/list", "mcp-name": undefined };

/** A request for a list of tools without a session. */
const loneList = (meta: object = {}, params: object = {}) =>
  message(7, "tools/list", { ...params, _meta: { ...ENVELOPE, ...meta } });

/** Requests without a session: what differs in their headers, their body, and whether that is for the quick door. */
const LONE_REQUESTS: readonly (readonly [object, string, boolean])[] = [
  [{}, lone(), true],
  [{}, lone({ own: { a: 1 } }), true],
  [{}, lone({ [CAPABILITIES]: { elicitation: {}, roots: {} } }), true],
  [{}, lone({ [CAPABILITIES]: { elicitation: 1 } }), false],
  [{}, lone({ [CAPABILITIES]: undefined }), false],
  [{}, lone({ [INFO]: undefined }), true],
  [{}, lone({ [INFO]: { name: "raw" } }), false],
  [{}, lone({ [VERSION]: "2025-11-25" }), false],
  [{}, lone({ [VERSION]: "2027-01-01" }), false],
  [{}, lone({ [VERSION]: 1 }), false],
  [{}, lone({ "io.modelcontextprotocol/logLevel": "debug" }), false],
  [{}, lone({ "io.modelcontextprotocol/logLevel": "loud" }), false],
  [{}, lone({ progressToken: {} }), false],
  [{}, lone({}, { arguments: 1 }), false],
  [{}, lone({}, { name: "pc__fail" }), false],
  [{ "mcp-name": "pc__fail" }, lone({}, { name: "pc__fail" }), true],
  [{ "mcp-name": "pc__meta" }, lone({}, { name: "pc__meta" }), true],
  [{ "mcp-name": "pc__none" }, lone({}, { name: "pc__none" }), true],
  [{ "mcp-name": "pc__ask" }, lone({}, { name: "pc__ask" }), true],
  [{ "mcp-name": "=?base64?cGNfX2VjaG8=?=" }, lone(), false],
  [{ "mcp-method": "tools/list" }, lone(), false],
  [{ "mcp-protocol-version": "2025-11-25" }, lone(), false],
  [LISTS, loneList(), true],
  [LISTS, loneList({ own: 1 }), true],
  [LISTS, loneList({}, { cursor: "1" }), true],
  [LISTS, loneList({}, { cursor: "x" }), true],
  [LISTS, loneList({}, { cursor: 1 }), false],
  [LISTS, loneList({ [CAPABILITIES]: undefined }), false],
  [LISTS, loneList({ [VERSION]: "2025-11-25" }), false],
  [LISTS, lone(), false],
  [{ ...LISTS, "mcp-name": "pc__echo" }, loneList(), false],
  [{ "mcp-method": "ping", "mcp-name": undefined }, loneList(), false],
  [{ accept: "application/json" }, lone(), true],
  [{ "mcp-name": "pc__city" }, lone({}, { name: "pc__city" }), true],
  [
    { "mcp-name": "pc__city", "mcp-param-city": "Ulm" },
    lone({}, { name: "pc__city", arguments: { city: "Ulm" } }),
    true,
  ],
  [
    { "mcp-name": "pc__city", "mcp-param-city": "Bonn" },
    lone({}, { name: "pc__city", arguments: { city: "Ulm" } }),
    true,
  ],
  [
    { "mcp-name": "pc__city" },
    lone({}, { name: "pc__city", arguments: { city: "Ulm" } }),
    true,
  ],
];

/** The same request of a client that declares more, where it declares anything. */
function declaring(body: string, more: object): string {
  const { params, ...request } = JSON.parse(body);
  const { [CAPABILITIES]: capabilities, ...meta } = params._meta;
  const all = capabilities && { [CAPABILITIES]: { ...capabilities, ...more } };
  const _meta = { ...meta, ...all };
  return JSON.stringify({ ...request, params: { ...params, _meta } });
}

for (const [kind, declared] of Object.entries(DECLARED)) {
  Deno.test(`${kind}: every request without a session has the same answer by the quick door and by the app`, async () => {
    await using served = await startGateway({ servers: fixture() });
    await post(served.url, { body: INITIALIZE }); // its office is open
    for (const [headers, given, expected] of LONE_REQUESTS) {
      const all = present<Record<string, string>>({ ...LONE, ...headers });
      const body = declaring(given, declared);
      for (const _ of ["first", "known"]) await bothWays(served, all, body);
      const isRead = readLoneRequest(JSON.parse(body), all) !== undefined;
      assertEquals(isRead, expected, JSON.stringify(headers) + body);
    }
  });
}

Deno.test("whatever the envelope of a call is made of, it has the same answer by the quick door and by the app", async () => {
  await using served = await startGateway();
  await post(served.url, { body: INITIALIZE });
  const values = fc.oneof(
    fc.constantFrom<unknown>(undefined, null, 1, "", [], {}, "2026-07-28"),
    fc.dictionary(
      fc.constantFrom("name", "version", "elicitation", "extensions", "form"),
      fc.constantFrom<unknown>("x", 1, {}, [], { form: {} }, { a: {} }, TASKS),
    ),
  );
  const envelope = fc.record({
    [VERSION]: fc.oneof({ weight: 9, arbitrary: fc.constant("2026-07-28") }, {
      weight: 1,
      arbitrary: values,
    }),
    [CAPABILITIES]: values,
    [INFO]: fc.oneof(fc.constant({ name: "a", version: "1" }), values),
    progressToken: fc.constantFrom<unknown>(undefined, undefined, null, {}),
  });
  let quick = 0;
  await fc.assert(
    fc.asyncProperty(envelope, async (meta) => {
      const body = lone(meta);
      await bothWays(served, LONE, body);
      if (readLoneRequest(JSON.parse(body), LONE)) quick++;
    }),
    { numRuns: 200 },
  );
  assert(quick > 5, `${quick}`);
});

Deno.test("a session answers the same before and after it has needed a server of the MCP SDK", async () => {
  await using served = await startGateway();
  const notice = JSON.stringify({
    jsonrpc: "2.0",
    method: "notifications/initialized",
  });
  const headers = [
    {},
    { "mcp-protocol-version": "1999-01-01" },
    { accept: "application/json" },
    { accept: "*/*" },
  ];
  const list = message(7, "prompts/list");
  const fresh = [];
  const used = [];
  for (const more of headers) {
    const session = await openSession(served);
    const tell = async () =>
      readAnswer(
        await post(served.url, {
          body: notice,
          headers: { ...session, ...more },
        }),
      );
    const { session: _, ...first } = await tell();
    fresh.push(first);
    // Both need the server, which gets what the client has said of itself.
    const both = await Promise.all(
      [1, 2].map(() => post(served.url, { body: list, headers: session })),
    );
    const [one, other] = both.map(readAnswer);
    assertEquals(one, other);
    assertEquals(one?.messages[0]?.result, { prompts: [] });
    used.push(await tell().then(({ session: _, ...then }) => then));
  }
  assertEquals(fresh, used);
  assertEquals(used.map(({ status }) => status), [202, 400, 406, 202]);
});

/** Parts of messages, of which few make a valid one. */
const PARTS = {
  jsonrpc: [...Array(9).fill('"2.0"'), '"1.0"', "null"],
  id: [...Array(9).fill("7"), '"a"', '""', "-0", "1e3", "1e400", "null", "[7]"],
  method: [...Array(9).fill('"tools/call"'), '"tools/list"', '"ping"', '"x"'],
  params: ["{", "[", "null", "7"],
  name: [...Array(9).fill('"pc__echo"'), '"pc__none"', '""', "7", "null"],
  arguments: [
    "{}",
    '{"text":"a"}',
    '{"text":{"__proto__":1}}',
    '{"__proto__":1}',
    '{"text":"a","text":"b"}',
    "[]",
    "null",
    '"a"',
  ],
  _meta: [
    "{}",
    '{"progressToken":1}',
    '{"progressToken":1.5}',
    '{"progressToken":null}',
    '{"__proto__":{}}',
    '{"io.modelcontextprotocol/related-task":{"taskId":"1"}}',
    '{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}',
    "null",
    "[]",
  ],
  cursor: ['"0"', '"1"', "7", "null"],
};

const partOf = (name: keyof typeof PARTS) =>
  fc.constantFrom<string[]>(...PARTS[name]).map((value) =>
    `"${name}":${value}`
  );

const object = (members: readonly (string | undefined)[]) =>
  `{${members.filter((member) => member !== undefined).join(",")}}`;

/** Messages that are valid, nearly valid, and far from it. */
const messages: fc.Arbitrary<string> = fc.tuple(
  fc.tuple(partOf("jsonrpc"), partOf("id"), partOf("method")),
  fc.tuple(
    fc.option(partOf("name"), { nil: undefined, freq: 9 }),
    fc.option(partOf("arguments"), { nil: undefined }),
    fc.option(partOf("_meta"), { nil: undefined, freq: 2 }),
    fc.option(partOf("cursor"), { nil: undefined, freq: 2 }),
  ).map(object),
  fc.constantFrom("params", "params", "params", "none", "twice", "more"),
).map(([head, params, kind]) =>
  object([
    ...head,
    ...kind === "none" ? [] : [`"params":${params}`],
    ...kind === "twice" ? [`"params":${params}`] : [],
    ...kind === "more" ? ['"more":1'] : [],
  ])
);

Deno.test("whatever a message is made of, it has the same answer by the quick door and by the app", async () => {
  await using served = await startGateway();
  const headers = await openSession(served);
  let quick = 0;
  await fc.assert(
    fc.asyncProperty(messages, async (body) => {
      const { isQuick } = await bothWays(served, headers, body);
      if (isQuick) quick++;
    }),
    { numRuns: 300 },
  );
  assert(quick > 10, `${quick}`);
});

Deno.test("refusals come in the same order and with the same words by the quick door and by the app", async () => {
  await using served = await startGateway({
    keys: true,
    server: { maxMessageBytes: 2_000 },
  });
  const own = await openSession(served, { "x-api-key": GATEWAY_KEYS.ann });
  const bob = { ...own, "x-api-key": GATEWAY_KEYS.bob };
  const none = { "mcp-session-id": own["mcp-session-id"] ?? "" };
  const short = message(7, "ping");
  const long = message(7, "ping", { _meta: { a: "x".repeat(2_000) } });
  const rows: [object, string, status: number][] = [
    [{ ...none, host: "evil.example" }, short, 403],
    [{ ...none, host: "evil.example" }, "{", 403],
    [{ ...own, origin: "https://evil.example" }, short, 403],
    [{ ...own, "sec-fetch-site": "cross-site" }, short, 403],
    [none, short, 401],
    [none, long, 401],
    [{ ...none, "x-api-key": "wrong" }, "{", 401],
    [{ ...none, "x-api-key": GATEWAY_KEYS.computer }, short, 403],
    [own, long, 413],
    [own, "{", 400],
    [{ ...own, "content-type": "text/plain" }, short, 415],
    [{ ...own, accept: "application/json" }, short, 406],
    [{ ...own, accept: "*/*" }, short, 200],
    [{ ...own, "mcp-protocol-version": "2025-06-18" }, short, 200],
    [{ ...own, "mcp-protocol-version": "1999-01-01" }, short, 400],
    [{ ...own, "mcp-protocol-version": "2026-07-28" }, short, 400],
    [bob, short, 404],
    [{ ...own, "mcp-session-id": "none" }, short, 404],
    [own, short, 200],
  ];
  for (const [headers, body, status] of rows) {
    const { answer } = await bothWays(served, { ...headers }, body);
    assertEquals(answer.status, status, JSON.stringify(headers) + body);
  }
  const closed = served.office.server.close({ graceMs: 60_000 });
  const late = await bothWays(served, own, short).catch(() => undefined);
  if (late) assertEquals(late.answer.status, 503);
  await closed;
});

Deno.test("refusals to a client with tasks come in the same order and with the same words by the quick door and by the app", async () => {
  await using served = await startGateway({
    keys: true,
    server: { maxMessageBytes: 2_000 },
  });
  const own = { ...LONE, "x-api-key": GATEWAY_KEYS.ann };
  await post(served.url, { body: INITIALIZE, headers: own }); // its office is open
  const short = declaring(lone(), { extensions: TASKS });
  const long = declaring(lone({ own: "x".repeat(2_000) }), {
    extensions: TASKS,
  });
  const rows: [object, string, status: number][] = [
    [{ ...LONE, host: "evil.example" }, "{", 403],
    [{ ...own, origin: "https://evil.example" }, short, 403],
    [{ ...own, "sec-fetch-site": "cross-site" }, short, 403],
    [LONE, short, 401],
    [LONE, long, 401],
    [{ ...LONE, "x-api-key": "wrong" }, "{", 401],
    [{ ...LONE, "x-api-key": GATEWAY_KEYS.computer }, long, 403],
    [own, long, 413],
    [own, "{", 400],
    [{ ...own, "content-type": "text/plain" }, short, 415],
    [{ ...own, accept: "text/html" }, short, 200],
    [{ ...own, "mcp-name": "pc__slow" }, short, 400],
    [{ ...own, "mcp-protocol-version": "1999-01-01" }, short, 400],
    [{ ...own, "x-api-key": GATEWAY_KEYS.bob }, short, 200],
    [own, short, 200],
  ];
  for (const [headers, body, status] of rows) {
    const { answer } = await bothWays(served, { ...headers }, body);
    assertEquals(answer.status, status, JSON.stringify(headers) + body);
  }
});

Deno.test("a request that the quick door leaves to the app is counted once", async () => {
  await using served = await startGateway({
    server: { limits: { eventsPerSecond: 20 } },
  });
  const headers = await openSession(served);
  const body = message(7, "prompts/list");
  let answered = 0;
  for (; answered < 40; answered++) {
    if ((await post(served.url, { body, headers })).status === 429) break;
  }
  assert(answered >= 19, `${answered}`);
});

/** The answer to a request that was ended. */
const failed = (message: string) => ({
  jsonrpc: "2.0",
  id: 7,
  error: { code: -32000, message },
});

for (const [way, more] of Object.entries(WAYS)) {
  Deno.test(`${way}: a cancellation ends the calls of its id, and so does the end of the session`, async () => {
    await using served = await startGateway({ servers: fixture() });
    const headers = await openSession(served);
    const slow = () =>
      post(served.url, { body: call("slow"), headers: { ...headers, ...more } })
        .then(readAnswer, () => undefined);
    await using client = await CLIENTS["v2, 2025"]!(served);
    const running = slow();
    await client.call("pc__slow_began");
    const other = message(8, "ping");
    assertEquals((await bothWays(served, headers, other)).isQuick, true);
    const cancelled = await post(served.url, {
      headers,
      body: JSON.stringify({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: 7 },
      }),
    });
    assertEquals(cancelled.status, 202);
    await isCancelled(client.call("pc__slow_aborted"));
    await post(served.url, { method: "DELETE", headers });
    assertEquals((await running)?.messages, [failed("It was cancelled")]);
    await client.terminate();
  });

  Deno.test(`${way}: the end of the session cancels its calls`, async () => {
    await using served = await startGateway({ servers: fixture() });
    const headers = await openSession(served);
    await using client = await CLIENTS["v2, 2025"]!(served);
    const running = post(served.url, {
      body: call("slow"),
      headers: { ...headers, ...more },
    }).then(readAnswer);
    await client.call("pc__slow_began");
    await post(served.url, { method: "DELETE", headers });
    await isCancelled(client.call("pc__slow_aborted"));
    assertEquals((await running).messages, [failed("The session has ended")]);
    await client.terminate();
  });

  Deno.test(`${way}: a call without a session is cancelled when its client goes`, async () => {
    await using served = await startGateway({ servers: fixture() });
    await using client = await CLIENTS["v2, 2025"]!(served);
    const abort = new AbortController();
    const body = lone({}, { name: "pc__slow", arguments: {} });
    const sent = fetch(served.url, {
      method: "POST",
      body: more === BY_THE_APP ? new Blob([body]).stream() : body,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...LONE,
        "mcp-name": "pc__slow",
      },
      signal: abort.signal,
    }).catch(() => {});
    await client.call("pc__slow_began");
    abort.abort();
    await isCancelled(client.call("pc__slow_aborted"));
    await sent;
    await client.terminate();
  });

  Deno.test(`${way}: the call of a client that is gone is cancelled after a while`, async () => {
    using _ = hurryTimers(4_321);
    await using served = await startGateway({
      servers: fixture(),
      gateway: { abandonedMs: 4_321 },
    });
    const headers = await openSession(served);
    await using client = await CLIENTS["v2, 2025"]!(served);
    const abort = new AbortController();
    const body = call("slow");
    const sent = fetch(served.url, {
      method: "POST",
      body: more === BY_THE_APP ? new Blob([body]).stream() : body,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      signal: abort.signal,
    }).then((response) => response.text()).catch(() => {});
    await client.call("pc__slow_began");
    abort.abort();
    await isCancelled(client.call("pc__slow_aborted"));
    await sent;
    await client.terminate();
  });
}

Deno.test("a call of a session that takes long begins its stream, and its result follows", async () => {
  using _ = hurryTimers(4_321);
  await using served = await startGateway({ gateway: { heartbeatMs: 4_321 } });
  const headers = await openSession(served);
  const body = call("slow");
  const sent = request(served.url, {
    method: "POST",
    agent: false,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "content-length": body.length,
      ...headers,
    },
  });
  sent.end(body);
  const [response] = await once(sent, "response");
  assertEquals(response.headers["content-type"], "text/event-stream");
  await served.holds(1);
  served.release();
  let text = "";
  for await (const chunk of response) text += chunk;
  const [, data = ""] = /^data: (\{.*)$/m.exec(text) ?? [];
  const { id, result } = JSON.parse(data);
  assertEquals([id, result.content[0].text], [7, "done"]);
});

Deno.test("a client that can be asked is answered by the quick door, and asked by the MCP SDK's handler", async () => {
  await using served = await startGateway({ servers: fixture() });
  const headers = await openSession(served, {}, { elicitation: {} });
  const echo = call("echo", { text: "hello" });
  assertEquals((await bothWays(served, headers, echo)).isQuick, true);
  await using client = await CLIENTS["v2, 2025"]!(
    served,
    () => ({ action: "accept", content: { name: "Ann" } }),
  );
  const { content } = await client.call("pc__ask");
  assertEquals(JSON.parse(String(content[0]?.text)), {
    action: "accept",
    content: { name: "Ann" },
  });
  await client.terminate();
});

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a conversation is the same by the quick door and by the app`, async () => {
    const seen = [];
    for (const reach of [{}, { fetch: fetchByTheApp }]) {
      await using served = await startGateway({ servers: fixture() });
      await using client = await connect(
        { url: served.url, ...reach },
        () => ({ action: "accept", content: { name: "Ann" } }),
      );
      const tools = await client.tools();
      const progress: number[] = [];
      const onprogress = (each: { progress: number }) => {
        progress.push(each.progress);
      };
      const results = [];
      for (const name of ["echo", "fail", "meta", "ask", "ask_and_work"]) {
        const args = { text: "hello" };
        results.push(await client.call(`pc__${name}`, args, { onprogress }));
      }
      const unknown = await client.call("pc__none")
        .catch(({ code, message }) => ({ code, message }));
      seen.push([tools, results, unknown, progress.length > 0]);
      await client.terminate();
    }
    const [quick, app] = seen;
    assertEquals(quick, app);
  });
}
