import fc from "fast-check";
import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { tryLists } from "../../../computer/requests/requests.ts";
import { partsOf, ToolHost } from "../../../computer/tool_host.ts";
import { officeMcp } from "../../../mcp/mod.ts";
import { rawServer } from "../../support/computer/raw_server.ts";
import {
  CLIENTS,
  ERAS,
  sdkClient,
  type TestClient,
} from "../../support/mcp/clients.ts";
import { inProcess, serveOffice } from "../../support/mcp/gateway.ts";
import { anyResult, anyTool, POISON } from "../../support/mcp/poison.ts";
import { startOffice } from "../../support/office.ts";
import { hurryTimers } from "../../support/timers.ts";

const inputSchema = { type: "object" };
const GOOD = { name: "good", inputSchema };

/** Connects a client of each SDK and revision to the office of a Computer. */
async function withClients(
  tools: () => readonly unknown[],
  call: (name: unknown) => Record<string, unknown>,
  use: (kind: string, client: TestClient) => Promise<void>,
): Promise<void> {
  const raw = rawServer({
    "tools/list": () => ({ tools: tools() }),
    "tools/call": ({ name }) => call(name),
  });
  await using office = await serveOffice({ servers: { raw } });
  for (const [kind, connect] of Object.entries(CLIENTS)) {
    await using client = await connect(inProcess(office.mcp));
    await use(kind, client);
    await client.terminate();
  }
}

const names = (tools: readonly { readonly name: string }[]): string[] =>
  tools.map(({ name }) => name.replace("pc__raw__", "pc__"));

Deno.test("one tool that clients would refuse the whole list for costs neither the others nor itself", async () => {
  const bad = Object.entries(POISON)
    .map(([kind, poison]) => ({ name: kind, inputSchema, ...poison }));
  const content = [{ type: "text", text: "failed" }];
  await withClients(
    () => [GOOD, ...bad],
    () => ({ content, isError: true }),
    async (kind, client) => {
      const listed = await client.tools();
      assertEquals(
        names(listed),
        ["good", ...Object.keys(POISON)].map((name) => `pc__${name}`),
        kind,
      );
      for (const { name } of listed) {
        const result = await client.call(name);
        assertEquals(result.content, content, `${kind}: ${name}`);
      }
    },
  );
});

Deno.test("tools whose output schemas have the same $id are not judged by each other's", async () => {
  const $id = "https://schemas.example/one";
  const type = "object";
  const schemas: Record<string, Record<string, unknown>> = {
    a: { $id, type, properties: { a: { type: "string" } }, required: ["a"] },
    b: { $id, type, properties: { b: { type: "number" } }, required: ["b"] },
    c: { type, properties: { c: { $id, type: "string" } }, required: ["c"] },
    // Both are trees of their own.
    d: { type, required: ["d"], properties: { sub: { $ref: "#" } } },
    e: {
      $id: "T0",
      type,
      required: ["e"],
      properties: { sub: { $ref: "T0" } },
    },
    f: {
      type,
      required: ["tree"],
      properties: {
        tree: { $id: "T0", type, properties: { f: { $ref: "T0" } } },
      },
    },
  };
  const structured: Record<string, unknown> = {
    a: { a: "text" },
    b: { b: 1 },
    c: { c: "text" },
    d: { d: 1, sub: { d: 2 } },
    e: { e: 1, sub: { e: 2 } },
    f: { tree: { f: {} } },
  };
  const serverOf = (tools: readonly string[]) =>
    rawServer({
      "tools/list": () => ({
        tools: tools.map((name) => ({
          name,
          inputSchema,
          outputSchema: schemas[name],
        })),
      }),
      "tools/call": ({ name }) => ({
        content: [],
        structuredContent: structured[String(name)],
      }),
    });
  const servers = {
    one: serverOf(["a", "c", "e"]),
    two: serverOf(["b", "d", "f"]),
  };
  await using office = await serveOffice({ servers });
  for (const [kind, connect] of Object.entries(CLIENTS)) {
    await using client = await connect(inProcess(office.mcp));
    const tools = await client.tools();
    assertEquals(tools.length, 6, kind);
    for (const { name, outputSchema } of tools) {
      const own = name.slice(-1);
      assert(outputSchema, `${kind}: ${name}`);
      const result = await client.call(name);
      assertEquals(result.structuredContent, structured[own], kind);
    }
    await client.terminate();
  }
  // An Agent gets them as they are.
  const tools = await office.office.agent.getTools("pc");
  for (const { name, return_schema } of tools) {
    assertEquals<unknown>(return_schema, schemas[name]);
  }
});

Deno.test("all clients list the tools of an office, whatever the schemas and annotations of one are", async () => {
  const tools = fc.sample(anyTool, { numRuns: 1_500, seed: 39 })
    .map((tool, at) => ({ ...tool, name: `t${at}` }));
  await withClients(
    () => [GOOD, ...tools],
    () => ({}),
    async (kind, client) => {
      const listed = names(await client.tools());
      assertEquals(listed.length, tools.length + 1, kind);
    },
  );
});

Deno.test("all clients get the result of every call, whatever its annotations, bytes and structured content are", async () => {
  const results = fc.sample(anyResult, { numRuns: 300, seed: 39 })
    // The transport within a process refuses it.
    .map(({ _meta, ...result }) => result);
  const tools = results.map((_, at) => ({ name: `t${at}`, inputSchema }));
  await withClients(
    () => tools,
    (name) => results[Number(String(name).slice(1))] ?? {},
    async (kind, client) => {
      for (const { name } of await client.tools()) {
        const { content } = await client.call(name);
        assert(Array.isArray(content), `${kind}: ${name}`);
      }
    },
  );
});

Deno.test("the gateway mends the tools and results of Computers of other makes", async () => {
  await using office = await startOffice();
  const computer = await office.addScriptedComputer("pc", (event) => {
    if (event === "client:get_tools") {
      const tools = Object.entries(POISON).map(([name, poison]) => ({
        name,
        description: "",
        params_schema: { ...inputSchema, ...poison.inputSchema },
        return_schema: poison.outputSchema ?? null,
        meta: { MCP_TOOL_ANNOTATION: JSON.stringify(poison.annotations ?? {}) },
      }));
      return { tools, req_id: "1" };
    }
    if (event !== "client:tool_call") return { servers: {}, inputs: [] };
    return {
      content: [
        { type: "text", text: "a", annotations: { priority: "high" } },
        { type: "image", data: "not base64!", mimeType: "image/png" },
      ],
    };
  });
  assert(computer);
  await using mcp = officeMcp(office.agent);
  for (const [kind, connect] of Object.entries(CLIENTS)) {
    await using client = await connect(inProcess(mcp));
    const tools = await client.tools();
    assertEquals(tools.length, Object.keys(POISON).length, kind);
    const { content } = await client.call(tools[0]?.name ?? "");
    assertEquals(content[0], { type: "text", text: "a", annotations: {} });
    assertMatch(String(content[1]?.text), /left out: its data is not base64/);
    await client.terminate();
  }
});

Deno.test("structured content that is null or a list passes, to clients of 2025 as {result}", async () => {
  const structured: Record<string, unknown> = { none: null, list: [1, 2] };
  const content = [{ type: "text", text: "kept" }];
  await withClients(
    () => Object.keys(structured).map((name) => ({ name, inputSchema })),
    (name) => ({ content, structuredContent: structured[String(name)] }),
    async (kind, client) => {
      for (const [name, value] of Object.entries(structured)) {
        const result = await client.call(`pc__${name}`);
        assertEquals(result.content[0], content[0], kind);
        assertEquals(
          result.structuredContent,
          kind.endsWith("2026") ? value : { result: value },
          kind,
        );
        assertEquals(result._meta?.a2c_structured_content, undefined);
      }
    },
  );
});

/** An MCP server with more tools than a message holds: 9.6 MB. */
const large = (prefix = "t") =>
  rawServer({
    "tools/list": () => ({
      tools: Array.from({ length: 600 }, (_, at) => ({
        name: `${prefix}${at}`,
        inputSchema: {
          type: "object",
          properties: { x: { description: "y".repeat(16_000) } },
        },
      })),
    }),
    "tools/call": () => ({ content: [{ type: "text", text: "called" }] }),
  });

Deno.test("a Computer whose tools are more than a message leaves out whole tools of its large MCP server, and names them everywhere", async () => {
  const ok = rawServer({
    "tools/list": () => ({ tools: [GOOD] }),
    "tools/call": () => ({ content: [{ type: "text", text: "called" }] }),
  });
  await using office = await serveOffice({ servers: { large: large(), ok } });
  const connect = CLIENTS["v2, 2025"];
  assert(connect);
  await using client = await connect({ url: office.url });
  const tools: string[] = [];
  const agent = office.office.agent;
  tools.push(...(agent.tools.get("pc") ?? []).map(({ name }) => name));
  assert(tools.some((name) => name.endsWith("good")), tools.join());
  assert(tools.length > 400 && tools.length < 600, `${tools.length}`);
  const said =
    /^\d+ tools of MCP server "large" are left out, .* accepts messages of at most 8388608; .* Left out: .*t599|and \d+ more$/;
  const [problem = ""] = office.computer.status().problems;
  assertMatch(problem, said);
  assertEquals(agent.toolProblems.get("pc"), [problem]);
  assertMatch(
    client.instructions ?? "",
    /On pc: \d+ tools of MCP server "large"/,
  );
  await client.terminate();
});

Deno.test("smcp-computer check names the tools that a Server with default limits would not get", async () => {
  await using host = new ToolHost({ servers: { large: large() } });
  await host.start();
  await tryLists(partsOf(host));
  const { problems } = host.status();
  assertMatch(problems.join("\n"), /^\d+ tools of MCP server "large" are left/);
  assertEquals(host.listTools().length, 600);
});

Deno.test("with little room for messages, each MCP server keeps some of its tools", async () => {
  const servers = { large: large(), other: large("o") };
  await using office = await serveOffice({
    servers,
    office: { server: { maxMessageBytes: 100_000 } },
  });
  const { agent } = office.office;
  const tools = await agent.getTools("pc");
  assertEquals(tools.map(({ name }) => name), ["t0", "t1", "o0", "o1", "o2"]);
});

Deno.test("documents that are more than a message come page by page, each once, and one that fits no message costs itself", async () => {
  const documents = (count: number, host: string, summary: string) => ({
    "resources/list": () => ({
      resources: Array.from({ length: count }, (_, at) => ({
        uri: `dpe://${host}/${at}`,
        name: `${host}${at}`,
        description: summary,
      })),
    }),
    "resources/subscribe": () => ({}),
  });
  const servers = {
    bad: rawServer(documents(1, "bad", "y".repeat(30_000))),
    good: rawServer(documents(150, "good", "y".repeat(500))),
  };
  await using office = await serveOffice({
    servers,
    office: { server: { maxMessageBytes: 20_000 } },
  });
  const { agent } = office.office;
  const expected = Array.from({ length: 150 }, (_, at) => `dpe://good/${at}`);
  const found: string[] = [];
  while (found.length < expected.length) {
    const wanted = { offset: found.length, limit: 100 };
    const page = await agent.getFinder("pc", wanted);
    assertEquals(page.total_count, expected.length);
    assert(page.documents.length > 0);
    found.push(...page.documents.map(({ uri }) => uri));
  }
  assertEquals(found, expected);
  const { problems } = office.computer.status();
  assertEquals(problems.length, 1);
  assertMatch(
    problems[0] ?? "",
    /^1 documents of MCP server "bad" .* dpe:\/\/bad\/0$/,
  );
  await using client = await sdkClient(inProcess(office.mcp), "2025");
  const listed: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listResources(cursor ? { cursor } : {});
    listed.push(...page.resources.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  const shown = listed.filter((name) => /^(good|bad)\d/.test(name));
  assertEquals(shown.length, expected.length);
  assertEquals(new Set(shown).size, expected.length);
});

Deno.test("lists of an MCP server that never end give what came, each once, and the problem is named", async () => {
  const ways: Record<string, (cursor: unknown) => string> = {
    empty: () => "",
    same: () => "1",
    counting: (cursor) => String(Number(cursor ?? 0) + 1),
  };
  for (const [way, next] of Object.entries(ways)) {
    const page = (items: Record<string, unknown>) => (params: object) => ({
      ...items,
      nextCursor: next(Object(params).cursor),
    });
    const raw = rawServer({
      "tools/list": page({ tools: [GOOD] }),
      "resources/list": page({ resources: [{ uri: "a:b", name: "b" }] }),
      "prompts/list": page({ prompts: [{ name: "p" }] }),
    });
    await using office = await serveOffice({ servers: { raw } });
    const connect = CLIENTS["v2, 2025"];
    assert(connect);
    await using client = await connect(inProcess(office.mcp));
    assertEquals(names(await client.tools()), ["pc__good"], way);
    const { agent } = office.office;
    const found = await Array.fromAsync(agent.allResources("pc", "raw"));
    assertEquals(found.map(({ uri }) => uri), ["a:b"], way);
    const prompts = await agent.getPrompts("pc");
    assertEquals(prompts.map(({ name }) => name), ["p"], way);
    const [{ state, problems } = fail()] = office.computer.status().servers;
    assertEquals(state, "running");
    for (const list of ["tools/list", "resources/list", "prompts/list"]) {
      const isNamed = problems.some((text) =>
        text.startsWith(`${list} never ends`)
      );
      // By an empty cursor, an MCP server means the end.
      assertEquals(isNamed, way !== "empty", `${way}: ${list}: ${problems}`);
    }
    await client.terminate();
  }
});

Deno.test("lists of which a later page fails, is refused or never comes give what came, and the problem is named", async () => {
  const refuse = (reason: string) => () => Promise.reject(new Error(reason));
  const ways: Record<string, [next: () => Promise<never>, reason: string]> = {
    broken: [refuse("page 2 is broken"), "page 2 is broken"],
    refused: [refuse("Invalid cursor"), "Invalid cursor"],
    silent: [() => new Promise(() => {}), "Request timed out"],
  };
  for (const [way, [next, reason]] of Object.entries(ways)) {
    using _timers = hurryTimers(8_000);
    const page = (items: Record<string, unknown>) => (params: object) =>
      Object(params).cursor === undefined
        ? { ...items, nextCursor: "2" }
        : next();
    const raw = rawServer({
      "tools/list": page({ tools: [GOOD] }),
      "resources/list": page({ resources: [{ uri: "dpe://a/b", name: "b" }] }),
      "resources/subscribe": () => ({}),
      "prompts/list": page({ prompts: [{ name: "p" }] }),
    });
    await using office = await serveOffice({ servers: { raw } });
    const { agent } = office.office;
    const tools = await agent.getTools("pc");
    assertEquals(tools.map(({ name }) => name), ["good"], way);
    const { documents } = await agent.getFinder("pc");
    assertEquals(documents.map(({ title }) => title), ["b"], way);
    const prompts = await agent.getPrompts("pc");
    assertEquals(prompts.map(({ name }) => name), ["p"], way);
    const [{ state, problems } = fail()] = office.computer.status().servers;
    assertEquals(state, "running");
    for (const list of ["tools/list", "resources/list", "prompts/list"]) {
      const said = problems.find((text) => text.startsWith(list)) ?? "";
      assertStringIncludes(said, "is not complete: page 2 failed (");
      assertStringIncludes(said, reason);
    }
  }
});

const fail = (): never => {
  throw new Error("There is no MCP server");
};

Deno.test("prompts whose arguments are wrong do not cost the prompts of the office", async () => {
  const raw = rawServer({
    "prompts/list": () => ({
      prompts: [
        { name: "good", arguments: [{ name: "a" }] },
        { name: "bad", title: 5, arguments: [null, 5, { name: 5 }] },
      ],
    }),
    "prompts/get": () => ({
      messages: [{
        role: "user",
        content: { type: "text", text: "hi", annotations: { priority: "1" } },
      }],
    }),
  });
  await using office = await serveOffice({ servers: { raw } });
  for (const era of ERAS) {
    await using client = await sdkClient(inProcess(office.mcp), era);
    const { prompts } = await client.listPrompts();
    assertEquals(names(prompts), ["pc__good", "pc__bad"]);
    const got = await client.getPrompt({ name: prompts[0]?.name ?? "" });
    assertEquals<unknown>(got.messages[0]?.content, {
      type: "text",
      text: "hi",
      annotations: {},
    });
  }
});
