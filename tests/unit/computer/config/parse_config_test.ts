import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { sameServerConfig } from "../../../../computer/config/config.ts";
import { parseComputerConfigText } from "../../../../computer/config/load_config.ts";
import {
  parseComputerConfig,
  parseOptions,
  readConfig,
} from "../../../../computer/config/parse_config.ts";
import { redactConfig } from "../../../../computer/config/redact.ts";
import { ConfigError, loadComputerConfig } from "../../../../computer/mod.ts";
import { placeholderIds } from "../../../../computer/util/inputs.ts";
import { nearestWord } from "../../../../shared/checks.ts";

const stdio = { type: "stdio", server_parameters: { command: "x" } };

Deno.test("parseComputerConfig() accepts servers as a map by name, or as a list", () => {
  const names = (servers: unknown) =>
    parseComputerConfig({ servers }).servers.map(({ name }) => name);
  assertEquals(names({ a: stdio, b: { ...stdio, name: "b" } }), ["a", "b"]);
  assertEquals(names([{ ...stdio, name: "a" }]), ["a"]);
  assertEquals(names([]), []);
});

Deno.test("parseComputerConfig() lists every problem with its path and a remedy", () => {
  const error = assertThrows(() =>
    parseComputerConfig({
      inputs: [
        { type: "promptString", id: "a", description: "" },
        { type: "promptString", id: "a", description: "" },
        { type: "guess", id: "b", description: "" },
      ],
      servers: {
        key: { ...stdio, name: "other" },
        kind: { type: "telnet", server_parameters: {} },
        url: { type: "http", server_parameters: { url: "ftp://x" } },
        alias: { ...stdio, default_tool_meta: { alias: "x" } },
        command: { type: "stdio", server_parameters: {} },
      },
    }, "my.json"), ConfigError);
  const paths = error.problems.map(({ path }) => path.join("."));
  assertEquals(paths, [
    "inputs.2.type",
    "servers.key.name",
    "servers.kind.type",
    "servers.url.server_parameters.url",
    "servers.alias.default_tool_meta.alias",
    "servers.command.server_parameters.command",
  ]);
  for (
    const part of ['key "key"', '"stdio", "streamable"', "http:", "my.json"]
  ) {
    assertStringIncludes(error.message, part);
  }
});

Deno.test("parseComputerConfig() refuses duplicate names, and anything without servers", () => {
  const wrong: [unknown, string][] = [
    [{ servers: [{ ...stdio, name: "a" }, { ...stdio, name: "a" }] }, '"a"'],
    [{
      inputs: [{ type: "promptString", id: "i", description: "" }, {
        type: "promptString",
        id: "i",
        description: "",
      }],
      servers: {},
    }, '"i"'],
    [{}, "servers"],
    [{ servers: "x" }, "servers"],
    [null, "servers"],
    [5, "servers"],
  ];
  for (const [data, part] of wrong) {
    const error = assertThrows(() => parseComputerConfig(data), ConfigError);
    assertStringIncludes(error.message, part);
  }
});

Deno.test("parseComputerConfigText() accepts comments, trailing commas and a byte order mark", async () => {
  const text = `\ufeff{
    // the servers
    "servers": { "a": ${JSON.stringify(stdio)}, /* none more */ },
  }`;
  assertEquals((await parseComputerConfigText(text, "f")).servers.length, 1);
});

Deno.test("parseComputerConfigText() reports line and column of a problem", async () => {
  const rows: [string, string][] = [
    [
      '{\n  "servers": {\n    "a": {"type": "stdi"}\n  }\n}',
      "f.json:3:19: servers.a.type",
    ],
    [
      '{\n  "servers": {"a": {"type": "stdio"}}\n}',
      "f.json:2:20: servers.a.server_parameters",
    ],
    ['{\n  "servers" {}\n}', "f.json:2:13: Cannot read it as JSON"],
    ["", "f.json:1:1: Cannot read it as JSON"],
  ];
  for (const [text, start] of rows) {
    const error = await assertRejects(
      () => parseComputerConfigText(text, "f.json"),
      ConfigError,
    );
    assertEquals(error.message.slice(0, start.length), start);
  }
});

Deno.test("loadComputerConfig() names a missing file", async () => {
  const error = await assertRejects(
    () => loadComputerConfig("no/such.json"),
    ConfigError,
  );
  assertEquals(
    error.message,
    "no/such.json: Cannot read the configuration: there is no such file",
  );
});

Deno.test("placeholderIds() finds every placeholder, in any string at any depth", () => {
  assertEquals(
    placeholderIds({
      a: "${input:one}",
      b: ["x${input:two}y${input:one}", { c: "${input:three words}" }],
      d: 5,
      e: null,
      f: "${env:HOME} $input:no} ${input}",
    }),
    ["one", "two", "three words"],
  );
});

const server = { connect: () => Promise.resolve() };
const [local] = parseOptions({
  servers: { a: { type: "in-process", server } },
}).servers;

Deno.test("a file cannot have an MCP server in process, whatever its fields", async () => {
  for (const more of ["", ', "server": {}', ', "server": "./server.ts"']) {
    const text = `{"servers": {"a": {"type": "in-process"${more}}}}`;
    const { problems } = await assertRejects(
      () => parseComputerConfigText(text, "my.json"),
      ConfigError,
      'my.json:1:28: servers.a.type: "in-process" is only for programs',
    );
    assertEquals(problems.length, 1);
  }
});

Deno.test("parseOptions() accepts an MCP server in process, with the common fields", () => {
  assertEquals(local, {
    name: "a",
    type: "in-process",
    server,
    disabled: false,
    forbidden_tools: [],
    tool_meta: {},
  });
  const { problems } = assertThrows(
    () =>
      parseOptions({
        servers: {
          none: { type: "in-process" },
          other: { type: "in-process", server: { close() {} } },
          both: { type: "in-process", server, server_parameters: {} },
          slip: { type: "in-process", server, toolmeta: {} },
          kind: { type: "in-process", server, disabled: 1 },
          alias: {
            ...{ type: "in-process", server },
            default_tool_meta: { alias: "x" },
          },
        },
      }),
    ConfigError,
  );
  assertEquals(problems.map(({ path }) => path.join(".")), [
    "servers.none.type",
    "servers.other.server",
    "servers.both.server_parameters",
    "servers.slip.toolmeta",
    "servers.kind.disabled",
    "servers.alias.default_tool_meta.alias",
  ]);
});

Deno.test("redactConfig() leaves MCP servers in process out, and shows the rest", () => {
  const { servers } = parseOptions({
    servers: {
      a: { type: "in-process", server },
      b: { type: "stdio", server_parameters: { command: "x" } },
    },
  });
  assertEquals(Object.keys(redactConfig(servers, []).servers), ["b"]);
});

Deno.test("sameServerConfig() compares MCP servers in process by identity", () => {
  assertEquals(local?.type, "in-process");
  if (local?.type !== "in-process") return;
  const [circular, other] = [{ ...server, self: {} }, { ...server, self: {} }];
  for (const each of [circular, other]) each.self = each;
  assertEquals(sameServerConfig(local, { ...local }), true);
  assertEquals(sameServerConfig(local, { ...local, disabled: true }), false);
  assertEquals(
    sameServerConfig({ ...local, server: circular }, {
      ...local,
      server: other,
    }),
    false,
  );
  assertEquals(sameServerConfig(undefined, local), false);
});

const prompt = { type: "promptString", id: "i", description: "" };

/** The problems of a document, as `path: text`. */
const problemsOf = (file: unknown): string[] =>
  readConfig(file).problems.map(({ path, text }) =>
    `${path.join(".")}: ${text}`
  );

Deno.test("readConfig() refuses unknown fields of our own format, and suggests the right ones", () => {
  const rows: [file: unknown, path: string, meant: string][] = [
    [{ servers: {}, inptus: [] }, "inptus", "inputs"],
    [
      { servers: { a: { ...stdio, forbiden_tools: ["rm"] } } },
      "servers.a.forbiden_tools",
      "forbidden_tools",
    ],
    [
      { servers: { a: { ...stdio, forbiddenTools: ["rm"] } } },
      "servers.a.forbiddenTools",
      "forbidden_tools",
    ],
    [
      { servers: { a: { ...stdio, disbaled: true } } },
      "servers.a.disbaled",
      "disabled",
    ],
    [
      { servers: { a: { ...stdio, tool_meta: { rm: { auto_aply: false } } } } },
      "servers.a.tool_meta.rm.auto_aply",
      "auto_apply",
    ],
    [
      { servers: { a: { ...stdio, default_tool_meta: { autoApply: false } } } },
      "servers.a.default_tool_meta.autoApply",
      "auto_apply",
    ],
    [
      {
        servers: {
          a: { ...stdio, server_parameters: { command: "x", agrs: [] } },
        },
      },
      "servers.a.server_parameters.agrs",
      "args",
    ],
    [
      { servers: {}, inputs: [{ ...prompt, pasword: true }] },
      "inputs.0.pasword",
      "password",
    ],
  ];
  for (const [file, path, meant] of rows) {
    assertEquals(problemsOf(file), [
      `${path}: unknown field; did you mean "${meant}"?`,
    ]);
  }
  const [other = ""] = problemsOf({ servers: { a: { ...stdio, colour: 1 } } });
  assertStringIncludes(other, "servers.a.colour: unknown field; ");
  assertStringIncludes(other, "forbidden_tools");
});

Deno.test("readConfig() ignores fields of other programs, and refuses misspelled restrictions", () => {
  const fine: unknown[] = [
    { mcpServers: { a: { command: "x", cooldown: 3 } }, globalShortcut: "y" },
    { servers: { a: { command: "x", dev: {}, gallery: true } }, sandbox: {} },
    [{ ...stdio, name: "a", later: 1 }],
    { servers: [{ ...stdio, name: "a", later: 1 }], later: 2 },
    { servers: { a: { ...stdio, tool_meta: { rm: { later: 1 } } } } },
  ];
  for (const file of fine) assertEquals(problemsOf(file), []);
  const slips: [file: unknown, path: string][] = [
    [
      { mcpServers: { a: { command: "x", forbiden_tools: ["rm"] } } },
      "mcpServers.a.forbiden_tools",
    ],
    [
      { mcpServers: { a: { command: "x", disabledtools: ["rm"] } } },
      "mcpServers.a.disabledtools",
    ],
    [
      {
        mcpServers: {
          a: { command: "x", tool_meta: { rm: { auto_aply: false } } },
        },
      },
      "mcpServers.a.tool_meta.rm.auto_aply",
    ],
    [
      { servers: { a: { command: "x", excludeTool: ["rm"] } } },
      "servers.a.excludeTool",
    ],
    [[{ ...stdio, name: "a", forbiden_tools: [] }], "0.forbiden_tools"],
  ];
  for (const [file, path] of slips) {
    const [problem = "", ...more] = problemsOf(file);
    assert(problem.startsWith(`${path}: unknown field`), problem);
    assertEquals(more, []);
  }
});

Deno.test("a duplicate key in the JSON is an error with its line and column", async () => {
  const text = `{
  "servers": {
    "a": {
      "type": "stdio",
      "server_parameters": { "command": "x" },
      "forbidden_tools": ["rm"],
      "forbidden_tools": []
    }
  }
}`;
  const error = await assertRejects(
    () => parseComputerConfigText(text, "my.json"),
    ConfigError,
  );
  assertEquals(
    error.message,
    "my.json:7:7: servers.a.forbidden_tools: duplicate key, first at 6:7; remove one of them",
  );
  const foreign =
    '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}';
  await assertRejects(
    () => parseComputerConfigText(foreign, "claude.json"),
    ConfigError,
    "claude.json:1:40: mcpServers.a: duplicate key",
  );
});

Deno.test("errors of a configuration describe the file, not the parser or validator", async () => {
  const rows: [text: string, said: string][] = [
    ["", "f.json:1:1: Cannot read it as JSON: the file is empty"],
    [
      '{"servers": {}\n "inputs": []}',
      'f.json:2:2: Cannot read it as JSON: expected "," here, before the next item',
    ],
    [
      '{"servers": {}',
      'f.json:1:15: Cannot read it as JSON: expected "}" here',
    ],
    [
      "{'servers': {}}",
      "f.json:1:2: Cannot read it as JSON: ",
    ],
    [
      '{"servers": {"a": {"type": "stdio", "server_parameters": {"command": 3}}}}',
      "f.json:1:70: servers.a.server_parameters.command: expected a text, not a number",
    ],
    [
      '{"servers": {"a": {"type": "stdio", "server_parameters": {}}}}',
      "f.json:1:58: servers.a.server_parameters.command: it is missing; expected a text",
    ],
    [
      '{"servers": {"a": {"type": "stdio", "disabled": "yes", "server_parameters": {"command": "x", "encoding_error_handler": "x"}}}}',
      'expected "strict", "ignore" or "replace"',
    ],
  ];
  for (const [text, said] of rows) {
    const error = await assertRejects(
      () => parseComputerConfigText(text, "f.json"),
      ConfigError,
    );
    assertStringIncludes(error.message, said);
    assert(
      !/Expected[A-Z]|[a-z]Expected|Invalid|zod|received/.test(error.message),
      error.message,
    );
  }
});

Deno.test("nearestWord() finds misspelled words, and no different ones", () => {
  const known = ["forbidden_tools", "disabled", "args", "env", "vrl"];
  const rows: [word: string, meant: string | undefined][] = [
    ["forbiden_tools", "forbidden_tools"],
    ["forbidden-tools", "forbidden_tools"],
    ["FORBIDDENTOOLS", "forbidden_tools"],
    ["forbidden_tool", "forbidden_tools"],
    ["disalbed", "disabled"],
    ["agrs", "args"],
    ["evn", "env"],
    ["vr", "vrl"],
    ["headers", undefined],
    ["x", undefined],
    ["", undefined],
    ["a".repeat(100_000), undefined],
  ];
  for (const [word, meant] of rows) {
    assertEquals(nearestWord(word, known), meant);
  }
});
