import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { ServerSettings } from "../../../../computer/mod.ts";
import { connectMcp } from "../../../../computer/host/mcp/connect.ts";
import type { AnswerQuestion } from "../../../../computer/host/mcp/mcp_connection.ts";
import {
  connectionOf,
  startHost,
  textOf,
  told,
} from "../../../support/computer/host.ts";
import { DENO_ENV } from "../../../support/computer/mcp_servers.ts";
import { hurryTimers } from "../../../support/timers.ts";
import { startHttpFixture } from "../../../support/fixtures/mcp_http.ts";
import {
  startModernHttp,
  URI,
} from "../../../support/fixtures/modern_server.ts";

const PROGRAM = fileURLToPath(
  new URL("../../../support/fixtures/modern_server.ts", import.meta.url),
);

const stdio = (): ServerSettings => ({
  type: "stdio",
  server_parameters: {
    command: Deno.execPath(),
    args: ["run", "-A", "--quiet", PROGRAM],
    env: DENO_ENV,
  },
});
const http = (url: string): ServerSettings => ({
  type: "streamable",
  server_parameters: { url },
});

/** Runs a test against the server over both transports. */
const overBoth = (
  name: string,
  test: (settings: ServerSettings) => Promise<void>,
) => {
  Deno.test(`over stdio, ${name}`, () => test(stdio()));
  Deno.test(`over HTTP, ${name}`, async () => {
    await using server = await startModernHttp();
    await test(http(server.url));
  });
};

const start = (settings: ServerSettings) =>
  startHost({ new: settings }, {
    connect: (config, signal) => connectMcp(config, signal, { elicits: true }),
  });

overBoth(
  "a server of 2026-07-28 alone is hosted: tools, resources, prompts",
  async (settings) => {
    await using host = await start(settings);
    const connection = connectionOf(host, "new");
    assertEquals(await textOf(host, "new", "echo", { text: "hi" }), "echo hi");
    assertEquals(await connection.readResource(URI), [{
      uri: URI,
      text: "read",
    }]);
    assertEquals((await connection.listAllResources()).length, 1);
    assertEquals((await connection.listPrompts()).length, 1);
    const { messages } = await connection.getPrompt("greet", {});
    assert(Array.isArray(messages));
  },
);

overBoth(
  "questions in results are answered, and the call is made again with the state",
  async (settings) => {
    await using host = await start(settings);
    const asked: unknown[] = [];
    const answer: AnswerQuestion = (question, { isCertain, key }) => {
      asked.push({ ...question, isCertain, key });
      return Promise.resolve({ action: "accept", content: { name: "Ann" } });
    };
    const call = async (tool: string, answering?: AnswerQuestion) => {
      const { content } = await connectionOf(host, "new")
        .callTool(tool, {}, { answer: answering });
      return String(content[0]?.text);
    };
    assertEquals(JSON.parse(await call("ask", answer)), [
      { who: { action: "accept", content: { name: "Ann" } } },
      "state 1",
    ]);
    assertStringIncludes(await call("page", answer), '"accept"');
    assertEquals(asked, [
      {
        message: "Who are you?",
        requestedSchema: {
          type: "object",
          properties: { name: { type: "string" } },
        },
        isCertain: true,
        key: "who",
      },
      {
        mode: "url",
        message: "Sign in",
        url: "https://sign-in.example/x?y=1",
        isCertain: true,
        key: "page",
      },
    ]);
    assertEquals(await call("again"), "not busy any more");
    await assertRejects(() => call("ask"), Error, "not for such a request");
  },
);

overBoth(
  "progress arrives, and _meta of the call has the caller's keys beside those of the Computer",
  async (settings) => {
    await using host = await start(settings);
    const connection = connectionOf(host, "new");
    const seen: number[] = [];
    await connection.callTool("count", {}, {
      onProgress: ({ progress }) => seen.push(progress),
    });
    assertEquals(seen, [1, 2]);
    const { content } = await connection.callTool("meta", {}, {
      meta: { traceparent: "00-1", "io.modelcontextprotocol/clientInfo": 1 },
    });
    const meta = JSON.parse(String(content[0]?.text));
    assertEquals(meta.traceparent, "00-1");
  },
);

overBoth(
  "a change of the list of tools and of a resource that is subscribed to is announced",
  async (settings) => {
    await using host = await start(settings);
    const connection = connectionOf(host, "new");
    await connection.subscribe(URI);
    const changed = told(host, URI);
    const listed = new Promise<void>((resolve) => {
      host.on("toolsChanged", () => {
        if (host.tools().some(({ name }) => name === "added_0")) resolve();
      });
    });
    await textOf(host, "new", "change");
    await Promise.all([changed, listed]);
    await connection.unsubscribe(URI);
  },
);

overBoth("a call that is aborted ends at the server", async (settings) => {
  await using host = await start(settings);
  const connection = connectionOf(host, "new");
  await connection.subscribe(URI);
  const abort = new AbortController();
  const running = told(host, URI);
  const call = assertRejects(() =>
    connection.callTool("hang", {}, { signal: abort.signal })
  );
  await running;
  const ended = told(host, URI);
  abort.abort("enough");
  await Promise.all([call, ended]);
});

overBoth(
  "a call that becomes a task is followed to its result, its texts are progress",
  async (settings) => {
    await using host = await start(settings);
    const connection = connectionOf(host, "new");
    const call = async (ends: string, answer?: AnswerQuestion) => {
      const messages: unknown[] = [];
      const { content } = await connection.callTool("task", { ends }, {
        answer,
        onProgress: ({ message }) => messages.push(message),
      });
      return [content[0]?.text, ...messages];
    };
    assertEquals(await call("well"), ["done ", "step 1", "step 2"]);
    const [answered] = await call(
      "asks",
      () => Promise.resolve({ action: "accept", content: { name: "Ann" } }),
    );
    assertStringIncludes(String(answered), "Ann");
    await assertRejects(() => call("failed"), Error, "the task broke");
  },
);

overBoth("the end of a call cancels its task", async (settings) => {
  await using host = await start(settings);
  const connection = connectionOf(host, "new");
  await connection.subscribe(URI);
  const cancelled = told(host, URI);
  const abort = new AbortController();
  await assertRejects(() =>
    connection.callTool("task", { ends: "never" }, {
      signal: abort.signal,
      onProgress: () => abort.abort("enough"),
    })
  );
  await cancelled;
});

Deno.test("a stream of changes that is cut is opened again, and announces what may have changed meanwhile", async () => {
  await using server = await startModernHttp();
  await using host = await start(http(server.url));
  await connectionOf(host, "new").subscribe(URI);
  using _ = hurryTimers(1_000);
  const announced = told(host, URI);
  server.cut();
  await announced;
  assertEquals(await textOf(host, "new", "echo", { text: "hi" }), "echo hi");
});

/** A server that lists a tool with other marks after the first list, and refuses calls without them. */
async function startMarking() {
  let lists = 0;
  const calls: (string | undefined)[] = [];
  const resultOf = (method: string) => {
    if (method === "tools/list") {
      const mark = ++lists === 1 ? {} : { "x-mcp-header": "Region" };
      const properties = { region: { type: "string", ...mark } };
      const inputSchema = { type: "object", properties };
      return { tools: [{ name: "route", inputSchema }] };
    }
    return method === "server/discover"
      ? { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }
      : { content: [{ type: "text", text: "routed" }] };
  };
  const server = createServer(async (req, res) => {
    const { id, method } = JSON.parse(await text(req));
    const answer = (status: number, rest: object) =>
      res.writeHead(status, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, ...rest }));
    if (method === "initialize") {
      const data = { supported: ["2026-07-28"] };
      const error = { code: -32022, message: "unsupported version", data };
      return answer(400, { error });
    }
    if (method !== "tools/call") {
      return answer(200, { result: resultOf(method) });
    }
    const region = req.headers["mcp-param-region"];
    calls.push(region?.toString());
    const error = { code: -32020, message: "header mismatch" };
    if (region === undefined) return answer(400, { error });
    answer(200, { result: resultOf(method) });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    calls,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

Deno.test("a call whose headers do not fit the tool's new schema is made again once with those that do", async () => {
  await using server = await startMarking();
  await using host = await start(http(server.url));
  const args = { region: "eu" };
  assertEquals(await textOf(host, "new", "route", args), "routed");
  assertEquals(server.calls, [undefined, "eu"]);
});

Deno.test("over HTTP, each request has its headers, and marked arguments in headers of their own; a tool with an invalid mark is left out", async () => {
  await using server = await startModernHttp();
  await using host = await start(http(server.url));
  const region = "Zürich";
  const routed = await textOf(host, "new", "route", { region, rest: "x" });
  assertEquals(routed, `routed to ${region}`);
  const [call] = server.seen.headers
    .filter(({ method }) => method === "tools/call");
  const encoded = `=?base64?${btoa("Z\u00c3\u00bcrich")}?=`;
  assertEquals(call?.headers["mcp-name"], "route");
  assertEquals(call?.headers["mcp-protocol-version"], "2026-07-28");
  assertEquals(call?.headers["mcp-param-region"], encoded);
  assertEquals(call?.headers["mcp-session-id"], undefined);
  assert(!host.tools().some(({ name }) => name === "odd"));
  assertStringIncludes(
    host.statuses[0]?.problems.join() ?? "",
    'tool "odd" is left out',
  );
});

Deno.test("a server of both revisions over HTTP that keeps no sessions is spoken to in the newer one; one that keeps them is asked nothing more", async () => {
  await using server = await startModernHttp("stateless");
  {
    await using host = await start(http(server.url));
    assertEquals(await textOf(host, "new", "echo", { text: "hi" }), "echo hi");
    const methods = server.seen.headers.map(({ method }) => method);
    assert(methods.includes("tools/call"), String(methods));
  }
  await using older = await startHttpFixture("streamable");
  await using host = await startHost({ old: http(older.url) });
  assertEquals(host.statuses[0]?.state, "running");
  await older.requested("GET", 1);
  assertEquals(
    older.requests.filter(({ method }) => method === "POST").length,
    3, // initialize, initialized, tools/list
  );
});
