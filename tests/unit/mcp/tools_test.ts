import fc from "fast-check";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { ConnectionError } from "../../../agent/mod.ts";
import { resolveOptions } from "../../../mcp/options.ts";
import { Catalogue } from "../../../mcp/tools/catalogue.ts";
import { computerPart, toolName } from "../../../mcp/tools/names.ts";
import { toFailure, toMcpResult } from "../../../mcp/tools/result.ts";
import { readQuery, searchTools } from "../../../mcp/tools/search.ts";
import { toMcpTool } from "../../../mcp/tools/tool.ts";
import { ProtocolError, timeoutResult } from "../../../protocol/mod.ts";
import { isPlainName } from "../../../shared/checks.ts";

const naming = { limit: 48, prefix: true };
const A_NAME = /^[A-Za-z0-9_-]+$/;

Deno.test("toolName() leaves names as they are where they can stand, and cuts, replaces and hashes others", () => {
  const laptop = "laptop";
  const rows: [parts: Parameters<typeof toolName>[0], RegExp][] = [
    [{ computer: laptop, own: "echo" }, /^laptop__echo$/],
    [{ computer: "my_pc-2", own: "a__b" }, /^my_pc-2__a__b$/],
    [
      { computer: laptop, own: "x".repeat(85) },
      /^(?=.{48}$)laptop__x+--[0-9a-v]{10}$/,
    ],
    [
      { computer: laptop, own: "read file.txt" },
      /^laptop__read_file_txt--[0-9a-v]{10}$/,
    ],
    [{ computer: "pc", own: "" }, /^pc__tool--[0-9a-v]{10}$/],
    [
      { computer: "pc", own: "a--0123456789" },
      /^pc__a--0123456789--[0-9a-v]{10}$/,
    ],
  ];
  for (const [parts, expected] of rows) {
    assertMatch(toolName(parts, naming), expected);
  }
  const alone = { limit: 48, prefix: false };
  assertEquals(toolName({ computer: laptop, own: "echo" }, alone), "echo");
  const [here, there] = [laptop, "desktop"].map((computer) =>
    toolName({ computer, own: "a b" }, naming).slice(-10)
  );
  assert(here !== there, "the hash is of both names");
});

Deno.test("toolName() gives a Computer whose name cannot stand one short hash, the same for all tools", () => {
  const [first, second] = ["echo", "add"].map((own) =>
    toolName({ computer: "build box", own }, naming)
  );
  assertMatch(first ?? "", /^build_box--[0-9a-v]{8}__echo$/);
  assertEquals(second, first?.replace("echo", "add"));
  const shown = computerPart("build box", 48);
  for (const odd of ["a__b", "a_", "日本", "", "x".repeat(60), shown]) {
    const part = computerPart(odd, 48);
    assertMatch(part, /^[A-Za-z0-9_-]*--[0-9a-v]{8}$/);
    assert(!part.includes("__") && part.length <= 22, part);
    assert(odd === shown || part !== shown);
  }
});

Deno.test("isPlainName() tells which Computers are named as they are by default", () => {
  const plain = ["a", "a_b-C", "a--b", "x".repeat(22)];
  const others = ["x".repeat(23), "a__b", "a_", "a--0123abcd", "", "a b"];
  for (const name of [...plain, ...others, "a.local", "日本"]) {
    assertEquals(isPlainName(name), computerPart(name, 48) === name, name);
  }
});

Deno.test("protocol §13: toolName() keeps a bundle_id, and of one that does not fit a part", () => {
  const named = (server: string, own: string) =>
    toolName({ computer: "laptop", server, own }, naming);
  assertEquals(named("files", "read"), "laptop__files__read");
  const long = named("github-enterprise-server", "create_pull_request");
  assertMatch(long, /^laptop__github-__create_pull_request--[0-9a-v]{10}$/);
  assert(long !== named("github-enterprise-server1", "create_pull_request"));
  assertMatch(
    named("files", "read file"),
    /^laptop__files__read_file--[0-9a-v]{10}$/,
  );
  assertMatch(
    named("my files_", "read"),
    /^laptop__my_files___read--[0-9a-v]{10}$/,
  );
});

const anyName = fc.oneof(
  fc.string({ minLength: 1, maxLength: 256 }),
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 100 }),
  fc.stringMatching(/^[a-zA-Z0-9_. -]{1,85}$/),
);

Deno.test("toolName() keeps to alphabet and limit for any names", () => {
  fc.assert(
    fc.property(
      fc.record({
        computer: anyName,
        server: fc.option(anyName, { nil: undefined }),
        own: anyName,
      }),
      fc.record({
        limit: fc.integer({ min: 24, max: 128 }),
        prefix: fc.boolean(),
      }),
      (parts, naming) => {
        const name = toolName(parts, naming);
        assertMatch(name, A_NAME);
        assert(name.length <= naming.limit, name);
        assertEquals(toolName(parts, naming), name);
      },
    ),
    { numRuns: 10_000 },
  );
});

const shown = {
  name: "laptop__read",
  computer: "laptop",
  naming: true,
  lenient: false,
};

Deno.test("toMcpTool() keeps schemas, annotations and metadata, and says where the tool runs", () => {
  const schema = { type: "object", properties: { path: {} }, $defs: {} };
  const output = { type: "object", properties: { lines: {} } };
  assertEquals(
    toMcpTool({
      name: "read",
      description: "Reads a file",
      params_schema: schema,
      return_schema: output,
      meta: {
        MCP_TOOL_ANNOTATION: JSON.stringify({
          title: "Read",
          readOnlyHint: true,
        }),
        a2c_tool_meta: JSON.stringify({ tags: ["files"], alias: null }),
        a2c_mcp_server: "fs",
        "anthropic/alwaysLoad": true,
        "anthropic/maxResultSizeChars": 500_000,
        ui: JSON.stringify({ resourceUri: "ui://read" }),
        note: "[not JSON",
      },
    }, shown),
    {
      name: "laptop__read",
      title: "Read (laptop)",
      description: "[laptop] Reads a file",
      inputSchema: { ...schema, type: "object" },
      outputSchema: output,
      annotations: { title: "Read", readOnlyHint: true },
      _meta: {
        "anthropic/alwaysLoad": true,
        "anthropic/maxResultSizeChars": 500_000,
        ui: { resourceUri: "ui://a2c/laptop/fs/ui%3A%2F%2Fread" },
        note: "[not JSON",
        "a2c-smcp/computer": "laptop",
        "a2c-smcp/tool": "read",
        "a2c-smcp/mcp_server": "fs",
        "a2c-smcp/tags": ["files"],
      },
    },
  );
});

Deno.test("toMcpTool() takes the few fields of an older Computer, and those of a later one; lenient, no output schema", () => {
  const bare = {
    name: "x",
    description: "",
    params_schema: {},
    return_schema: null,
  };
  const base = {
    name: "laptop__x",
    description: "[laptop]",
    inputSchema: { type: "object" as const },
    _meta: { "a2c-smcp/computer": "laptop", "a2c-smcp/tool": "x" },
  };
  const icons = [{ src: "https://x.example/icon.png", theme: "odd" }];
  const src = "https://x.example/icon.png";
  const here = { ...shown, name: "laptop__x" };
  const output = { ...bare, return_schema: { type: "object" } };
  for (
    const [tool, how, expected] of [
      [bare, here, base],
      [output, { ...here, lenient: true }, {
        ...base,
        inputSchema: { type: "object", properties: {} },
        _meta: {
          ...base._meta,
          "a2c-smcp/schema_changes": [
            'type at the root is "object"',
            "properties at the root are added",
          ],
        },
      }],
      [{ ...bare, title: "An X", icons }, { ...here, naming: false }, {
        ...base,
        title: "An X",
        description: "",
        icons: [{ src }],
      }],
    ] as const
  ) assertEquals<unknown>(toMcpTool(tool, how), expected);
});

Deno.test("toMcpResult() passes everything, and leaves out what MCP does not know", () => {
  assertEquals(
    toMcpResult({
      content: [
        { type: "text", text: "a", annotations: null, meta: null, _meta: null },
        { type: "image", data: "AA==", mimeType: "image/png" },
        { type: "resource_link", uri: "file:///a", name: "a", size: null },
        {
          type: "resource",
          resource: { uri: "file:///a", text: "x", mimeType: null },
        },
      ],
      structuredContent: { a: null },
      isError: null,
      meta: { origin: "python" },
      _meta: null,
      later: [1],
    }),
    {
      content: [
        { type: "text", text: "a" },
        { type: "image", data: "AA==", mimeType: "image/png" },
        { type: "resource_link", uri: "file:///a", name: "a" },
        { type: "resource", resource: { uri: "file:///a", text: "x" } },
      ],
      structuredContent: { a: null },
      later: [1],
      _meta: { origin: "python" },
    },
  );
});

Deno.test("toMcpResult() writes pieces of an unknown kind as text", () => {
  const odd = { type: "hologram", data: "AA==" };
  const broken = { type: "resource_link", uri: "a:b" };
  const result = toMcpResult({
    // What parses is more than what the types know.
    content: [odd, broken].map((block) => JSON.parse(JSON.stringify(block))),
  });
  assertEquals(
    result.content,
    [odd, broken].map((block) => ({
      type: "text",
      text: JSON.stringify(block),
    })),
  );
});

Deno.test("toFailure() makes a result for the model and a code for programs", () => {
  assertEquals(toMcpResult(timeoutResult(5))._meta?.error_code, 4004);
  for (
    const [error, text, code] of [
      [new ProtocolError(404, "No such Computer"), "No such Computer", 404],
      [new ConnectionError("lost", "It is gone"), "It is gone", "lost"],
      ["odd", "odd", 500],
    ] as const
  ) {
    const { content, isError, _meta } = toFailure(error);
    assertEquals([content, isError, _meta?.error_code], [
      [{ type: "text", text }],
      true,
      code,
    ]);
  }
});

const table = new Catalogue(resolveOptions({}));
const tool = (name: string, description: string) => ({
  name,
  description,
  params_schema: { type: "object" },
  return_schema: null,
});
await table.update(
  new Map([
    ["laptop", {
      tools: [
        tool("readTextFile", "Reads a file"),
        tool("echo", "Says it again, does not read"),
      ],
    }],
    ["nas", { tools: [tool("list_files", "Lists what is there")] }],
  ]),
);

Deno.test("searchTools() finds words of names before those of descriptions, lists all without words, of one Computer where asked, and at most the limit", async () => {
  const read = "laptop__readTextFile";
  const echo = "laptop__echo";
  const list = "nas__list_files";
  for (
    const [args, names, total = names.length] of [
      [{ query: "read" }, [read, echo]],
      [{ query: "file" }, [read, list]],
      [{ query: "nothing-like-this" }, []],
      [{ query: "" }, [read, echo, list]],
      [{ query: "", computer: "nas" }, [list]],
      [{ query: "", limit: 1 }, [read], 3],
    ] satisfies [object, (string | undefined)[], number?][]
  ) {
    const query = readQuery(args);
    assert(typeof query !== "string", String(query));
    const found = await searchTools(table.tools, query);
    assertEquals(found.tools.map(({ name }) => name), names);
    assertEquals(found.total, total);
    for (const { inputSchema } of found.tools) {
      assertEquals(inputSchema, { type: "object" });
    }
  }
});

Deno.test("readQuery() says which argument is wrong", () => {
  const wrong = [
    [{ query: 1 }, "query: "],
    [{ query: "", computer: 1 }, "computer: "],
    [{ query: "", limit: 0 }, "limit: "],
    [{ query: "", limit: 51 }, "limit: "],
    [{ query: "a ".repeat(501) }, "query: expected at most 1000 characters"],
  ] as const;
  for (const [args, start] of wrong) {
    const answer = readQuery(args);
    assert(typeof answer === "string" && answer.startsWith(start));
  }
});
