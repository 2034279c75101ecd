import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import {
  parseComputerConfig,
  parseOptions,
  readConfig,
} from "../../../../computer/config/parse_config.ts";
import {
  bundleIdOf,
  type ConnectionIdentity,
  deriveBundleId,
  diffConfigs,
} from "../../../../computer/config/config.ts";
import vectors from "../../../vectors/bundle_id.json" with { type: "json" };

const stdio = (over: Record<string, unknown> = {}): ConnectionIdentity => ({
  type: "stdio",
  command: "x",
  ...over,
});

const serverOf = (name: string, over: Record<string, unknown> = {}) => ({
  name,
  type: "stdio",
  server_parameters: { command: "x" },
  ...over,
});

const idsOf = (data: unknown): string[] =>
  readConfig(data).config.servers.map(bundleIdOf);

Deno.test("0.4 §3.3: deriveBundleId() gives the ids of all vectors", () => {
  assertEquals(vectors.vectors.length, 16);
  for (const { name, config, expected_bundle_id } of vectors.vectors) {
    const id = "bundle_id" in config
      ? config.bundle_id
      : deriveBundleId(name, config as ConnectionIdentity);
    assertEquals(id, expected_bundle_id, name);
  }
});

Deno.test("0.4 §3.3: a configuration gives the ids of all vectors, also to a server without a name", () => {
  for (const { name, config, expected_bundle_id } of vectors.vectors) {
    const { type, bundle_id, ...server_parameters } = config as
      & Record<string, unknown>
      & { type: string };
    const entry = {
      type,
      bundle_id: bundle_id ?? null,
      server_parameters,
    };
    for (const data of [[{ name, ...entry }], { servers: { [name]: entry } }]) {
      const { servers } = parseComputerConfig(data);
      assertEquals(servers.map(bundleIdOf), [expected_bundle_id], name);
      // People, and peers of 0.2, see the id where there is no name.
      assertEquals(servers[0]?.name, name || expected_bundle_id);
    }
  }
});

/** The ids are those of Python's a2c-smcp 0.4.2. */
Deno.test("0.4 §3.2: deriveBundleId() counts code points, and orders keys by them", () => {
  const names: [name: string, id: string][] = [
    ["😀a😀😀b", "a_b"],
    ["👨‍👩‍👧x", "x"],
    ["\ud83dx\ude00y", "x_y"],
    ["-a-_-b-", "a-_-b"],
  ];
  for (const [name, id] of names) {
    assertEquals(deriveBundleId(name, stdio()), id, name);
  }
  const connections: [connection: ConnectionIdentity, id: string][] = [
    // U+FF5E comes before U+1F600, whose first UTF-16 unit is smaller.
    [stdio({ env: { "😀": "2", a: "3", "～": "1" } }), "21fad259fc502198"],
    [
      {
        type: "sse",
        url: "https://x/",
        headers: { "😀": "2", "～": "1" },
      },
      "d6313fb5e69f6eb9",
    ],
    [stdio({ command: "node" }), "dc4d531e4f2fbe00"],
    [stdio({ command: "node", args: null, env: null }), "dc4d531e4f2fbe00"],
    [stdio({ command: "node", args: [], env: {} }), "dc4d531e4f2fbe00"],
    [stdio({ command: "node", args: ["a", "b"] }), "52dc8187050834fe"],
    [stdio({ command: "node", args: ["b", "a"] }), "7be45bef7f38560e"],
    [stdio({ command: "😀" }), "e33cbb921e01c32c"],
    [stdio({ command: "\ud83d" }), "acaf66a5048d7976"], // as U+FFFD
    [
      {
        type: "streamable",
        url: "https://api.example.com/mcp",
        headers: null,
      },
      "b413b61fe2e77b15",
    ],
  ];
  for (const [connection, digest] of connections) {
    const id = deriveBundleId("服务器", connection);
    assertEquals(id, `bundle_${digest}`, JSON.stringify(connection));
  }
});

Deno.test("0.4 §3.1: a configuration has explicit and derived ids, under either name of the field", () => {
  assertEquals(
    idsOf([
      serverOf("My Server!"),
      serverOf("a", { bundle_id: "files-2" }),
      serverOf("b", { bundleId: "_x_" }),
      serverOf("c", { bundle_id: null }),
      { ...serverOf("d"), bundleId: null },
    ]),
    ["My_Server", "files-2", "_x_", "c", "d"],
  );
  assertEquals(
    idsOf({ mcpServers: { docs: { command: "x", bundleId: "papers" } } }),
    ["papers"],
  );
});

Deno.test("0.4 §3.2: `http` counts as `streamable`, and placeholders and defaults as they are written", () => {
  const web = (type: string, over: Record<string, unknown> = {}) => ({
    name: "网",
    type,
    server_parameters: { url: "https://api.example.com/mcp", ...over },
  });
  const [http, streamable, full] = idsOf([
    web("http"),
    { ...web("streamable"), name: "页" },
    {
      ...web("streamable", { headers: {}, timeout: "PT9S" }),
      name: "络",
      disabled: true,
    },
  ]);
  assertEquals(
    [http, streamable, full],
    Array(3).fill(
      "bundle_b413b61fe2e77b15", // of the vectors
    ),
  );
  assertEquals(
    idsOf([{
      name: "网",
      type: "stdio",
      server_parameters: {
        command: "node",
        args: ["server.js"],
        env: { API_KEY: "${input:api_key}" },
      },
    }]),
    ["bundle_68ae00fea9122c01"],
  );
});

Deno.test("0.4 §3.1: an id does not depend on the variables of another program's file", () => {
  const file = {
    mcpServers: {
      "文件": {
        command: "npx",
        args: ["${workspaceFolder}"],
        env: { KEY: "${env:KEY}" },
      },
    },
  };
  const idAt = (workspaceFolder: string) =>
    readConfig(file, {
      workspaceFolder,
      userHome: "/home/me",
      pathSeparator: "/",
    }).config.servers.map(bundleIdOf);
  const expected = deriveBundleId("文件", {
    type: "stdio",
    command: "npx",
    args: ["${workspaceFolder}"],
    env: { KEY: "${env:KEY}" },
  });
  assertEquals(idAt("/srv/a"), [expected]);
  assertEquals(idAt("/srv/b"), [expected]);
});

Deno.test("0.4 §3.1: an invalid id is an error that names field, problem and remedy", () => {
  for (const id of ["a.b", "a__b", "", "ä", " a", 3]) {
    for (const field of ["bundle_id", "bundleId"]) {
      const { message } = assertThrows(
        () => parseComputerConfig([serverOf("a", { [field]: id })]),
        Error,
        `0.${field}: expected `,
      );
      if (typeof id === "string") {
        assert(message.endsWith("; leave it out to derive it from the name"));
      }
    }
  }
  assertThrows(
    () =>
      parseComputerConfig([serverOf("a", { bundle_id: "b", bundleId: "b" })]),
    Error,
    '0.bundleId: unknown field; did you mean "bundle_id"?',
  );
  assertThrows(
    () =>
      parseComputerConfig({
        mcpServers: { a: { command: "x", bundl_id: "b" } },
      }),
    Error,
    'did you mean "bundle_id"?',
  );
});

Deno.test("an MCP server in process has the id of its name, or of a digest of it", () => {
  const server = { connect: async () => {} };
  const ids = parseOptions({
    servers: ["My notes", "笔记", "账"].map((name) => ({
      name,
      type: "in-process",
      server,
    })),
  }).servers.map(bundleIdOf);
  assertEquals(ids[0], "My_notes");
  assertMatch(ids[1] ?? "", /^bundle_[0-9a-f]{16}$/);
  assert(ids[1] !== ids[2]);
});

const serverWith = (...args: string[]) => ({
  type: "stdio",
  server_parameters: { command: "x", args },
});
const prompt = (id: string, description = "") => ({
  type: "promptString",
  id,
  description,
});
const diff = (before: object, after: object) => {
  const { add, update, remove } = diffConfigs(
    parseComputerConfig(before),
    parseComputerConfig(after),
  );
  return {
    add: add.map(({ name }) => name),
    update: update.map(({ name }) => name),
    remove: [...remove],
  };
};

Deno.test("diffConfigs() lists servers to add, replace and remove, and no others", () => {
  assertEquals(
    diff(
      {
        servers: {
          same: serverWith(),
          gone: serverWith(),
          changed: serverWith("1"),
        },
      },
      {
        servers: {
          new: serverWith(),
          changed: serverWith("2"),
          same: serverWith(),
        },
      },
    ),
    { add: ["new"], update: ["changed"], remove: ["gone"] },
  );
});

Deno.test("diffConfigs() ignores the order of keys, the form of servers, and explicit defaults", () => {
  assertEquals(
    diff(
      {
        servers: { a: { type: "stdio", server_parameters: { command: "x" } } },
      },
      {
        servers: [{
          server_parameters: { env: null, args: [], command: "x" },
          disabled: false,
          type: "stdio",
          name: "a",
        }],
      },
    ),
    { add: [], update: [], remove: [] },
  );
});

Deno.test("diffConfigs() replaces the servers that use an input whose definition changed", () => {
  const servers = {
    a: serverWith("${input:one}"),
    b: serverWith("${input:two}"),
    c: serverWith(),
  };
  assertEquals(
    diff(
      { inputs: [prompt("one"), prompt("two")], servers },
      {
        inputs: [prompt("two"), prompt("one", "other"), prompt("three")],
        servers,
      },
    ),
    { add: [], update: ["a"], remove: [] },
  );
  assertEquals(
    diff({ inputs: [prompt("one")], servers }, { inputs: [], servers }),
    { add: [], update: ["a"], remove: [] },
  );
});
