import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { parseComputerConfigText } from "../../../../computer/config/load_config.ts";
import { nearestWord } from "../../../../shared/checks.ts";
import { readConfig } from "../../../../computer/config/parse_config.ts";
import { ConfigError } from "../../../../computer/mod.ts";

const stdio = { type: "stdio", server_parameters: { command: "x" } };
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
