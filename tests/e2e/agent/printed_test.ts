import { assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { timeoutResult } from "../../../protocol/payloads/tool_result.ts";
import { ErrorCode, ProtocolError } from "../../../protocol/mod.ts";
import { type CommandEnd, runHere } from "../../support/command.ts";
import { OFFICE, startOffice } from "../../support/office.ts";
import { scratch } from "../../support/scratch.ts";

/** Answers of a Computer by event, without `client:`; a function may throw. */
type Answers = Readonly<
  Record<string, object | ((payload: Record<string, unknown>) => object)>
>;

const tool = (name: string, more: object = {}) => ({
  name,
  description: "",
  params_schema: { properties: { count: { type: "integer" } } },
  return_schema: null,
  ...more,
});

const text = (text: string) => ({ type: "text", text });

const TOOLS = { get_tools: { tools: [tool("echo")] } };

/** Answers of a Computer whose tool gives a result. */
const calls = (result: object): Answers => ({ ...TOOLS, tool_call: result });

const failing = (_meta: object) =>
  calls({ content: [text("no")], isError: true, _meta });

const refusing = (code: number, message: string, fields = {}) => (): object => {
  throw new ProtocolError(code, message, { fields });
};

const server = (name: string, more: object = {}) => ({
  name,
  type: "stdio",
  disabled: false,
  forbidden_tools: [],
  tool_meta: {},
  server_parameters: {
    command: "npx",
    args: ["-y", "x"],
    env: null,
    cwd: null,
    encoding: "utf-8",
    encoding_error_handler: "strict",
  },
  ...more,
});

const configured = (...names: string[]) => ({
  get_config: {
    servers: Object.fromEntries(
      names.map((name, at) => [`id${at}`, server(name)]),
    ),
  },
});

const NO_CONFIG = { get_config: refusing(500, "out of order") };

const summary = (more: object) => ({
  doc_ref: "r",
  uri: "dpe://files/r",
  server: "files",
  file_uri: "file:///r.pdf",
  file_type: "pdf",
  page_count: 0,
  title: "R",
  ...more,
});

const found = (total_count: number, ...documents: object[]) => ({
  get_finder: { documents, total_count },
});

/** Reads by the request: the MCP server that is asked. */
const READS = {
  read_resource: ({ mcp_server, uri }: Record<string, unknown>) => ({
    contents: [{ uri, text: `of ${mcp_server}` }, { uri, text: "more" }],
  }),
};

/** An office with a free seat, whose Computer "pc" answers as it is set to. */
async function start() {
  let answers: Answers = {};
  const office = await startOffice();
  await office.addScriptedComputer("pc", (event, payload) => {
    const answer = answers[event.replace("client:", "")];
    const asked: Record<string, unknown> = Object(payload);
    return {
      req_id: asked.req_id,
      ...(typeof answer === "function" ? answer(asked) : answer),
    };
  });
  await office.agent.leave();
  return {
    office,
    run(args: readonly string[], by: Answers): Promise<CommandEnd> {
      answers = by;
      const at = ["--url", office.url, "--office", OFFICE];
      return runHere("agent", [...args, ...at]);
    },
    [Symbol.asyncDispose]: () => office.close(),
  };
}

const PRINTED: readonly [args: string[], by: Answers, stdout: string][] = [
  [
    ["call", "echo"],
    calls({
      content: [
        text("one"),
        { type: "image", data: "x".repeat(61), mimeType: "image/png" },
        { type: "audio", data: "x".repeat(60), mimeType: "a/b" },
      ],
      structuredContent: { n: 1 },
    }),
    `one\n[image] data: 61 characters, mimeType: "image/png"\n[audio] data: "${
      "x".repeat(60)
    }", mimeType: "a/b"\n`,
  ],
  [
    ["call", "echo"],
    calls({ content: [], structuredContent: { n: 1 } }),
    '{\n  "n": 1\n}\n',
  ],
  [["call", "echo"], calls({ content: [] }), ""],
  [["desktop"], { get_desktop: { desktops: [] } }, "The desktop is empty.\n"],
  [
    ["desktop"],
    { get_desktop: { desktops: ["window://a", "window://b"] } },
    "window://a\n\n---\n\nwindow://b\n",
  ],
  [
    ["tools"],
    {
      get_tools: { tools: [tool("read", { title: "Read", bundle_id: "a" })] },
      ...NO_CONFIG,
    },
    "pc: 1 tool\n  a: 1 tool\n    read\n",
  ],
  [["tools"], { get_tools: { tools: [] }, ...NO_CONFIG }, "pc: 0 tools\n"],
  [
    ["tools", "--computer", "pc"],
    {
      get_tools: { tools: [] },
      ...configured("a", "b", "c"),
      get_resources: ({ mcp_server }) =>
        mcp_server === "id0" ? { resources: [] } : refusing(
          404,
          "It does not run",
          mcp_server === "id1" && {
                reason: "it is starting",
              } || {},
        )(),
    },
    "pc: 0 tools\n  a (id0): no tools\n  b (id1): starting\n  c (id2): no tools\n",
  ],
  [
    ["resources"],
    {
      ...configured("a", "b", "c"),
      get_resources: ({ mcp_server }) =>
        mcp_server === "id0"
          ? {
            resources: [
              { uri: "x://1", name: "name", title: "Title" },
              { uri: "x://2", name: "name" },
            ],
          }
          : refusing(mcp_server === "id1" ? 404 : 4015, "It has none")(),
    },
    "id0: 2 resources\n  x://1  Title\n  x://2  name\nid1: It has none\nid2: It has none\n",
  ],
  [
    ["resources", "--json"],
    { ...configured("a"), get_resources: refusing(404, "It has none") },
    "{}\n",
  ],
  [["resources"], configured(), "The Computer hosts no MCP server.\n"],
  [
    ["read", "x://1", "files"],
    { ...configured("other", "files"), ...READS },
    "of id1\nmore\n",
  ],
  [
    ["read", "x://1", "files"],
    { ...configured("other"), ...READS },
    "of files\nmore\n",
  ],
  [
    ["read", "x://1", "files"],
    { ...NO_CONFIG, ...READS },
    "of files\nmore\n",
  ],
  [
    ["config"],
    {
      get_config: {
        servers: {
          a: server("a"),
          b: server("B", {
            type: "streamable",
            disabled: true,
            server_parameters: {
              url: "http://b/",
              headers: null,
              timeout: "30",
              sse_read_timeout: "300",
              terminate_on_close: true,
            },
          }),
        },
      },
    },
    "2 MCP servers\n  a      stdio     npx -y x\n  B (b)  disabled  http://b/\n0 inputs\n",
  ],
  [["docs"], found(0), "No document matches.\n"],
  [
    ["docs", "--offset", "7"],
    found(3),
    "There are 3 documents; --offset 7 is past the last.\n",
  ],
  [
    ["docs", "--offset", "2"],
    found(3, summary({ page_count: 1 })),
    "R  pdf  1 pages    dpe://files/r\n",
  ],
  [
    ["docs", "--offset", "1"],
    found(3, summary({})),
    "R  pdf      dpe://files/r\n2 to 2 of 3; the next with --offset 2\n",
  ],
  [
    ["prompts"],
    { get_prompts: { prompts: [] } },
    "No MCP server has prompts.\n",
  ],
  [
    ["prompt", "review", "files"],
    {
      ...configured(),
      get_prompt: {
        messages: [
          { role: "user", content: text("hi") },
          {
            role: "user",
            content: { type: "image", data: "", mimeType: "a/b" },
          },
        ],
      },
    },
    'user: hi\nuser: {"type":"image","data":"","mimeType":"a/b"}\n',
  ],
  [["skills"], { get_skills: { skills: [] } }, "The Computer has no skills.\n"],
];

Deno.test("smcp-agent prints what a Computer answers", async (t) => {
  await using agent = await start();
  for (const [args, by, stdout] of PRINTED) {
    await t.step(`${args.join(" ")}: ${stdout}`, async () => {
      const end = await agent.run(args, by);
      assertEquals(end, { code: 0, stdout, stderr: end.stderr });
    });
  }
});

const FAILED: readonly [
  args: string[],
  by: Answers,
  code: number,
  stderr: string,
][] = [
  ...[
    [4001, 'the command "tools" lists what there is'],
    [4002, "the Computer's configuration forbids it"],
    [4004, "give it more time with --timeout"],
    [
      4005,
      "a person at the Computer has to allow it, or its rules, which smcp-computer rules lists there",
    ],
    [4006, "a person at the Computer has to sign in\n"],
    [4007, "a person at the Computer has to sign in again\n"],
  ].map(([error_code, remedy]): typeof FAILED[number] => [
    ["call", "echo", "--computer", "pc"],
    failing({ error_code }),
    1,
    `error: the tool "echo" failed; ${remedy}`,
  ]),
  ...([
    ["confirmation", "not confirmed in time: a person"],
    ["answer", "not answered in time: a person"],
  ] as const).map(([waiting, remedy]): typeof FAILED[number] => [
    ["call", "echo"],
    calls(timeoutResult(1, { waiting, computer: "pc" })),
    1,
    `error: the tool "echo" failed; ${remedy}`,
  ]),
  [
    ["call", "echo"],
    failing({ error_code: 4099 }),
    1,
    'error: the tool "echo" failed\n',
  ],
  [
    ["call", "ecoh", "--computer", "pc"],
    failing({ error_code: 4001 }),
    1,
    'lists what there is; did you mean "echo"?\n',
  ],
  [
    ["call", "ecoh"],
    TOOLS,
    1,
    'no Computer in the office offers the tool "ecoh"; the command "tools" lists what there is; did you mean "echo"?\n',
  ],
  [
    ["call", "read"],
    {
      get_tools: {
        tools: [
          tool("a__read", { bundle_id: "a" }),
          tool("b__read", { bundle_id: "b" }),
        ],
      },
    },
    2,
    'several MCP servers offer the tool "read"',
  ],
  [
    ["call", "echo", "--arg", "count=many", "--arg", "count=1"],
    TOOLS,
    2,
    'argument "count" is "many", expected a whole number\n',
  ],
  [["call", "echo", "--params", "{"], TOOLS, 2, "--params is not JSON"],
  [["call", "echo", "--params", "[]"], TOOLS, 2, "--params is no JSON object"],
  [
    ["call", "echo", "--params", "@/no/such"],
    TOOLS,
    2,
    "Cannot read --params @/no/such: there is no such file",
  ],
  [
    ["resources"],
    { ...configured("a"), get_resources: refusing(403, "not for you") },
    1,
    "not for you",
  ],
  [
    ["resources", "files"],
    configured("files", "other", "files"),
    2,
    '"files" is the name of 2 MCP servers of pc; say which by its bundle_id: files (id0), files (id2)',
  ],
  [["read", "x://1"], {}, 2, "x://1 is not the URI of a document"],
  [
    ["read", "x://1", "files"],
    {
      ...configured(),
      read_resource: {
        contents: [{ uri: "x://1", blob: "AA==", mimeType: "image/png" }],
      },
    },
    2,
    "x://1 is binary (image/png): write it to a file with --output FILE",
  ],
  [
    ["skill", "forms"],
    { get_skill: refusing(ErrorCode.MCP_SERVER_NOT_FOUND, "unknown") },
    1,
    'There is no skill "forms"; "skills" lists them',
  ],
  [["put", "/no/such"], {}, 2, "Cannot read /no/such: there is no such file"],
  [["put", "/"], {}, 2, "/ is not a file"],
];

Deno.test("smcp-agent explains what fails, and what to do about it", async (t) => {
  await using agent = await start();
  for (const [args, by, code, stderr] of FAILED) {
    await t.step(`${args.join(" ")}: ${stderr}`, async () => {
      const end = await agent.run(args, by);
      assertEquals(end.code, code, end.stderr);
      assertStringIncludes(end.stderr, stderr);
    });
  }
  await t.step("put an empty file", async () => {
    await using folder = await scratch();
    const file = join(folder.path, "empty");
    await Deno.writeTextFile(file, "");
    const { code, stderr } = await agent.run(["put", file], {});
    assertEquals(code, 2);
    assertStringIncludes(stderr, "is empty; there is nothing to put");
  });
});

Deno.test("smcp-agent names the remedy where an office has no Computer, or several", async () => {
  await using agent = await start();
  await agent.office.addScriptedComputer("other", () => ({}));
  const several = await agent.run(["config"], {});
  assertEquals(several.code, 2);
  assertStringIncludes(
    several.stderr,
    "several Computers are in the office (pc, other); choose one with --computer",
  );
  const empty = ["--url", agent.office.url, "--office", "empty"];
  for (const args of [["config"], ["tools"], ["call", "echo"]]) {
    const { code, stderr } = await runHere("agent", [...args, ...empty]);
    assertEquals(code, 1);
    assertStringIncludes(stderr, 'no Computer is in the office "empty"');
    assertStringIncludes(stderr, `--office empty --url ${agent.office.url}`);
  }
});

Deno.test("smcp-agent writes to a file what it would print: the text of a document, the bytes of a resource", async () => {
  await using agent = await start();
  await using folder = await scratch();
  const file = join(folder.path, "out");
  const source = join(folder.path, "document.json");
  await Deno.writeTextFile(
    source,
    JSON.stringify({ doc_ref: "r", uri: "dpe://h/r", title: "R", pages: [] }),
  );
  const parts = [{ text: "ü " }, { blob: "AAH/" }, { text: "" }, {}];
  const contents = parts.map((part) => ({ uri: "x://1", ...part }));
  const rows: [args: string[], by: Answers, bytes: number[]][] = [
    [
      ["read", "x://1", "files"],
      { ...NO_CONFIG, read_resource: { contents } },
      [0xc3, 0xbc, 0x20, 0, 1, 255],
    ],
    [
      ["read", "dpe://h/r"],
      { get_dpe: { uri: `file://${source}` } },
      [...new TextEncoder().encode("# R\n")],
    ],
  ];
  for (const [args, by, bytes] of rows) {
    const end = await agent.run([...args, "--output", file], by);
    assertEquals(end, { code: 0, stdout: "", stderr: "" });
    assertEquals([...await Deno.readFile(file)], bytes);
  }
});
