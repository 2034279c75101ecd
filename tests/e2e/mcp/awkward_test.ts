import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { fixtureHere } from "../../support/computer/fixture_here.ts";
import { fixture } from "../../support/computer/mcp_servers.ts";
import { isCancelled } from "../../support/mcp/cancelled.ts";
import { CLIENTS } from "../../support/mcp/clients.ts";
import { serveOffice } from "../../support/mcp/office.ts";

const SCHEMAS = {
  "with space": { type: "object", properties: { text: { type: "string" } } },
  ["x".repeat(85)]: { type: "object" },
  ref: {
    type: "object",
    $defs: { name: { type: "string", minLength: 1 } },
    properties: { text: { $ref: "#/$defs/name" } },
  },
  choice: {
    type: "object",
    oneOf: [{ required: ["text"] }, { required: ["other"] }],
  },
  "dots.and/slashes": { type: "object" },
};

/** Says that its results have what they do not. */
const unfaithful = {
  name: "unfaithful",
  inputSchema: { type: "object" },
  outputSchema: {
    type: "object",
    properties: { count: { type: "integer" } },
    required: ["count"],
  },
};

const awkward = () =>
  fixtureHere({
    only: ["big"],
    extraTools: [
      ...Object.entries(SCHEMAS).map(([name, inputSchema]) => ({
        name,
        inputSchema,
      })),
      unfaithful,
    ],
  });

for (const [kind, connect] of Object.entries(CLIENTS)) {
  Deno.test(`${kind}: tools with awkward names and schemas are listed whole, and called`, async () => {
    await using office = await serveOffice({ servers: { odd: awkward() } });
    await using client = await connect(office);
    const tools = await client.tools();
    const names = tools.map(({ name }) => name);
    assert(names.every((name) => /^[\w-]{1,48}$/.test(name)), String(names));
    assertEquals(new Set(names).size, names.length);
    const schemas = Object.values(SCHEMAS);
    assertEquals(
      tools.slice(1, 1 + schemas.length).map(({ inputSchema }) =>
        JSON.parse(JSON.stringify(inputSchema))
      ),
      schemas,
    );
    assertMatch(names[1] ?? "", /^pc__with_space_[0-9a-v]{6}$/);
    for (const name of names.slice(1, 1 + schemas.length)) {
      const { content } = await client.call(name, { text: name });
      assertEquals(content, [{ type: "text", text: name }]);
    }
  });

  Deno.test(`${kind}: a result that does not keep its schema fails at the client, unless the office is lenient`, async () => {
    await using strict = await serveOffice({ servers: { odd: awkward() } });
    await using client = await connect(strict);
    await client.tools();
    await assertRejects(
      () => client.call("pc__unfaithful", { text: "x" }),
      Error,
      "has an output schema but did not return structured content",
    );
    await using lenient = await serveOffice({
      servers: { odd: awkward() },
      mcp: { lenient: true },
    });
    await using other = await connect(lenient);
    await other.tools();
    const { content } = await other.call("pc__unfaithful", { text: "x" });
    assertEquals(content, [{ type: "text", text: "x" }]);
  });

  Deno.test(`${kind}: a result of 4 MB comes whole, one of 12 MB is a failure that says so`, async () => {
    await using office = await serveOffice({ servers: { odd: awkward() } });
    await using client = await connect(office);
    const large = await client.call("pc__big", { bytes: 4_000_000 });
    assertEquals(String(large.content[0]?.text).length, 4_000_000);
    const tooLarge = await client.call("pc__big", { bytes: 12_000_000 });
    assertEquals(tooLarge.isError, true);
    assertMatch(
      String(tooLarge.content[0]?.text),
      /its result cannot be sent: it has 12\d{6} bytes/,
    );
  });

  Deno.test(`${kind}: tools with names of other scripts and of signs are named, and called`, async () => {
    const names = [
      "温度",
      "größe",
      "🙂",
      "a.b",
      "a/b",
      "a b",
      "a_b",
      "-",
      "__",
    ];
    await using office = await serveOffice({
      servers: {
        odd: fixtureHere({
          only: [],
          extraTools: names.map((name) => ({
            name,
            inputSchema: { type: "object" },
          })),
        }),
      },
    });
    await using client = await connect(office);
    const tools = await client.tools();
    assertEquals(
      tools.map(({ _meta }) => (_meta as Record<string, unknown>)[TOOL_KEY]),
      names,
    );
    const shown = tools.map(({ name }) => name);
    assert(shown.every((name) => /^pc__[\w-]{1,44}$/.test(name)), `${shown}`);
    assertEquals(new Set(shown).size, names.length);
    for (const name of shown) {
      const { content } = await client.call(name, { text: name });
      assertEquals(content, [{ type: "text", text: name }]);
    }
  });

  Deno.test(`${kind}: no result, and an MCP server that ends, are failures that a model can read`, async () => {
    await using office = await serveOffice({
      servers: { odd: fixture({ only: ["no_result", "crash"] }) },
    });
    await using client = await connect(office);
    const none = await client.call("pc__no_result");
    assertEquals([none.isError, none._meta?.error_code], [true, 4003]);
    const ended = await client.call("pc__crash");
    assertEquals([ended.isError, ended._meta?.error_code], [true, 4003]);
    assertMatch(String(ended.content[0]?.text), /"crash" failed/);
  });

  Deno.test(`${kind}: structured content that does not fit arrives as it is where the office is lenient, and fails at the client else`, async () => {
    const servers = {
      odd: fixture({
        only: [],
        extraTools: [{ ...unfaithful, name: "deep" }],
      }),
    };
    await using strict = await serveOffice({ servers });
    await using client = await connect(strict);
    await client.tools();
    await assertRejects(
      () => client.call("pc__deep", { levels: 2 }),
      Error,
      "does not match the tool's output schema",
    );
    await using lenient = await serveOffice({
      servers,
      mcp: { lenient: true },
    });
    await using other = await connect(lenient);
    await other.tools();
    const { structuredContent } = await other.call("pc__deep", { levels: 2 });
    assertEquals(structuredContent, { inner: { inner: {} } });
  });

  Deno.test(`${kind}: a tool that never answers ends when the office has had enough, at the MCP server too`, async () => {
    await using office = await serveOffice({ mcp: { callTimeoutMs: 3000 } });
    await using client = await connect(office);
    const { isError, _meta } = await client.call("pc__slow");
    assertEquals([isError, _meta?.error_code], [true, 4004]);
    await isCancelled(office.office.agent.callTool("pc", "slow_aborted"));
  });

  Deno.test(`${kind}: a tool that comes while another one runs is told of and called`, async () => {
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
    assertMatch(added, /^pc__new_one_/);
    const { content } = await client.call(added, { text: "hello" });
    assertEquals(content, [{ type: "text", text: "hello" }]);
    end.abort();
    await over;
    await isCancelled(client.call("pc__slow_aborted"));
    await client.terminate();
  });
}

/** The key of `_meta` that has a tool's name at its Computer. */
const TOOL_KEY = "a2c-smcp/tool";
