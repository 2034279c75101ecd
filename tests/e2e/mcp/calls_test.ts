import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { Buffer } from "node:buffer";
import { officeMcp } from "../../../mcp/mod.ts";
import { BURST_MS } from "../../../mcp/office/office_view.ts";
import { conformanceHttp } from "../../mcp/conformance/server.ts";
import { sha256 } from "../../support/blob_script.ts";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { createCounter } from "../../support/fixtures/counter.ts";
import { startHttpFixture } from "../../support/fixtures/mcp_http.ts";
import { createPictures } from "../../support/fixtures/pictures.ts";
import {
  CLIENTS,
  connectV1,
  ERAS,
  isCancelled,
  sdkClient,
  type SeenResult,
} from "../../support/mcp/clients.ts";
import { inProcess, serveOffice } from "../../support/mcp/gateway.ts";
import { startOffice } from "../../support/office.ts";
import { keepTimers, watchTimers } from "../../support/timers.ts";

/** A time that no other part waits for. */
const TIMEOUT_MS = 54_321;

const textOf = ({ content }: SeenResult) => String(content[0]?.text);

const inputSchema = { type: "object" };

const SCHEMAS = {
  "with space": { ...inputSchema, properties: { text: { type: "string" } } },
  ["x".repeat(85)]: inputSchema,
  ref: {
    ...inputSchema,
    $defs: { name: { type: "string", minLength: 1 } },
    properties: { text: { $ref: "#/$defs/name" } },
  },
  choice: {
    ...inputSchema,
    oneOf: [{ required: ["text"] }, { required: ["other"] }],
  },
};

/** Names of other scripts and of signs, and with schemas that clients may not understand. */
const NAMES = [
  ...Object.keys(SCHEMAS),
  ...["dots.and/slashes", "温度", "größe", "🙂", "a.b", "a/b", "a b", "a_b"],
  ...["-", "__"],
];

/** A tool whose results are to have a count, and have none. */
const UNFAITHFUL = {
  name: "unfaithful",
  inputSchema,
  outputSchema: {
    type: "object",
    properties: { count: { type: "integer" } },
    required: ["count"],
  },
};

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: tools with awkward names and schemas are listed whole, and called`, async () => {
    const extraTools = NAMES.map((name) => ({
      name,
      inputSchema: {
        ...inputSchema,
        ...new Map(Object.entries(SCHEMAS)).get(name),
      },
    }));
    await using office = await serveOffice({
      servers: { odd: fixtureHere({ only: [], extraTools }) },
    });
    await using client = await connect(office);
    const tools = await client.tools();
    assertEquals(
      tools.map(({ _meta, inputSchema }) => ({
        name: _meta?.["a2c-smcp/tool"],
        inputSchema: JSON.parse(JSON.stringify(inputSchema)),
      })),
      extraTools,
    );
    const shown = tools.map(({ name }) => name);
    assert(shown.every((name) => /^pc__[\w-]{1,44}$/.test(name)), `${shown}`);
    assertEquals(new Set(shown).size, NAMES.length);
    assertMatch(shown[0] ?? "", /^pc__with_space--[0-9a-v]{10}$/);
    for (const text of shown) {
      assertEquals(textOf(await client.call(text, { text })), text);
    }
  });

  Deno.test(`${kind}: a result that does not keep its schema fails at the client, unless the office is lenient`, async () => {
    for (const lenient of [false, true]) {
      await using office = await serveOffice({
        servers: { odd: fixtureHere({ only: [], extraTools: [UNFAITHFUL] }) },
        mcp: { lenient },
      });
      await using client = await connect(office);
      await client.tools();
      const call = () => client.call("pc__unfaithful", { text: "x" });
      if (lenient) assertEquals(textOf(await call()), "x");
      else await assertRejects(call, Error, "did not return structured");
    }
  });

  Deno.test(`${kind}: a failure is a result with isError and a code that a model can read, but an unknown tool is an error`, async () => {
    await using office = await serveOffice({
      servers: {
        fix: fixture({
          only: ["fail", "throw", "meta", "big", "crash"],
        }),
      },
    });
    await using client = await connect(office);
    await client.tools();
    const large = await client.call("pc__big", { bytes: 4_000_000 });
    assertEquals(textOf(large).length, 4_000_000);
    const meta = await client.call("pc__meta");
    assertEquals(["meta" in meta, meta._meta?.origin], [false, "fixture"]);
    for (
      const [name, code, text] of [
        ["fail", undefined, /^it went wrong$/],
        ["throw", 4003, /no such luck/],
        ["big", undefined, /its result cannot be sent: it has 12\d{6} bytes/],
        ["crash", 4003, /"crash" failed/],
      ] as const
    ) {
      const failed = await client.call(`pc__${name}`, { bytes: 12_000_000 });
      assertEquals(failed.isError, true, name);
      if (code) assertEquals(failed._meta?.error_code, code, name);
      assertMatch(textOf(failed), text);
    }
    const error = await assertRejects(
      () => client.call("pc__unknown"),
      Error,
      "Unknown tool: pc__unknown",
    );
    assertEquals("code" in error && error.code, -32602);
  });

  Deno.test(`${kind}: a tool that comes while another one runs is notified of, and called`, async () => {
    await using office = await serveOffice();
    await using client = await connect(office);
    await client.tools();
    await client.listening();
    const end = new AbortController();
    const running = client.call("pc__slow", {}, { signal: end.signal });
    const over = assertRejects(() => running);
    await client.call("pc__slow_began");
    await client.call("pc__add_tool", { name: "new one" });
    await client.changed(1);
    const added = (await client.tools()).at(-1)?.name ?? "";
    assertMatch(added, /^pc__new_one--/);
    const called = await client.call(added, { text: "hello" });
    assertEquals(textOf(called), "hello");
    end.abort();
    await over;
    await isCancelled(client.call("pc__slow_aborted"));
    await client.terminate();
  });

  Deno.test(`${kind}: a long call sends progress, and outlives the client's timeout`, async () => {
    await using office = await serveOffice({ mcp: { heartbeatMs: 100 } });
    await using client = await connect(office);
    const messages: (string | undefined)[] = [];
    let timeouts = 0;
    using _ = watchTimers((delay) => delay === TIMEOUT_MS && timeouts++);
    const enough = Promise.withResolvers<void>();
    const abort = new AbortController();
    const slow = client.call("pc__slow", {}, {
      signal: abort.signal,
      timeout: TIMEOUT_MS,
      resetTimeoutOnProgress: true,
      onprogress: ({ message }) => {
        if (messages.push(message) === 5) enough.resolve();
      },
    });
    await Promise.race([enough.promise, slow]);
    // It begins again with each message.
    assert(timeouts >= messages.length, `${timeouts} of ${messages.length}`);
    assertMatch(messages[0] ?? "", /^running for \d+ s on pc$/);
    abort.abort(new Error("enough"));
    await assertRejects(() => slow);
    await isCancelled(client.call("pc__slow_aborted"));
  });

  Deno.test(`${kind}: a tool's own progress reaches the client, increasing, up to the last; its title and icons too`, async () => {
    await using office = await serveOffice({
      mcp: { heartbeatMs: 20 },
      servers: {
        counter: {
          type: "in-process",
          server: createCounter(),
          default_tool_meta: { auto_apply: true },
        },
      },
    });
    await using client = await connect(office);
    const [tool] = await client.tools();
    assertEquals([tool?.name, tool?.title, tool?.icons], [
      "pc__count",
      "Count (pc)",
      [{ src: "data:image/png;base64,AA==", sizes: ["any"] }],
    ]);
    const seen: number[] = [];
    const stop = new AbortController();
    const last = Promise.withResolvers<void>();
    const call = client.call("pc__count", { wait: true }, {
      signal: stop.signal,
      onprogress: ({ progress, message }) => {
        seen.push(progress);
        if (message === "counting" && progress === 30) last.resolve();
      },
    }).catch(() => {});
    await last.promise;
    stop.abort();
    await call;
    assert(seen.includes(1), `${seen}`);
    assertEquals(seen, [...new Set(seen)].toSorted((a, b) => a - b));
    const quiet = await client.call("pc__count");
    assertEquals(textOf(quiet), "false", "progress was not asked for");
  });

  Deno.test(`${kind}: a tool that never answers ends when the office has had enough, at the MCP server too`, async () => {
    await using office = await serveOffice({ mcp: { callTimeoutMs: 3000 } });
    await using client = await connect(office);
    const { isError, _meta } = await client.call("pc__slow");
    assertEquals([isError, _meta?.error_code], [true, 4004]);
    await isCancelled(office.computer.callTool("slow_aborted"));
  });

  Deno.test(`${kind}: with "search" there are two tools, which find and call the others`, async () => {
    await using office = await serveOffice({ mcp: { tools: "search" } });
    await using client = await connect(office);
    const names = (await client.tools()).map(({ name }) => name);
    assertEquals(names, ["search_tools", "call_tool"]);
    const found = await client.call("search_tools", { query: "echo" });
    assertEquals(JSON.parse(textOf(found)).tools[0].name, "pc__echo");
    const call = (args: Record<string, unknown>) =>
      client.call("call_tool", args);
    const result = await call({
      name: "pc__echo",
      arguments: { text: "found" },
    });
    assertEquals(textOf(result), "found");
    for (const [name, code] of [["pc__nothing", 4001], [7, 400]] as const) {
      const wrong = await call({ name });
      assertEquals([wrong.isError, wrong._meta?.error_code], [true, code]);
    }
    await assertRejects(() => client.call("pc__echo"), Error, "Unknown tool");
  });
}

Deno.test("a burst of changes is one notification", async () => {
  using bursts = keepTimers(BURST_MS);
  const tools: object[] = [];
  await using office = await startOffice();
  const computer = await office.addScriptedComputer("pc", () => ({
    tools: [...tools],
    req_id: "1",
  }));
  const { agent } = office;
  await agent.toolsSettled();
  await using mcp = officeMcp(agent);
  await using client = await CLIENTS["v2, 2026"]!(inProcess(mcp));
  await client.tools();
  await client.listening();
  const names = ["first", "second", "third"];
  for (const name of names) {
    const fetched = Promise.withResolvers<void>();
    const off = agent.on("tools", (of) => {
      if (of.tools?.length === tools.length) fetched.resolve();
    });
    tools.push({
      name,
      description: "",
      params_schema: inputSchema,
      return_schema: null,
    });
    computer.send("server:update_tool_list", { computer: "pc" });
    await fetched.promise;
    off();
    await new Promise((resolve) => setTimeout(resolve, 0)); // no other timer is due
  }
  bursts.fire();
  await client.changed(1);
  assertEquals(
    (await client.tools()).map(({ name }) => name),
    names.map((name) => `pc__${name}`),
  );
  assertEquals(client.changes(), 1);
});

Deno.test("400 calls at once get 400 results where the Server allows less than expected", async () => {
  await using office = await serveOffice({
    office: {
      server: { limits: { eventsPerSecond: 100, callsPerAgent: 100 } },
    },
  });
  await using client = await connectV1(office);
  const texts = Array.from({ length: 400 }, (_, i) => String(i));
  const results = await Promise.all(
    texts.map((text) => client.call("pc__echo", { text })),
  );
  assertEquals(results.map(textOf), texts);
});

Deno.test("an MCP client gets an image whole that is larger than a message of the Server", async () => {
  await using office = await serveOffice({
    servers: {
      pictures: {
        type: "in-process",
        server: createPictures(),
        default_tool_meta: { auto_apply: true },
      },
    },
    office: { server: { maxMessageBytes: 1_000_000 } },
  });
  await using client = await connectV1(office);
  const { content: [sum, image], isError } = await client.call(
    "pc__pictures",
    { sizes: [3_000_000] },
  );
  assertEquals(isError, undefined);
  const bytes = Buffer.from(String(image?.data), "base64");
  assertEquals(sha256(bytes), sum?.text);
});

/** The names in the answers that the fixture got. */
const namesIn = (result: SeenResult): string[] =>
  JSON.parse(textOf(result)).map(
    ({ content }: { content: { name: string } }) => content.name,
  );

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: a client that supports forms answers the MCP server repeatedly, and gets the progress after each; another gets a failure that says so`, async () => {
    await using office = await serveOffice({
      servers: { fix: fixture({ only: ["ask", "ask_and_work"] }) },
    });
    const asked: string[] = [];
    await using client = await connect(office, (message) => {
      asked.push(message);
      return { action: "accept", content: { name: `Ann${asked.length}` } };
    });
    const result = await client.call("pc__ask", { rounds: 3 });
    assertEquals(namesIn(result), ["Ann1", "Ann2", "Ann3"]);
    assertEquals(asked, Array(3).fill("Who are you?"));

    const seen: number[] = [];
    const worked = await client.call("pc__ask_and_work", {}, {
      onprogress: ({ progress }) => seen.push(progress),
    });
    assertEquals(textOf(worked), "done");
    assertEquals([seen[0], seen.at(-1)], [1, 3]);
    assertEquals(seen, seen.toSorted());

    await using mute = await connect(office);
    const failed = await mute.call("pc__ask");
    assert(failed.isError);
    assertStringIncludes(textOf(failed), "does not support form elicitation");
  });

  Deno.test(`${kind}: over HTTP a question reaches the client of its call, while others run at the same MCP server`, async () => {
    await using server = await startHttpFixture("streamable", {
      only: ["ask", "slow", "slow_began", "slow_aborted"],
    });
    await using office = await serveOffice({
      servers: {
        fix: { type: "streamable", server_parameters: { url: server.url } },
      },
    });
    const strangers: string[] = [];
    await using stranger = await connect(office, (message) => {
      strangers.push(message);
      return { action: "accept", content: { name: "Eve" } };
    });
    await using client = await connect(office, () => ({
      action: "accept",
      content: { name: "Ann" },
    }));
    const end = new AbortController();
    const running = stranger.call("pc__slow", {}, { signal: end.signal });
    const over = assertRejects(() => running);
    await client.call("pc__slow_began");
    const result = await client.call("pc__ask", { rounds: 2 });
    assertEquals(namesIn(result), ["Ann", "Ann"]);
    assertEquals(strangers, []);
    end.abort();
    await over;
    await isCancelled(client.call("pc__slow_aborted"));
    await client.terminate();
    await stranger.terminate();
  });
}

for (const era of ERAS) {
  Deno.test(`${era}: an MCP server that asks for the context of its prompt is answered by the client`, async () => {
    await using served = await conformanceHttp();
    await using office = await serveOffice({
      servers: {
        conf: { type: "streamable", server_parameters: { url: served.url } },
      },
    });
    const name = "pc__test_input_required_result_prompt";
    const asked: string[] = [];
    await using client = await sdkClient(office, era, (message) => {
      asked.push(message);
      return { action: "accept", content: { context: "the weather" } };
    });
    const { messages } = await client.getPrompt({ name });
    assertStringIncludes(JSON.stringify(messages), "About: the weather");
    assertEquals(asked, ["What context should the prompt use?"]);
    await using mute = await sdkClient(office, era);
    const error = await assertRejects(() => mute.getPrompt({ name }));
    assertStringIncludes(String(error), "form elicitation");
  });
}
