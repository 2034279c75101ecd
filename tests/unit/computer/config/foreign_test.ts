import { assert, assertEquals } from "@std/assert";
import {
  isPrivateHost,
  officeEntry,
} from "../../../../computer/config/office_entries.ts";
import {
  askSecrets,
  distinctIds,
  hiddenValues,
  knownFiles,
  mergeConfigs,
  prefixSamePrograms,
  programOf,
  toOwnFormat,
} from "../../../../computer/config/import_configs.ts";
import {
  parseComputerConfig,
  readConfig,
} from "../../../../computer/config/parse_config.ts";
import { parseMCPServerConfig } from "../../../../protocol/mod.ts";

const CONTEXT = {
  workspaceFolder: "/home/ann/project",
  userHome: "/home/ann",
  pathSeparator: "/",
};

/** Reads a file of another program, and writes it in our own format, without default values. */
function converted(data: unknown) {
  const { config, problems } = readConfig(data, CONTEXT);
  assertEquals(problems, [], JSON.stringify(data));
  return toOwnFormat(config);
}

const stdio = (parameters: object = {}, more: object = {}) => ({
  type: "stdio",
  server_parameters: { command: "x", ...parameters },
  ...more,
});
const web = (type: string, url: string, more: object = {}) => ({
  type,
  server_parameters: { url, ...more },
});
const prompt = (id: string, more: object = {}) => ({
  type: "promptString",
  id,
  description: "",
  ...more,
});
const variable = (name: string, more: object = {}) =>
  prompt(`env:${name}`, {
    description: `The environment variable ${name}`,
    password: true,
    ...more,
  });

Deno.test("readConfig() reads the servers of Claude Desktop, Cursor, Windsurf, Cline and Claude Code", () => {
  const url = "https://example.com/mcp";
  const sse = "https://example.com/sse";
  const x = { command: "x" };
  const npx = {
    command: "npx",
    args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/ann"],
    env: { GITHUB_TOKEN: "literal" },
  };
  const allowed = (tool: string) => ({ [tool]: { auto_apply: true } });
  const rows: [entry: object, own: object][] = [
    [npx, stdio(npx)],
    [{ url }, web("streamable", url)],
    [{ url: sse }, web("sse", sse)],
    [{ url: `${sse}?k=1` }, web("sse", `${sse}?k=1`)],
    [
      { serverUrl: url, headers: { a: "b" } },
      web("streamable", url, { headers: { a: "b" } }),
    ],
    [{ type: "http", url }, web("streamable", url)],
    [{ type: "streamable-http", url }, web("streamable", url)],
    [{ type: "streamableHttp", url }, web("streamable", url)],
    [{ type: "sse", url }, web("sse", url)],
    [{ type: "Streamable_HTTP", url: sse }, web("streamable", sse)],
    ...["transport", "transportType"].flatMap((field): typeof rows => [
      [{ [field]: "sse", url }, web("sse", url)],
      [{ [field]: "SSE", url }, web("sse", url)],
      [{ [field]: "http", url: sse }, web("streamable", sse)],
      [{ [field]: "streamable-http", url: sse }, web("streamable", sse)],
      [{ [field]: "streamableHttp", url: sse }, web("streamable", sse)],
      [{ [field]: "stdio", ...x }, stdio()],
      [{ [field]: "sse", type: "http", url }, web("streamable", url)],
      [{ [field]: null, url }, web("streamable", url)],
    ]),
    [{ type: "stdio", ...x, name: "shown", timeout: 60 }, stdio()],
    [{ ...x, disabled: true }, stdio({}, { disabled: true })],
    [{ ...x, inherit_env: false }, stdio({ inherit_env: false })],
    [{ ...x, vrl: ".a = 1", autoApprove: [] }, stdio({}, { vrl: ".a = 1" })],
    [
      { ...x, disabledTools: ["rm"], excludeTools: ["mv"] },
      stdio({}, { forbidden_tools: ["rm", "mv"] }),
    ],
    [
      { ...x, autoApprove: ["a"], alwaysAllow: ["b"] },
      stdio({}, { tool_meta: { ...allowed("a"), ...allowed("b") } }),
    ],
    [
      { ...x, alwaysAllow: ["a"], tool_meta: { a: { alias: "b" } } },
      stdio({}, { tool_meta: { a: { auto_apply: true, alias: "b" } } }),
    ],
    [
      { ...x, autoApprove: true, default_tool_meta: { tags: ["t"] } },
      stdio({}, { default_tool_meta: { tags: ["t"], auto_apply: true } }),
    ],
    [stdio(), stdio()], // our own format within mcpServers
    // Claude Code, whose scopes are one text; Gemini CLI; VS Code; Cursor
    [
      { url, oauth: { clientId: "c", callbackPort: 8080, scopes: "a b" } },
      web("streamable", url, {
        oauth: { client_id: "c", callback_port: 8080, scopes: ["a", "b"] },
      }),
    ],
    [
      { url, oauth: { enabled: true, clientId: "c", clientSecret: "s" } },
      web("streamable", url, { oauth: { client_id: "c", client_secret: "s" } }),
    ],
    [{ url, oauth: { clientId: "" } }, web("streamable", url)],
    [{ url, oauth: false, auth: "none" }, web("streamable", url)],
    [
      { url, auth: { CLIENT_ID: "c", CLIENT_SECRET: "s", scopes: ["a"] } },
      web("streamable", url, {
        oauth: { client_id: "c", client_secret: "s", scopes: ["a"] },
      }),
    ],
  ];
  for (const [entry, own] of rows) {
    assertEquals<unknown>(
      converted({ mcpServers: { x: entry } }),
      { servers: { x: own } },
      JSON.stringify(entry),
    );
  }
  const list = ["a", "b"].map((name) => ({ name, ...stdio() }));
  assertEquals<unknown>(
    converted(list), // of the Python SDK
    { servers: { a: stdio(), b: stdio() } },
  );
});

Deno.test("readConfig() turns environment variables into placeholders, so that no value enters the configuration", () => {
  assertEquals<unknown>(
    converted({
      mcpServers: {
        x: {
          command: "${userHome}/bin/x",
          args: [
            "--key=${env:KEY}",
            "${TOKEN}",
            "${HOST:-localhost}",
            "${file}",
          ],
          env: { KEY: "${env:KEY}", DIR: "${workspaceFolder}${/}data" },
          cwd: "${workspaceFolderBasename}",
        },
        y: {
          url: "https://${HOST}/mcp",
          headers: { a: "Bearer ${input:token}" },
          auth: { CLIENT_ID: "c", CLIENT_SECRET: "${env:KEY}" },
        },
      },
      inputs: [prompt("token")],
    }),
    {
      inputs: [
        prompt("token"),
        variable("KEY"),
        variable("TOKEN"),
        variable("HOST", { default: "localhost" }),
      ],
      servers: {
        x: stdio({
          command: "/home/ann/bin/x",
          args: [
            "--key=${input:env:KEY}",
            "${input:env:TOKEN}",
            "${input:env:HOST}",
            "${file}",
          ],
          env: { KEY: "${input:env:KEY}", DIR: "/home/ann/project/data" },
          cwd: "project",
        }),
        y: web("streamable", "https://${input:env:HOST}/mcp", {
          headers: { a: "Bearer ${input:token}" },
          oauth: { client_id: "c", client_secret: "${input:env:KEY}" },
        }),
      },
    },
  );
  const args = ["${env:HOME}", "${workspaceFolder}", "${HOME}"];
  const own = { servers: { own: stdio({ args }) } };
  assertEquals<unknown>(converted(own), own, "our own format has no variables");
});

Deno.test("readConfig() names the fields of a problem as they are in the file", () => {
  const { problems } = readConfig({
    mcpServers: {
      a: { serverUrl: 5, auth: { CLIENT_ID: 5 }, bundleId: "a b" },
      b: { command: "x", args: [5] },
    },
  }, CONTEXT);
  assertEquals(problems.map(({ path }) => path.join(".")).sort(), [
    "mcpServers.a.auth.CLIENT_ID",
    "mcpServers.a.bundleId",
    "mcpServers.a.serverUrl",
    "mcpServers.b.args.0",
  ]);
});

Deno.test("readConfig() gives each default of an environment variable an input of its own", () => {
  const args = (...args: string[]) => ({ command: "x", args });
  assertEquals<unknown>(
    converted({
      mcpServers: {
        a: args("${PORT:-3000}"),
        b: args("${PORT:-4000}", "${PORT:-3000}", "${PORT}"),
        c: args("${HOST}", "${HOST:-localhost}"),
      },
    }),
    {
      inputs: [
        variable("PORT", { default: "3000" }),
        { ...variable("PORT", { default: "4000" }), id: "env:PORT#2" },
        variable("HOST"),
        { ...variable("HOST", { default: "localhost" }), id: "env:HOST#2" },
      ],
      servers: {
        a: stdio({ args: ["${input:env:PORT}"] }),
        b: stdio({
          args: [
            "${input:env:PORT#2}",
            "${input:env:PORT}",
            "${input:env:PORT}",
          ],
        }),
        c: stdio({ args: ["${input:env:HOST}", "${input:env:HOST#2}"] }),
      },
    },
  );
});

Deno.test("readConfig() reads VS Code's mcp.json with inputs and variables", () => {
  const key = prompt("key", { description: "K", password: true });
  const region = { type: "pickString", id: "region", description: "R" };
  assertEquals<unknown>(
    converted({
      inputs: [
        key,
        { ...region, options: ["eu", { label: "Elsewhere", value: "us" }] },
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
        key,
        { ...region, options: ["eu", "us"] },
        prompt("branch", {
          description: "The result of VS Code's command git.branch",
          password: true,
        }),
        variable("T"),
      ],
      servers: {
        files: stdio({
          command: "npx",
          args: ["/home/ann/project"],
          env: { KEY: "${input:key}", PORT: "80", T: "${input:env:T}" },
        }),
        web: web("streamable", "https://example.com/${input:region}"),
      },
    },
  );
});

Deno.test("toOwnFormat() writes a configuration without default values, which reads back the same", () => {
  const written = {
    inputs: [prompt("t")],
    servers: {
      a: stdio({ args: ["-y"], env: { A: "${input:t}" } }),
      b: {
        ...web("streamable", "https://x.example/mcp"),
        disabled: true,
        tool_meta: { go: { auto_apply: true } },
      },
      c: web("sse", "https://x.example/sse", { oauth: { scopes: ["a"] } }),
    },
  };
  const read = parseComputerConfig(written);
  assertEquals<unknown>(toOwnFormat(read), written);
  assertEquals(parseComputerConfig(toOwnFormat(read)), read);
});

Deno.test("knownFiles() lists where programs keep MCP servers, each file once", () => {
  const machine = {
    platform: "linux",
    home: "/home/me",
    directory: "/project",
    env: {},
  };
  const filesOf = (over: Partial<Parameters<typeof knownFiles>[0]>) =>
    knownFiles({ ...machine, ...over }).map(({ file }) => file);
  const on = (settings: string) => [
    "/project/.vscode/mcp.json",
    "/project/.cursor/mcp.json",
    "/project/.mcp.json",
    "/home/me/.claude.json",
    `${settings}/Claude/claude_desktop_config.json`,
    "/home/me/.codex/config.toml",
    "/home/me/.cursor/mcp.json",
    `${settings}/Code/User/mcp.json`,
    "/home/me/.codeium/windsurf/mcp_config.json",
  ];
  assertEquals(filesOf({}), on("/home/me/.config"));
  assertEquals(
    filesOf({ env: { XDG_CONFIG_HOME: "/etc/mine" } }),
    on("/etc/mine"),
  );
  assertEquals(
    filesOf({ platform: "darwin" }),
    on("/home/me/Library/Application Support"),
  );
  const windows = filesOf({
    platform: "win32",
    home: "C:\\Users\\me",
    directory: "D:\\project",
    env: { APPDATA: "E:\\data" },
  });
  assertEquals(
    filesOf({ env: { CODEX_HOME: "/opt/codex" } })[5],
    "/opt/codex/config.toml",
  );
  assertEquals(windows.slice(4, 7), [
    "E:\\data\\Claude\\claude_desktop_config.json",
    "C:\\Users\\me\\.codex\\config.toml",
    "C:\\Users\\me\\.cursor\\mcp.json",
  ]);
  const files = filesOf({ directory: "/home/me" });
  assertEquals(files.length, new Set(files).size);
});

/** Merges configurations of programs with these suffixes. */
const merged = (
  ...configs: [suffix: string, servers: object, ...inputs: object[]][]
) => {
  const { config, names } = mergeConfigs(
    configs.map(([suffix, servers, ...inputs]) => ({
      suffix,
      config: parseComputerConfig({ servers, inputs }),
    })),
  );
  const { inputs, servers } = toOwnFormat(config);
  return { inputs, servers, names };
};
const server = (...args: string[]) => stdio({ args });

Deno.test("mergeConfigs() keeps equal entries once, and renames different ones", () => {
  const { servers, names } = merged(
    ["claude", { a: server("x"), b: server("y") }],
    ["cursor", { a: server("x"), b: server("z") }],
    ["cursor", { b: server("w") }],
  );
  assertEquals<unknown>(servers, {
    a: server("x"),
    b: server("y"),
    "b-cursor": server("z"),
    "b-cursor-2": server("w"),
  });
  assertEquals(names.map((map) => map.get("b")), [
    "b",
    "b-cursor",
    "b-cursor-2",
  ]);
});

Deno.test("mergeConfigs() keeps each placeholder with its own input, and one input for each default of an environment variable", () => {
  const own = (id: string, value: string) => prompt(id, { default: value });
  const { inputs, servers } = merged(
    [
      "one",
      { a: server("${input:t}-${input:env:T}") },
      own("t", "1"),
      own("env:T", "1"),
    ],
    [
      "two",
      { a: server("${input:t}-${input:env:T}") },
      own("t", "2"),
      own("env:T", "2"),
    ],
  );
  assertEquals<unknown>(inputs, [
    own("t", "1"),
    own("env:T", "1"),
    own("t-two", "2"),
    own("env:T#2", "2"),
  ]);
  assertEquals<unknown>(servers, {
    a: server("${input:t}-${input:env:T}"),
    "a-two": server("${input:t-two}-${input:env:T#2}"),
  });
  const { inputs: shared } = merged(
    ["one", { a: server("${input:env:T}") }, own("env:T", "1")],
    ["two", { b: server("${input:env:T}") }, prompt("env:T")],
    ["three", { c: server("${input:env:T}") }, own("env:T", "1")],
  );
  assertEquals<unknown>(shared, [own("env:T", "1")]);
});

Deno.test("readConfig() reads Claude Code's file: MCP servers of the user and of each project, equal ones once", () => {
  const same = { type: "http", url: "https://x.example/mcp" };
  const files = { type: "stdio", command: "npx", args: ["files"], env: {} };
  assertEquals<unknown>(
    converted({
      numStartups: 3,
      mcpServers: { web: same, files },
      projects: {
        "/home/ann/a": { allowedTools: [], mcpServers: { web: same } },
        "/home/ann/b": { mcpServers: { web: { ...same, url: "https://y" } } },
        "/srv/b": { mcpServers: { web: { ...same, url: "https://z" } } },
        "/home/ann/c": { history: [] },
      },
    }).servers,
    {
      web: web("streamable", "https://x.example/mcp"),
      files: stdio({ command: "npx", args: ["files"], env: {} }),
      "web-b": web("streamable", "https://y"),
      "web-b-2": web("streamable", "https://z"),
    },
  );
  const alone = { projects: { "/a": { mcpServers: { files } } } };
  assertEquals(Object.keys(Object(converted(alone).servers)), ["files"]);
});

Deno.test("readConfig() reads Codex's tables, with what they take of the environment", () => {
  assertEquals<unknown>(
    converted({
      mcp_servers: {
        files: {
          command: "npx",
          args: ["files"],
          cwd: "/srv",
          env: { MODE: "fast" },
          env_vars: ["TOKEN", { name: "KEY", source: "local" }],
          startup_timeout_sec: 20,
          disabled_tools: ["write"],
          tools: { read: { approval_mode: "approve" } },
        },
        off: { command: "x", enabled: false },
        web: {
          url: "https://x.example/mcp",
          bearer_token_env_var: "TOKEN",
          http_headers: { "X-Team": "a" },
          env_http_headers: { "X-Key": "KEY" },
        },
      },
    }),
    {
      inputs: [variable("TOKEN"), variable("KEY")],
      servers: {
        files: {
          ...stdio({
            command: "npx",
            args: ["files"],
            env: {
              MODE: "fast",
              TOKEN: "${input:env:TOKEN}",
              KEY: "${input:env:KEY}",
            },
            cwd: "/srv",
          }),
          forbidden_tools: ["write"],
        },
        off: { ...stdio({ command: "x" }), disabled: true },
        web: web("streamable", "https://x.example/mcp", {
          headers: {
            "X-Team": "a",
            "X-Key": "${input:env:KEY}",
            Authorization: "Bearer ${input:env:TOKEN}",
          },
        }),
      },
    },
  );
  const rows: [table: unknown, path: string][] = [
    [{ command: "x", enabled_tools: ["a"] }, "mcp_servers.a.enabled_tools"],
    [{ command: 3 }, "mcp_servers.a.command"],
    [{ command: "x", env: [] }, "mcp_servers.a.env"],
    [3, "mcp_servers.a.command"],
  ];
  for (const [table, path] of rows) {
    const { problems } = readConfig({ mcp_servers: { a: table } }, CONTEXT);
    assertEquals(problems.map((one) => one.path.join(".")), [path]);
  }
});

Deno.test("readConfig() makes inputs of a workspace that is not known, one for all", () => {
  const context = { ...CONTEXT, workspaceFolder: undefined };
  const { config, problems } = readConfig({
    servers: {
      a: { command: "x", args: ["${workspaceFolder}/a", "${workspaceRoot}"] },
      b: { command: "x", cwd: "${workspaceFolderBasename}" },
    },
  }, context);
  assertEquals(problems, []);
  assertEquals(config.inputs.map(({ id }) => id), [
    "workspaceFolder",
    "workspaceFolderBasename",
  ]);
  const [a, b] = config.servers;
  assert(a?.type === "stdio" && b?.type === "stdio");
  const folder = "${input:workspaceFolder}";
  assertEquals(a.server_parameters.args, [`${folder}/a`, folder]);
  assertEquals(b.server_parameters.cwd, "${input:workspaceFolderBasename}");
});

Deno.test("askSecrets() replaces each secret in the clear by one input, wherever it is used", () => {
  const { servers, inputs } = parseComputerConfig({
    inputs: [prompt("TOKEN")],
    servers: {
      a: stdio({
        args: ["--token", "s3cret"],
        env: {
          TOKEN: "s3cret",
          KEY: "k3y",
          MODE: "fast",
          X_KEY: "a${input:TOKEN}",
        },
      }),
      b: web("streamable", "https://x.example/mcp", {
        headers: { Authorization: "Bearer s3cret", "X-Key": "other" },
        oauth: { client_id: "c", client_secret: "c1ient" },
      }),
      "c}": stdio({
        env: { KEY: "third", "key": "fourth", DB: "pg://u:p4ss@h/d" },
      }),
    },
  });
  const asked = askSecrets({ servers, inputs });
  assertEquals(asked.inputs.map(({ id }) => id), [
    "TOKEN",
    "a-TOKEN",
    "KEY",
    "X-Key",
    "client_secret",
    "c_-KEY",
    "c_-key-2",
    "DB",
  ]);
  const [a, b, c] = asked.servers.map(({ server_parameters }) =>
    server_parameters
  );
  assertEquals<unknown>([a, b, c], [
    {
      ...servers[0]?.server_parameters,
      args: ["--token", "${input:a-TOKEN}"],
      env: {
        TOKEN: "${input:a-TOKEN}",
        KEY: "${input:KEY}",
        MODE: "fast",
        X_KEY: "a${input:TOKEN}",
      },
    },
    {
      ...servers[1]?.server_parameters,
      headers: {
        Authorization: "Bearer ${input:a-TOKEN}",
        "X-Key": "${input:X-Key}",
      },
      oauth: {
        ...Object(servers[1]?.server_parameters).oauth,
        client_secret: "${input:client_secret}",
      },
    },
    {
      ...servers[2]?.server_parameters,
      env: {
        KEY: "${input:c_-KEY}",
        key: "${input:c_-key-2}",
        DB: "${input:DB}",
      },
    },
  ]);
  assertEquals(asked.servers.flatMap(hiddenValues), [
    "env.MODE",
    "env.X_KEY",
  ]);
  parseComputerConfig(toOwnFormat(asked)); // is valid
});

Deno.test("askSecrets() replaces secrets in arguments and URLs, and leaves what is no secret, or a placeholder already", () => {
  const { servers, inputs } = parseComputerConfig({
    inputs: [prompt("own")],
    servers: {
      docker: stdio({
        args: [
          ...["run", "-e", "GH_TOKEN=gh-1", "-e", "MODE=fast", "image"],
          ...["--api-key=k-1", "--password", "p w", "--size", "80"],
          ...["--header", "Authorization: Bearer b-1"],
          ...["--header", "X-Key: ${input:own}", "--auth", "a${input:own}"],
          ...["pg://ann:p-1@h/d?mode=x", "--token="],
        ],
      }),
      web: web(
        "streamable",
        "https://tok-1@x.example/mcp?v=2&api_key=q-1&token=gh-1",
      ),
    },
  });
  const asked = askSecrets({ servers, inputs });
  assertEquals<unknown>(
    asked.servers.map(({ server_parameters }) => server_parameters),
    [
      {
        ...servers[0]?.server_parameters,
        args: [
          ...["run", "-e", "GH_TOKEN=${input:GH_TOKEN}", "-e", "MODE=fast"],
          ...["image", "--api-key=${input:api-key}"],
          ...["--password", "${input:password}", "--size", "80"],
          ...["--header", "Authorization: Bearer ${input:Authorization}"],
          ...["--header", "X-Key: ${input:own}", "--auth", "a${input:own}"],
          ...["pg://ann:${input:docker-password}@h/d?mode=x", "--token="],
        ],
      },
      {
        ...servers[1]?.server_parameters,
        url:
          "https://${input:web-password}@x.example/mcp?v=2&api_key=${input:web-api_key}&token=${input:GH_TOKEN}",
      },
    ],
  );
  parseComputerConfig(toOwnFormat(asked)); // is valid
});

Deno.test("hiddenValues() lists literal values that may be secret, and no placeholders", () => {
  const url = "https://x.example/sse";
  const headers = {
    Authorization: "Bearer ${input:gh-token}",
    "X-Authorization": "token ${input:gh-token}",
    "X-Mixed": "Bearer s3cret${input:gh-token}",
    "X-Rest": "Bearer ${input:gh-token}s3cret",
  };
  const rows: [settings: object, hidden: string[]][] = [
    [
      stdio({
        args: ["--token", "s3cret", "plain"],
        env: { KEY: "s3cret", FROM: "${input:t}" },
      }),
      ["args.1", "env.KEY"],
    ],
    [
      stdio({ args: ["--header", "Authorization: Bearer ${input:gh-token}"] }),
      [],
    ],
    [
      web("streamable", "https://me:s3cret@x.example/mcp?key=1", {
        headers: { Authorization: "Bearer s3cret" },
      }),
      ["url", "headers.Authorization"],
    ],
    [web("sse", url, { headers }), ["headers.X-Mixed", "headers.X-Rest"]],
    [
      web("sse", url, { oauth: { client_id: "c", client_secret: "s3cret" } }),
      ["oauth.client_secret"],
    ],
    [
      web("sse", url, {
        oauth: { client_id: "c", client_secret: "${input:t}" },
      }),
      [],
    ],
  ];
  for (const [settings, hidden] of rows) {
    const { servers } = parseComputerConfig({ servers: { a: settings } });
    assertEquals(servers.flatMap(hiddenValues), hidden);
  }
});

Deno.test("protocol §13: distinctIds() gives a bundle_id to servers that would not start, and to no others", () => {
  const names = ["my files", "my_files", "my.files", "other", "web"];
  const { config } = readConfig(
    names.map((name) => ({
      ...stdio({}, name === "other" ? { bundle_id: "my_files-2" } : {}),
      name,
    })),
  );
  const { servers, identified } = distinctIds(config.servers);
  assertEquals(servers.map(({ bundle_id }) => bundle_id), [
    undefined,
    "my_files-3",
    "my_files-4",
    "my_files-2",
    undefined,
  ]);
  assertEquals(identified, ["my_files", "my.files"]);
});

const launched = (name: string, command: string, ...args: string[]) =>
  parseMCPServerConfig({
    name,
    type: "stdio",
    server_parameters: { command, args },
  });

Deno.test("programOf() recognises the same MCP server with any arguments", () => {
  const rows: [line: string, program: string | undefined][] = [
    ["npx -y @mcp/files /a", "@mcp/files"],
    ["/usr/bin/npx @mcp/files@1.2.3 /b", "@mcp/files"],
    ["npx.cmd -y files@latest", "files"],
    ["uvx --from git+x files /a", "files"],
    ["deno run -A npm:@mcp/files@1 /a", "npm:@mcp/files"],
    ["docker run -i --rm -e A=b mcp/git", "mcp/git"],
    ["python3 -m server_git", "server_git"],
    ["my-server /a", "my-server"],
    ["sh -c my-server", undefined],
  ];
  for (const [line, program] of rows) {
    const [command = "", ...args] = line.split(" ");
    assertEquals(programOf(launched("a", command, ...args)), program, line);
  }
});

Deno.test("prefixSamePrograms() sets a prefix for programs that occur more than once", () => {
  const given = [
    launched("a", "npx", "files", "/a"),
    launched("b", "npx", "files", "/b"),
    launched("c", "npx", "git"),
    { ...launched("d", "npx", "git"), disabled: true },
    { ...launched("e", "npx", "files", "/e"), tool_prefix: "own_" },
    launched("f", "sh", "-c", "x"),
    launched("g", "sh", "-c", "y"),
  ];
  const { servers, prefixed } = prefixSamePrograms(given);
  assertEquals(prefixed, ["a", "b"]);
  assertEquals(
    servers,
    given.map((server, i) =>
      i < 2 ? { ...server, tool_prefix: "auto" } : server
    ),
  );
});

Deno.test("officeEntry() recognizes an office, however its MCP client reaches it, and nothing else", () => {
  const main = "/home/you/a2c-smcp/agent/main.ts";
  const office = "http://127.0.0.1:8787/mcp/home";
  const offices = [
    web("streamable", office),
    web("streamable", `${office}?computer=laptop&tools=search`),
    web("streamable", "https://smcp.example.com/mcp/team-a"),
    web("streamable", "HTTPS://smcp.example.com/mcp/a%2Fb/"),
    ...[
      ["deno", "run", "-A", main, "mcp", "--office", "home"],
      ["npx", "-y", "deno", "run", "-A", main, "mcp", "--office", "home"],
      ["/usr/bin/deno", "run", "-A", "C:\\smcp\\agent\\main.ts", "mcp"],
      ["deno", "run", "-A", "/home/you/a2c-smcp/main.ts", "agent", "mcp"],
      ["deno", "run", "-A", "jsr:@a2c-smcp/sdk@0.2/agent/main", "mcp"],
      ["smcp-agent", "mcp"],
      ["/usr/local/bin/smcp-agent", "mcp", "--office", "home"],
      ["C:\\bin\\smcp-agent.cmd", "mcp"],
      ["smcp-agent", "--verbose", "mcp"],
      ["smcp", "agent", "mcp"],
      ["npx", "-y", "@a2c-smcp/cli", "agent", "mcp"],
      ["npx", "-y", "@a2c-smcp/cli@0.2.0", "smcp-agent", "mcp"],
      ["npx", "-y", "-p", "@a2c-smcp/cli", "smcp-agent", "mcp"],
      ["sh", "-c", "exec smcp-agent mcp --office home"],
      ["npx", "-y", "mcp-remote", office],
    ].map(([command, ...args]) => stdio({ command, args })),
  ];
  const others = [
    web("streamable", "https://git.example/mcp"),
    web("streamable", "https://git.example/mcp/"),
    web("streamable", "https://git.example/api/mcp/home"),
    web("streamable", "https://git.example/mcp/x/issues"),
    web("sse", "https://git.example/sse"),
    web("streamable", "${input:url}"),
    ...[
      ["smcp-agent", "tools"],
      ["smcp", "up", "--config", "mcp"],
      ["deno", "run", "-A", "/x/main.ts", "mcp"],
      ["deno", "run", "-A", "/x/agents/main.ts", "mcp"],
      ["npx", "-y", "@modelcontextprotocol/server-filesystem", "mcp"],
      ["uvx", "agent", "mcp"],
    ].map(([command, ...args]) => stdio({ command, args })),
  ];
  const found = (entry: object) =>
    officeEntry(parseMCPServerConfig({ name: "x", ...entry })) !== undefined;
  for (const entry of offices) assertEquals(found(entry), true, show(entry));
  for (const entry of others) assertEquals(found(entry), false, show(entry));
});

Deno.test("isPrivateHost() recognizes this machine and its own network, by name and by address", () => {
  const hosts = {
    true: [
      "localhost",
      "LOCALHOST.",
      "office.localhost",
      "printer.local",
      "nas.home.arpa",
      "server", // as in Docker Compose
      "127.0.0.1",
      "0.0.0.0",
      "10.1.2.3",
      "172.31.0.1",
      "192.168.1.20",
      "[::1]",
      "[fd00::1]",
      "[::ffff:10.0.0.1]",
    ],
    false: [
      "api.githubcopilot.com",
      "local.example.com",
      "localhost.example",
      "8.8.8.8",
      "172.32.0.1",
      "[2001:db8::1]",
      "[::ffff:8.8.8.8]",
    ],
  };
  for (const [isPrivate, names] of Object.entries(hosts)) {
    for (const name of names) {
      const { hostname } = new URL(`https://${name}/mcp/home`);
      assertEquals(String(isPrivateHost(hostname)), isPrivate, name);
    }
  }
});

const show = (value: unknown): string => JSON.stringify(value);
