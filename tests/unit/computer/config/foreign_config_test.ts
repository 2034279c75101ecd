import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { parseComputerConfigText } from "../../../../computer/config/load_config.ts";
import { readConfig } from "../../../../computer/config/parse_config.ts";
import { ConfigError } from "../../../../computer/mod.ts";
import type { MCPServerInput } from "../../../../protocol/mod.ts";

const CONTEXT = {
  workspaceFolder: "/home/ann/project",
  userHome: "/home/ann",
  pathSeparator: "/",
};

/** The configuration read from a file, without defaults. */
interface Read {
  inputs: readonly MCPServerInput[];
  servers: Record<string, unknown>[];
  problems: string[];
}

function read(data: unknown): Read {
  const { config, problems } = readConfig(data, CONTEXT);
  return {
    inputs: config.inputs,
    servers: config.servers.map((
      { name, type, server_parameters, ...rest },
    ) => ({
      name,
      type,
      ...stripped(server_parameters, PARAMETER_DEFAULTS),
      ...stripped(rest, BASE_DEFAULTS),
    })),
    problems: problems.map(({ path, text }) => `${path.join(".")}: ${text}`),
  };
}

const BASE_DEFAULTS = { disabled: false, forbidden_tools: [], tool_meta: {} };
const PARAMETER_DEFAULTS = {
  args: [],
  env: null,
  cwd: null,
  headers: null,
  encoding: "utf-8",
  encoding_error_handler: "strict",
  terminate_on_close: true,
};

const stripped = (
  record: object,
  defaults: Record<string, unknown>,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(record).filter(([key, value]) =>
      key !== "timeout" && key !== "sse_read_timeout" &&
      JSON.stringify(value) !== JSON.stringify(defaults[key])
    ),
  );

/** Reads one entry of `mcpServers`. */
const one = (entry: unknown) => {
  const { servers, problems } = read({ mcpServers: { x: entry } });
  assertEquals(problems, [], JSON.stringify(entry));
  const [server] = servers;
  return server;
};

Deno.test("readConfig() reads the configuration of Claude Desktop", () => {
  assertEquals(
    read({
      globalShortcut: "Ctrl+Space",
      mcpServers: {
        filesystem: {
          command: "npx",
          args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/ann"],
        },
        github: {
          command: "docker",
          args: ["run", "-i", "ghcr.io/github/github-mcp-server"],
          env: { GITHUB_TOKEN: "literal" },
        },
      },
    }),
    {
      inputs: [],
      servers: [
        {
          name: "filesystem",
          type: "stdio",
          command: "npx",
          args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/ann"],
        },
        {
          name: "github",
          type: "stdio",
          command: "docker",
          args: ["run", "-i", "ghcr.io/github/github-mcp-server"],
          env: { GITHUB_TOKEN: "literal" },
        },
      ],
      problems: [],
    },
  );
});

Deno.test("readConfig() reads the servers of Cursor, Windsurf, Cline and Claude Code", () => {
  const url = "https://example.com/mcp";
  const rows: [entry: unknown, expected: Record<string, unknown>][] = [
    [{ url }, { type: "streamable", url }],
    [{ url: "https://example.com/sse" }, {
      type: "sse",
      url: "https://example.com/sse",
    }],
    [{ url: "https://example.com/sse?k=1" }, {
      type: "sse",
      url: "https://example.com/sse?k=1",
    }],
    [{ serverUrl: url, headers: { a: "b" } }, {
      type: "streamable",
      url,
      headers: { a: "b" },
    }],
    [{ type: "http", url }, { type: "streamable", url }],
    [{ type: "streamable-http", url }, { type: "streamable", url }],
    [{ type: "streamableHttp", url }, { type: "streamable", url }],
    [{ type: "sse", url }, { type: "sse", url }],
    [{ type: "stdio", command: "x", name: "shown", timeout: 60 }, {
      type: "stdio",
      command: "x",
    }],
    [{ command: "x", disabled: true }, {
      type: "stdio",
      command: "x",
      disabled: true,
    }],
    [{ command: "x", disabledTools: ["rm"], excludeTools: ["mv"] }, {
      type: "stdio",
      command: "x",
      forbidden_tools: ["rm", "mv"],
    }],
    [{ command: "x", autoApprove: ["a"], alwaysAllow: ["b"] }, {
      type: "stdio",
      command: "x",
      tool_meta: { a: { auto_apply: true }, b: { auto_apply: true } },
    }],
    [{ command: "x", alwaysAllow: ["a"], tool_meta: { a: { alias: "b" } } }, {
      type: "stdio",
      command: "x",
      tool_meta: { a: { auto_apply: true, alias: "b" } },
    }],
    [{ command: "x", autoApprove: true, default_tool_meta: { tags: ["t"] } }, {
      type: "stdio",
      command: "x",
      default_tool_meta: { tags: ["t"], auto_apply: true },
    }],
    [{ command: "x", autoApprove: [], vrl: ".a = 1" }, {
      type: "stdio",
      command: "x",
      vrl: ".a = 1",
    }],
  ];
  for (const [entry, expected] of rows) {
    assertEquals<unknown>(one(entry), { name: "x", ...expected });
  }
});

Deno.test("readConfig() turns environment variables into placeholders, so that no value enters the configuration", () => {
  const { servers, inputs, problems } = read({
    mcpServers: {
      x: {
        command: "${userHome}/bin/x",
        args: ["--key=${env:KEY}", "${TOKEN}", "${HOST:-localhost}", "${file}"],
        env: { KEY: "${env:KEY}", DIR: "${workspaceFolder}${/}data" },
        cwd: "${workspaceFolderBasename}",
      },
      y: {
        url: "https://${HOST}/mcp",
        headers: { a: "Bearer ${input:token}" },
      },
    },
    inputs: [{ type: "promptString", id: "token", description: "" }],
  });
  assertEquals(problems, []);
  assertEquals<unknown>(servers, [
    {
      name: "x",
      type: "stdio",
      command: "/home/ann/bin/x",
      args: [
        "--key=${input:env:KEY}",
        "${input:env:TOKEN}",
        "${input:env:HOST}",
        "${file}",
      ],
      env: { KEY: "${input:env:KEY}", DIR: "/home/ann/project/data" },
      cwd: "project",
    },
    {
      name: "y",
      type: "streamable",
      url: "https://${input:env:HOST}/mcp",
      headers: { a: "Bearer ${input:token}" },
    },
  ]);
  assertEquals(
    inputs.map((input) => [input.id, "default" in input && input.default]),
    [
      ["token", false],
      ["env:KEY", false],
      ["env:TOKEN", false],
      ["env:HOST", "localhost"],
    ],
  );
  assert(
    inputs.slice(1).every((input) =>
      input.type === "promptString" && input.password
    ),
  );
});

Deno.test("readConfig() reads VS Code's mcp.json with inputs and variables", () => {
  assertEquals<unknown>(
    read({
      inputs: [
        { type: "promptString", id: "key", description: "K", password: true },
        {
          type: "pickString",
          id: "region",
          description: "R",
          options: ["eu", { label: "Elsewhere", value: "us" }],
        },
        { type: "command", id: "branch", command: "git.branch" },
      ],
      servers: {
        files: {
          type: "stdio",
          command: "npx",
          args: ["${workspaceFolder}"],
          env: { KEY: "${input:key}", PORT: 80, OFF: null, T: "${env:T}" },
        },
        web: { type: "http", url: "https://example.com/${input:region}" },
      },
    }),
    {
      inputs: [
        { type: "promptString", id: "key", description: "K", password: true },
        {
          type: "pickString",
          id: "region",
          description: "R",
          options: ["eu", "us"],
        },
        {
          type: "promptString",
          id: "branch",
          description: "The result of VS Code's command git.branch",
          password: true,
        },
        {
          type: "promptString",
          id: "env:T",
          description: "The environment variable T",
          password: true,
        },
      ],
      servers: [
        {
          name: "files",
          type: "stdio",
          command: "npx",
          args: ["/home/ann/project"],
          env: { KEY: "${input:key}", PORT: "80", T: "${input:env:T}" },
        },
        {
          name: "web",
          type: "streamable",
          url: "https://example.com/${input:region}",
        },
      ],
      problems: [],
    },
  );
});

Deno.test("readConfig() reads the Python SDK's list of servers, and our own format within mcpServers", () => {
  const own = { type: "stdio", server_parameters: { command: "x" } };
  const server = (name: string) => ({ name, type: "stdio", command: "x" });
  assertEquals<unknown>(
    read([{ name: "a", ...own }, { name: "b", ...own }]).servers,
    [server("a"), server("b")],
  );
  assertEquals(read([]).problems, []);
  assertEquals<unknown>(read({ mcpServers: { c: own } }).servers, [
    server("c"),
  ]);
});

Deno.test("readConfig() does not expand variables in our own format", () => {
  const args = ["${env:HOME}", "${workspaceFolder}", "${HOME}"];
  const own = { type: "stdio", server_parameters: { command: "sh", args } };
  const { servers, inputs } = read({ servers: { own } });
  assertEquals(servers[0]?.args, args);
  assertEquals(inputs, []);
});

Deno.test("readConfig() reports each problem with its path in the file", () => {
  const rows: [data: unknown, problem: string][] = [
    [{ mcpServers: { x: {} } }, "mcpServers.x.command: it is missing"],
    [{ mcpServers: { x: 5 } }, "mcpServers.x.command: it is missing"],
    [{ mcpServers: [] }, "mcpServers: expected {NAME"],
    [{ mcpServers: {}, servers: {} }, 'mcpServers: there is "servers" too'],
    [
      { mcpServers: { x: { serverUrl: "ftp://x" } } },
      "mcpServers.x.serverUrl: ",
    ],
    [{ mcpServers: { x: { command: "x", args: "y" } } }, "mcpServers.x.args: "],
    [
      { mcpServers: { x: { command: "x", args: [1] } } },
      "mcpServers.x.args.0: ",
    ],
    [
      { mcpServers: { x: { command: "x", env: { A: [] } } } },
      "mcpServers.x.env.A: ",
    ],
    [
      { mcpServers: { x: { type: "telnet", command: "x" } } },
      'mcpServers.x.type: expected "stdio", "http"',
    ],
    [
      { mcpServers: { x: { command: "x", alwaysAllow: "y" } } },
      "mcpServers.x.alwaysAllow: expected a list",
    ],
    [
      { mcpServers: { x: { command: "x", envFile: ".env" } } },
      "mcpServers.x.envFile: envFile is not supported",
    ],
    [
      { servers: { x: { command: "${config:x}" } } },
      "servers.x.command: ${config:x} is not supported here",
    ],
    [{ servers: { x: { command: "x" }, y: 5 } }, "servers.y: "],
    [
      [{ type: "stdio", server_parameters: { command: "x" } }],
      "0.name: it is missing",
    ],
    [[5], "0: "],
  ];
  for (const [data, problem] of rows) {
    const { problems } = read(data);
    assertEquals(problems.length, 1, JSON.stringify([data, problems]));
    assertStringIncludes(problems[0] ?? "", problem);
  }
});

Deno.test("parseComputerConfigText() finds the workspace of a file in .vscode or .cursor", async () => {
  const text = '{"servers": {"x": {"command": "${workspaceFolder}/x"}}}';
  for (const folder of [".vscode", ".cursor", "."]) {
    const { servers: [server] } = await parseComputerConfigText(
      text,
      `/home/ann/project/${folder}/mcp.json`,
    );
    assertEquals(
      server?.type === "stdio" && server.server_parameters.command,
      "/home/ann/project/x",
    );
  }
});

Deno.test("parseComputerConfigText() refuses a VRL program that does not compile, with the compiler's message", async () => {
  const text = `{
  "servers": {
    "good": {"type": "stdio", "server_parameters": {"command": "x"}, "vrl": ".a = 1"},
    "bad": {"type": "stdio", "server_parameters": {"command": "x"}, "vrl": ".a = "}
  }
}`;
  const error = await assertRejects(
    () => parseComputerConfigText(text, "f.json"),
    ConfigError,
    "syntax error",
  );
  assertEquals(error.problems.length, 1);
  assertStringIncludes(error.message, "f.json:4:76: servers.bad.vrl: ");
  assertStringIncludes(error.message, "unexpected end of program");
});

Deno.test("a foreign configuration keeps inherit_env, and a misspelled one is an error", () => {
  const of = (field: string) =>
    read({ mcpServers: { files: { command: "files", [field]: false } } });
  assertEquals(of("inherit_env").servers, [
    { name: "files", type: "stdio", command: "files", inherit_env: false },
  ]);
  const { problems: [problem = ""] } = of("inherit_enf");
  assertStringIncludes(problem, "inherit_env");
});
