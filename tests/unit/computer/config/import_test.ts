import { assertEquals } from "@std/assert";
import {
  distinctIds,
  hiddenValues,
  knownFiles,
  mergeConfigs,
  toOwnFormat,
} from "../../../../computer/config/import_configs.ts";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import { parseMCPServerConfig } from "../../../../protocol/mod.ts";

const machine = { home: "/home/me", directory: "/project", env: {} };

for (
  const [platform, claude, code] of [
    [
      "linux",
      "/home/me/.config/Claude/claude_desktop_config.json",
      "/home/me/.config/Code/User/mcp.json",
    ],
    [
      "darwin",
      "/home/me/Library/Application Support/Claude/claude_desktop_config.json",
      "/home/me/Library/Application Support/Code/User/mcp.json",
    ],
  ] as const
) {
  Deno.test(`knownFiles() lists where programs keep MCP servers on ${platform}`, () => {
    assertEquals(
      knownFiles({ platform, ...machine }).map(({ file }) => file),
      [
        "/project/.vscode/mcp.json",
        "/project/.cursor/mcp.json",
        claude,
        "/home/me/.cursor/mcp.json",
        code,
        "/home/me/.codeium/windsurf/mcp_config.json",
      ],
    );
  });
}

Deno.test("knownFiles() follows APPDATA and XDG_CONFIG_HOME", () => {
  const windows = knownFiles({
    platform: "win32",
    home: "C:\\Users\\me",
    directory: "D:\\project",
    env: { APPDATA: "E:\\data" },
  }).map(({ file }) => file);
  assertEquals(windows[2], "E:\\data\\Claude\\claude_desktop_config.json");
  assertEquals(windows[3], "C:\\Users\\me\\.cursor\\mcp.json");
  const linux = knownFiles({
    platform: "linux",
    ...machine,
    env: { XDG_CONFIG_HOME: "/etc/mine" },
  });
  assertEquals(linux[4]?.file, "/etc/mine/Code/User/mcp.json");
});

Deno.test("knownFiles() lists a file once if the project is the home directory", () => {
  const files = knownFiles({
    platform: "linux",
    ...machine,
    directory: "/home/me",
  }).map(({ file }) => file);
  assertEquals(files.length, new Set(files).size);
});

const config = (servers: unknown, inputs: unknown = []) =>
  parseComputerConfig({ servers, inputs });
const stdio = (command: string, more = {}) => ({
  type: "stdio",
  server_parameters: { command, ...more },
});

Deno.test("mergeConfigs() keeps equal entries once, and renames different ones", () => {
  const { config: merged, names } = mergeConfigs([
    { suffix: "claude", config: config({ a: stdio("x"), b: stdio("y") }) },
    { suffix: "cursor", config: config({ a: stdio("x"), b: stdio("z") }) },
    { suffix: "cursor", config: config({ b: stdio("w") }) },
  ]);
  assertEquals(
    merged.servers.map(({ name, server_parameters }) => [
      name,
      "command" in server_parameters && server_parameters.command,
    ]),
    [["a", "x"], ["b", "y"], ["b-cursor", "z"], ["b-cursor-2", "w"]],
  );
  assertEquals(names.map((map) => map.get("b")), [
    "b",
    "b-cursor",
    "b-cursor-2",
  ]);
});

Deno.test("mergeConfigs() keeps each placeholder with its own input", () => {
  const input = (description: string) => [
    { type: "promptString", id: "t", description },
  ];
  const server = { a: stdio("x", { args: ["${input:t}-${input:u}"] }) };
  const { config: merged } = mergeConfigs([
    { suffix: "one", config: config(server, input("First")) },
    { suffix: "two", config: config(server, input("Second")) },
  ]);
  assertEquals(merged.inputs.map(({ id }) => id), ["t", "t-two"]);
  assertEquals(
    merged.servers.map(({ server_parameters }) =>
      "args" in server_parameters && server_parameters.args
    ),
    [["${input:t}-${input:u}"], ["${input:t-two}-${input:u}"]],
  );
});

Deno.test("mergeConfigs() does not rename inputs of environment variables", () => {
  const variable = (value: string) => [
    { type: "promptString", id: "env:T", description: "T", default: value },
  ];
  const server = (command: string) => ({
    [command]: stdio(command, { args: ["${input:env:T}"] }),
  });
  const { config: merged } = mergeConfigs([
    { suffix: "one", config: config(server("x"), variable("a")) },
    { suffix: "two", config: config(server("y"), variable("b")) },
  ]);
  assertEquals(
    merged.inputs.map((
      input,
    ) => [input.id, "default" in input && input.default]),
    [["env:T", "a"]],
  );
  assertEquals(
    merged.servers.map(({ server_parameters }) =>
      "args" in server_parameters && server_parameters.args
    ),
    [["${input:env:T}"], ["${input:env:T}"]],
  );
});

Deno.test("toOwnFormat() writes a configuration without default values", () => {
  const written = {
    inputs: [{ type: "promptString", id: "t", description: "T" }],
    servers: {
      a: stdio("x", { args: ["-y"], env: { A: "${input:t}" } }),
      b: {
        type: "streamable",
        server_parameters: { url: "https://x.example/mcp" },
        disabled: true,
        tool_meta: { go: { auto_apply: true } },
      },
      c: { type: "sse", server_parameters: { url: "https://x.example/sse" } },
    },
  };
  const read = parseComputerConfig(written);
  assertEquals(toOwnFormat(read), written);
  assertEquals(parseComputerConfig(toOwnFormat(read)), read);
});

Deno.test("hiddenValues() lists literal values that may be secret, and no placeholders", () => {
  const [a, b] = config({
    a: stdio("x", {
      args: ["--token", "s3cret", "plain"],
      env: { KEY: "s3cret", FROM: "${input:t}" },
    }),
    b: {
      type: "streamable",
      server_parameters: {
        url: "https://me:s3cret@x.example/mcp?key=1",
        headers: { Authorization: "Bearer s3cret" },
      },
    },
  }).servers;
  const [c] = config({
    c: {
      type: "sse",
      server_parameters: {
        url: "https://x.example/sse",
        headers: {
          Authorization: "Bearer ${input:gh-token}",
          "X-Authorization": "token ${input:gh-token}",
          "X-Mixed": "Bearer s3cret${input:gh-token}",
          "X-Rest": "Bearer ${input:gh-token}s3cret",
        },
      },
    },
  }).servers;
  const [d] = config({
    d: stdio("x", {
      args: ["--header", "Authorization: Bearer ${input:gh-token}"],
    }),
  }).servers;
  assertEquals(c && hiddenValues(c), ["headers.X-Mixed", "headers.X-Rest"]);
  assertEquals(d && hiddenValues(d), []);
  assertEquals(a && hiddenValues(a), ["args.1", "env.KEY"]);
  assertEquals(b && hiddenValues(b), ["url", "headers.Authorization"]);
});

Deno.test("0.4 §3.4: distinctIds() gives a bundle_id to servers that would not start, and to no others", () => {
  const named = (name: string, bundle_id?: string) =>
    parseMCPServerConfig({
      name,
      type: "stdio",
      server_parameters: { command: "x" },
      ...(bundle_id !== undefined && { bundle_id }),
    });
  const { servers, identified } = distinctIds([
    named("my files"),
    named("my_files"),
    named("my.files"),
    named("other", "my_files-2"),
    named("web"),
  ]);
  assertEquals(servers.map(({ bundle_id }) => bundle_id), [
    undefined,
    "my_files-3",
    "my_files-4",
    "my_files-2",
    undefined,
  ]);
  assertEquals(identified, ["my_files", "my.files"]);
});
