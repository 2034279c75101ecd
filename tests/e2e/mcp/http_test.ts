import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  type OfficeMcp,
  officeMcp,
  type OfficeMcpOptions,
} from "../../../mcp/mod.ts";
import { startGateway } from "../../support/mcp/gateway.ts";
import {
  INITIALIZE,
  JSON_HEADERS,
  LIST_TOOLS,
  modernRequest,
  refusalOf,
} from "../../support/mcp/post.ts";
import { open, send } from "../../support/mcp/session.ts";
import { startOffice } from "../../support/office.ts";
import { hurryTimers } from "../../support/timers.ts";

/** The status of a request of a session. */
async function use(mcp: OfficeMcp, session: string): Promise<number> {
  const response = await send(mcp, { body: LIST_TOOLS, session });
  await response.text();
  return response.status;
}

/** Resolves once the session has ended; between the requests its timer runs. */
async function ended(mcp: OfficeMcp, session: string): Promise<void> {
  do await new Promise((resolve) => setTimeout(resolve, 0)); while (
    await use(mcp, session) !== 404
  );
}

Deno.test("a session that nobody uses ends, one with a stream does not", async () => {
  using _ = hurryTimers(1234);
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent, { sessionIdleMs: 1234 });
  const session = await open(mcp);
  await ended(mcp, session);
  const gone = await send(mcp, { body: LIST_TOOLS, session });
  assertEquals(await refusalOf(gone), {
    status: 404,
    code: -32001,
    message: "Session not found: it ended; send initialize to begin another",
  });
  const response = await send(mcp, { body: INITIALIZE });
  const listening = response.headers.get("mcp-session-id") ?? "";
  const stream = await send(mcp, { method: "GET", session: listening });
  await response.text(); // the stream is there before the first request ends
  assertEquals([stream.status, await use(mcp, listening)], [200, 200]);
  await stream.body?.cancel();
  await ended(mcp, listening);
});

Deno.test("the session that was idle longest makes room for another, but none that is in use", async () => {
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent, { maxSessions: 2 });
  const first = await open(mcp);
  const second = await open(mcp);
  assertEquals(await use(mcp, first), 200); // now the second is idle longer
  const third = await open(mcp);
  assertEquals(await use(mcp, second), 404);
  const streams = await Promise.all(
    [first, third].map((session) => send(mcp, { method: "GET", session })),
  );
  assertEquals(streams.map(({ status }) => status), [200, 200]);
  const refused = await refusalOf(await send(mcp, { body: INITIALIZE }));
  assertEquals([refused.status, refused.message], [
    503,
    "Too many sessions: at most 2",
  ]);
  for (const { body } of streams) await body?.cancel();
});

Deno.test("closing ends streams and sessions", async () => {
  await using office = await startOffice();
  const mcp = officeMcp(office.agent);
  const session = await open(mcp);
  const stream = await send(mcp, { method: "GET", session });
  const reading = stream.text();
  await mcp.close();
  await reading;
  assertEquals((await refusalOf(await send(mcp))).status, 503);
});

Deno.test("requests without a session, for foreign hosts, of foreign pages, and with bodies that cannot be used are refused", async () => {
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent, { maxBodyBytes: 1000 });
  const body = INITIALIZE;
  const refused = [];
  for (
    const request of [
      { body: LIST_TOOLS },
      { method: "GET" },
      { body: " ".repeat(1001) },
      { body: "{" },
      { body, headers: { "content-type": "text/plain" } },
      { body, headers: { host: "evil.example" } },
      { body, headers: { origin: FOREIGN } },
    ]
  ) {
    const { status, code, message } = await refusalOf(await send(mcp, request));
    refused.push([status, code, message]);
  }
  const noSession = "Mcp-Session-Id header is required: send initialize first";
  assertEquals(refused, [
    [400, -32000, noSession],
    [400, -32000, noSession],
    [413, -32000, "The body is too large: at most 1000 bytes"],
    [400, -32700, "The body is no valid JSON"],
    [415, -32000, "Content-Type must be application/json"],
    [403, -32000, "Host not allowed"],
    [403, -32000, "Origin not allowed"],
  ]);
  const local = await send(mcp, { body, headers: { host: "localhost:1" } });
  await local.text();
  assertEquals(local.status, 200);
});

Deno.test("a body with too many values or messages is refused before it is parsed, and its session goes on", async () => {
  await using office = await startOffice();
  await using mcp = officeMcp(office.agent);
  const session = await open(mcp);
  const heavy = (count: number) =>
    `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"a":[${
      "{},".repeat(count)
    }{}]}}}`;
  const { headers } = modernRequest("tools/call", { name: "x" });
  for (
    const request of [
      { body: heavy(25_000), session },
      { body: `[${heavy(13_000)},${heavy(13_000)}]`, session },
      { body: heavy(25_000), headers },
      { body: heavy(2_000_000).slice(1) },
    ]
  ) {
    const { status, code, message } = await refusalOf(await send(mcp, request));
    assertEquals([status, code], [413, -32000]);
    assertStringIncludes(message, "too many values");
    assertStringIncludes(message, "at most 50000");
  }
  const many = await refusalOf(
    await send(mcp, {
      body: `[${Array(101).fill(LIST_TOOLS).join()}]`,
      session,
    }),
  );
  assertEquals(many.status, 413);
  assertStringIncludes(many.message, "too many messages: 101");
  const few = await send(mcp, { body: heavy(20_000), session });
  assertStringIncludes(await few.text(), "Unknown tool: x");
  assertEquals(await use(mcp, session), 200);
});

Deno.test("a long list of tools comes in pages, in both eras; clients find all of its tools", async () => {
  const names = Array.from({ length: 9_000 }, (_, at) => `t${at}`);
  await using office = await startOffice({
    computers: {
      pc: (event) => {
        if (event !== "client:get_tools") throw new Error("not asked for");
        return {
          req_id: "1",
          tools: names.map((name) => ({
            name,
            description: "",
            params_schema: { type: "object" },
            return_schema: null,
          })),
        };
      },
    },
  });
  await using mcp = officeMcp(office.agent, { desktopTools: true });
  const listed = async (page: (params: object) => Promise<Response>) => {
    const found: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const answer = await (await page(cursor ? { cursor } : {})).text();
      const { result } = JSON.parse(/\{.*/.exec(answer)?.[0] ?? "");
      for (const { name } of result.tools) found.push(name);
      cursor = result.nextCursor;
      pages++;
    } while (cursor !== undefined);
    assertEquals(pages, 3);
    return found;
  };
  const session = await open(mcp);
  const own = ["desktop", "find_documents", "read_document"];
  const expected = [...names.map((name) => `pc__${name}`), ...own].toSorted();
  const old = await listed((params) =>
    send(mcp, {
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 2,
        method: "tools/list",
        params,
      }),
      session,
    })
  );
  assertEquals(old.toSorted(), expected);
  const modern = await listed((params) =>
    send(mcp, modernRequest("tools/list", { ...params }))
  );
  assertEquals(modern.toSorted(), expected);
});

Deno.test("a result with too many content blocks or values is a failure that says so, and those of other calls pass", async () => {
  const results: Record<string, object> = {
    blocks: { content: Array(5_001).fill({ type: "text", text: "" }) },
    values: { content: [], structuredContent: { a: Array(200_001).fill(1) } },
    text: { content: [{ type: "text", text: "[{},".repeat(250_000) }] },
  };
  await using office = await startOffice({
    computers: {
      pc: (event, payload) => {
        const { tool_name } = Object(payload);
        return event === "client:tool_call" ? results[tool_name] : {
          req_id: "1",
          tools: Object.keys(results).map((name) => ({
            name,
            description: "",
            params_schema: {},
            return_schema: null,
          })),
        };
      },
    },
  });
  await using mcp = officeMcp(office.agent);
  const call = async (name: string) => {
    const request = modernRequest("tools/call", { name: `pc__${name}` });
    return (await (await send(mcp, request)).json()).result;
  };
  const [blocks, values, text] = await Promise.all(
    ["blocks", "values", "text"].map(call),
  );
  for (
    const [result, most] of [
      [blocks, "more than 5000 content blocks"],
      [values, "more than 200000 values"],
    ]
  ) {
    assertEquals([result.isError, result._meta.error_code], [
      true,
      "too_large",
    ]);
    assertStringIncludes(result.content[0].text, most);
  }
  assertEquals(text.content, Object(results.text).content);
});

Deno.test("a view whose table would be one too many for the office is refused, until another one is unused", async () => {
  await using office = await startOffice({
    computers: {
      pc: () => ({
        req_id: "1",
        tools: Array.from({ length: 51_000 }, (_, at) => ({
          name: `t${at}`,
          description: "",
          params_schema: {},
          return_schema: null,
        })),
      }),
    },
  });
  await using mcp = officeMcp(office.agent);
  const view = (limit: number) =>
    mcp.fetch(`http://office/mcp?name-limit=${limit}`, {
      method: "POST",
      headers: JSON_HEADERS,
      body: INITIALIZE,
    });
  const sessions: string[] = [];
  for (const limit of [24, 25]) {
    const response = await view(limit);
    await response.text();
    sessions.push(response.headers.get("mcp-session-id") ?? "");
  }
  const refused = await refusalOf(await view(26));
  assertEquals(refused.status, 503);
  assertStringIncludes(refused.message, "100000 tools in all");
  const ended = await mcp.fetch("http://office/mcp?name-limit=24", {
    method: "DELETE",
    headers: { ...JSON_HEADERS, "mcp-session-id": sessions[0] ?? "" },
  });
  await ended.body?.cancel();
  const response = await view(26);
  await response.text();
  assertEquals(response.status, 200);
});

const PAGE = "https://app.example";
const FOREIGN = "https://evil.example";

/** The requests of a browser for a page: the one before each, and one that opens a session. */
const ofPage = (origin: string): readonly RequestInit[] => [
  {
    method: "OPTIONS",
    headers: {
      origin,
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,mcp-param-city",
    },
  },
  { method: "POST", headers: { ...JSON_HEADERS, origin }, body: INITIALIZE },
];

/** The status of a response, and its headers that browsers go by. */
async function sharing(response: Response): Promise<Record<string, unknown>> {
  await response.body?.cancel();
  const named = [...response.headers]
    .filter(([name]) => name.startsWith("access-control-"))
    .map(([name, value]) => [name.replace("access-control-", ""), value]);
  return { status: response.status, ...Object.fromEntries(named) };
}

const ALLOWED = {
  "allow-methods": "GET, POST, DELETE",
  "allow-headers": "content-type,mcp-param-city",
};

/** The answers that let a page call, and read the session's id. */
const shared = (origin: string) => {
  const headers = {
    "allow-origin": origin,
    "expose-headers": "Mcp-Session-Id, WWW-Authenticate",
  };
  return [{ status: 204, ...headers, ...ALLOWED }, { status: 200, ...headers }];
};

Deno.test("a browser lets pages of the allowed origins call, and no others", async () => {
  await using office = await startOffice();
  const refused = [{ status: 403 }, { status: 403 }];
  const notOfPage = { method: "POST", headers: JSON_HEADERS, body: INITIALIZE };
  const rows: [
    OfficeMcpOptions["origins"],
    readonly RequestInit[],
    object[],
  ][] = [
    [[PAGE], ofPage(PAGE), shared(PAGE)],
    ["*", ofPage(FOREIGN), shared("*")],
    [[PAGE], ofPage(FOREIGN), refused],
    [[], ofPage(PAGE), refused],
    ["*", [notOfPage], [{ status: 200 }]],
  ];
  for (const [origins = [], requests, expected] of rows) {
    await using mcp = officeMcp(office.agent, { origins });
    const answers = await Promise.all(
      requests.map(async (init) =>
        await sharing(await mcp.fetch("http://office/mcp", init))
      ),
    );
    assertEquals(answers, expected, `${origins}`);
  }
});

Deno.test("behind a Server its own origins count, and no others", async () => {
  await using served = await startGateway({ server: { origins: [PAGE] } });
  const answers = await Promise.all(
    [...ofPage(PAGE), ...ofPage(FOREIGN)].map(async (init) =>
      await sharing(await fetch(served.url, init))
    ),
  );
  assertEquals(
    answers.map((answer) => [answer.status, answer["allow-origin"]]),
    [[204, PAGE], [200, PAGE], [204, undefined], [403, undefined]],
  );
  const [preflight, opened] = answers;
  assertEquals(preflight?.["allow-headers"], ALLOWED["allow-headers"]);
  assertEquals(
    `${opened?.["expose-headers"]}`.toLowerCase().split(/,\s*/),
    ["mcp-session-id", "www-authenticate"],
  );
});
