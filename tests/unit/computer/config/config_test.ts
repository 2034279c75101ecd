import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { bundleIdOf, diffConfigs } from "../../../../computer/config/config.ts";
import { toOwnFormat } from "../../../../computer/config/import_configs.ts";
import {
  parseComputerConfig,
  parseOptions,
  readConfig,
} from "../../../../computer/config/parse_config.ts";
import { redactConfig } from "../../../../computer/config/redact.ts";
import {
  redactArguments,
  redactUrl,
  redactValue,
  secretsIn,
} from "../../../../computer/util/secrets.ts";
import { getConfig } from "../../../../protocol/payloads/config.ts";
import {
  serverFields,
  toolMetaFields,
} from "../../../../protocol/payloads/config_file.ts";
import vectors from "../../../vectors/bundle_id.json" with { type: "json" };

const serverOf = (name: string, over: object = {}) => ({
  name,
  type: "stdio",
  server_parameters: { command: "x" },
  ...over,
});

const idsOf = (data: unknown): string[] =>
  readConfig(data).config.servers.map(bundleIdOf);

Deno.test("protocol §13: a configuration gives the ids of all vectors, also to a server without a name", () => {
  assertEquals(vectors.vectors.length, 16);
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
Deno.test("protocol §13: bundleIdOf() counts code points, and orders keys by them", () => {
  const stdio = (over: object = {}) => ({
    type: "stdio",
    server_parameters: { command: "x", ...over },
  });
  const names: [name: string, id: string][] = [
    ["😀a😀😀b", "a_b"],
    ["👨‍👩‍👧x", "x"],
    ["\ud83dx\ude00y", "x_y"],
    ["-a-_-b-", "a-_-b"],
  ];
  for (const [name, id] of names) {
    assertEquals(idsOf([{ name, ...stdio() }]), [id], name);
  }
  const web = (
    type: "sse" | "streamable",
    headers: Record<string, string> | null,
  ) => ({
    type,
    server_parameters: {
      url: type === "sse" ? "https://x/" : "https://api.example.com/mcp",
      headers,
    },
  });
  const node = { command: "node" };
  const connections: [connection: object, id: string][] = [
    // U+FF5E comes before U+1F600, whose first UTF-16 unit is smaller.
    [stdio({ env: { "😀": "2", a: "3", "～": "1" } }), "21fad259fc502198"],
    [web("sse", { "😀": "2", "～": "1" }), "d6313fb5e69f6eb9"],
    [stdio(node), "dc4d531e4f2fbe00"],
    [stdio({ ...node, env: null }), "dc4d531e4f2fbe00"],
    [stdio({ ...node, args: [], env: {} }), "dc4d531e4f2fbe00"],
    [stdio({ ...node, args: ["a", "b"] }), "52dc8187050834fe"],
    [stdio({ ...node, args: ["b", "a"] }), "7be45bef7f38560e"],
    [stdio({ command: "😀" }), "e33cbb921e01c32c"],
    [stdio({ command: "\ud83d" }), "acaf66a5048d7976"], // as U+FFFD
    [web("streamable", null), "b413b61fe2e77b15"],
  ];
  for (const [connection, digest] of connections) {
    assertEquals(
      idsOf([{ name: "服务器", ...connection }]),
      [`bundle_${digest}`],
      JSON.stringify(connection),
    );
  }
});

Deno.test("protocol §13: a configuration has explicit and derived ids, under either name of the field", () => {
  assertEquals(
    idsOf([
      serverOf("My Server!"),
      serverOf("a", { bundle_id: "files-2" }),
      serverOf("b", { bundleId: "_x_" }),
      serverOf("c", { bundle_id: null }),
      serverOf("d", { bundleId: null }),
    ]),
    ["My_Server", "files-2", "_x_", "c", "d"],
  );
  assertEquals(
    idsOf({ mcpServers: { docs: { command: "x", bundleId: "papers" } } }),
    ["papers"],
  );
});

Deno.test("protocol §13: `http` counts as `streamable`, and placeholders and defaults as they are written", () => {
  const url = "https://api.example.com/mcp";
  const env = { API_KEY: "${input:api_key}" };
  const rows: [server: object, id: string][] = [
    // The ids are of the vectors.
    [
      { type: "http", server_parameters: { url } },
      "bundle_b413b61fe2e77b15",
    ],
    [
      {
        type: "streamable",
        server_parameters: { url, headers: {}, timeout: "PT9S" },
        disabled: true,
      },
      "bundle_b413b61fe2e77b15",
    ],
    [
      { server_parameters: { command: "node", args: ["server.js"], env } },
      "bundle_68ae00fea9122c01",
    ],
  ];
  for (const [server, id] of rows) {
    assertEquals(idsOf([serverOf("网", server)]), [id]);
  }
});

Deno.test("protocol §13: an id does not depend on the variables of another program's file", () => {
  const settings = {
    command: "npx",
    args: ["${workspaceFolder}"],
    env: { KEY: "${env:KEY}" },
  };
  const own = { name: "文件", type: "stdio", server_parameters: settings };
  const expected = idsOf([own]);
  for (const workspaceFolder of ["/srv/a", "/srv/b"]) {
    const context = { workspaceFolder, userHome: "/home", pathSeparator: "/" };
    const { config } = readConfig(
      { mcpServers: { "文件": settings } },
      context,
    );
    assertEquals(config.servers.map(bundleIdOf), expected);
  }
});

Deno.test("protocol §13: an invalid id is an error that names field, problem and remedy", () => {
  for (const id of ["a.b", "a__b", "", "ä", " a", 3]) {
    for (const field of ["bundle_id", "bundleId"]) {
      const { message } = assertThrows(
        () => parseComputerConfig([serverOf("a", { [field]: id })]),
        Error,
        `0.${field}: expected `,
      );
      assertEquals(
        message.endsWith("; leave it out to derive it from the name"),
        typeof id === "string",
      );
    }
  }
});

Deno.test("an MCP server in process has the id of its name, or of a digest of it", () => {
  const [named = "", ...digests] = parseOptions({
    servers: ["My notes", "笔记", "账"].map((name) => ({
      name,
      type: "in-process",
      server: { connect: async () => {} },
    })),
  }).servers.map(bundleIdOf);
  assertEquals(named, "My_notes");
  for (const id of digests) assertMatch(id, /^bundle_[0-9a-f]{16}$/);
  assertEquals(new Set(digests).size, 2);
});

Deno.test("diffConfigs() lists servers to add, replace and remove, and no others", () => {
  const server = (...args: string[]) => ({
    type: "stdio",
    server_parameters: { command: "x", args },
  });
  const prompt = (id: string, description = "") => ({
    type: "promptString",
    id,
    description,
  });
  const using = {
    a: server("${input:one}"),
    b: server("${input:two}"),
    c: server(),
  };
  const rows: [before: object, after: object, changes: string[][]][] = [
    [
      { servers: { same: server(), gone: server(), changed: server("1") } },
      { servers: { new: server(), changed: server("2"), same: server() } },
      [["new"], ["changed"], ["gone"]],
    ],
    [ // another order of keys, another form, and defaults that are written
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
      [[], [], []],
    ],
    [ // servers that use an input whose definition changed
      { inputs: [prompt("one"), prompt("two")], servers: using },
      {
        inputs: [prompt("two"), prompt("one", "other"), prompt("three")],
        servers: using,
      },
      [[], ["a"], []],
    ],
    [
      { inputs: [prompt("one")], servers: using },
      { inputs: [], servers: using },
      [[], ["a"], []],
    ],
  ];
  for (const [before, after, changes] of rows) {
    const { add, update, remove } = diffConfigs(
      parseComputerConfig(before),
      parseComputerConfig(after),
    );
    const [added, updated] = [add, update].map((servers) =>
      servers.map(({ name }) => name)
    );
    assertEquals([added, updated, [...remove]], changes);
  }
});

Deno.test("redactValue() keeps placeholders, and none of the text around them", () => {
  const rows: [string | number | boolean, string][] = [
    ["secret", "<redacted>"],
    ["", ""],
    [42, "<redacted>"],
    [true, "<redacted>"],
    ["${input:key}", "${input:key}"],
    ["Bearer ${input:key}", "<redacted>${input:key}"],
    [
      "a${input:x}b${input:y}c",
      "<redacted>${input:x}<redacted>${input:y}<redacted>",
    ],
    ["${env:HOME}", "<redacted>"],
    ["private\ue000use", "<redacted>"],
  ];
  for (const [value, expected] of rows) {
    assertEquals(redactValue(value), expected);
  }
});

Deno.test("redactUrl() redacts userinfo, query and fragment, and shows the rest", () => {
  const rows: [url: string, shown: string][] = [
    ["https://h/mcp", "https://h/mcp"],
    ["https://u:p@h/mcp", "https://<redacted>:<redacted>@h/mcp"],
    ["https://u@h", "https://<redacted>@h"],
    ["https://u:a@b@h", "https://<redacted>:<redacted>@h"],
    ["https://h/a?k=v&l=w", "https://h/a?k=<redacted>&l=<redacted>"],
    ["https://h/?bare", "https://h/?<redacted>"],
    ["https://h/#t=v", "https://h/#t=<redacted>"],
    ["https://h/?k=${input:k}", "https://h/?k=${input:k}"],
    ["https://h/?k=x${input:k}", "https://h/?k=<redacted>${input:k}"],
    ["https://${input:u}:${input:p}@h", "https://${input:u}:${input:p}@h"],
    ["https://${input:host}/mcp", "https://${input:host}/mcp"],
    ["${input:base}/mcp?k=v", "${input:base}/mcp?k=<redacted>"],
    ["https://h/@scope/a", "https://h/@scope/a"],
  ];
  for (const [url, expected] of rows) assertEquals(redactUrl(url), expected);
});

Deno.test("redactArguments() redacts values of options with secret-sounding names, and shows others", () => {
  const rows: [args: string, shown: string][] = [
    ["--api-key v", "--api-key <redacted>"],
    ["--api-key=v", "--api-key=<redacted>"],
    ["--TOKEN=a=b", "--TOKEN=<redacted>"],
    ["-token v", "-token <redacted>"],
    ["--client-secret -v", "--client-secret <redacted>"],
    ["--password ${input:p}", "--password ${input:p}"],
    ["--auth=x${input:p}", "--auth=<redacted>${input:p}"],
    ["--auth --port 80", "--auth --port 80"],
    ["--port 80 .", "--port 80 ."],
    ["-y @scope/server /tmp/a=b", "-y @scope/server /tmp/a=b"],
    ["-e GITHUB_TOKEN=v", "-e GITHUB_TOKEN=<redacted>"],
    ["--env=API_KEY=v", "--env=API_KEY=<redacted>"],
    ["postgres://u:p@h/db", "postgres://<redacted>:<redacted>@h/db"],
    [
      "--db=postgres://u:p@h/db?s=1",
      "--db=postgres://<redacted>:<redacted>@h/db?s=<redacted>",
    ],
  ];
  for (const [args, shown] of rows) {
    assertEquals(redactArguments(args.split(" ")), shown.split(" "));
  }
  for (const [first, header] of [[["-H"], ""], [[], "--header="]] as const) {
    assertEquals(
      redactArguments([...first, `${header}Authorization: Bearer v`]),
      [...first, `${header}Authorization: <redacted>`],
    );
  }
});

Deno.test("redactConfig() returns the configuration without secrets", () => {
  const text = (id: string, more: object) => ({
    type: "promptString",
    id,
    description: "D",
    ...more,
  });
  const command = (id: string, command: string, args?: unknown) => ({
    type: "command",
    id,
    description: "D",
    command,
    ...(args !== undefined && { args }),
  });
  const pick = text("c", { type: "pickString", options: ["x"] });
  const { inputs, servers } = parseComputerConfig({
    inputs: [
      text("a", { default: "s3cret", password: true }),
      text("b", { default: "shown" }),
      { ...pick, hidden: "s3cret" },
      command("d", "pass", ["--token", "s3cret"]),
      command("e", "pass", { token: "s3cret", of: "me" }),
      command("f", "curl -H 'Authorization: Bearer s3cret' https://h"),
      command("g", "TOKEN=s3cret pass"),
      command("h", "  /usr/bin/pass "),
    ],
    // A list, the Python SDK's format, may have unknown fields.
    servers: [
      {
        name: "child",
        type: "stdio",
        server_parameters: {
          command: "run",
          args: ["--key", "s3cret", "."],
          env: { A: "s3cret", B: "${input:a}" },
          hidden: "s3cret",
          url: "https://s3cret@h",
        },
        oauth: { client_secret: "s3cret" },
        forbidden_tools: ["f"],
        tool_meta: { t: { alias: "u", hidden: "s3cret" } },
        vrl: ".",
      },
      {
        name: "web",
        type: "http",
        server_parameters: {
          url: "https://s3cret@h/?k=s3cret",
          headers: { "X-Api-Key": "s3cret", "X-Number": 5 },
        },
        default_tool_meta: { auto_apply: true },
      },
      {
        name: "old",
        type: "sse",
        server_parameters: {
          url: "https://h/sse",
          headers: { a: "Bearer ${input:a}" },
        },
      },
    ],
  });
  const shown = redactConfig(servers, inputs);
  assertEquals(JSON.stringify(shown).includes("s3cret"), false);
  assertEquals(getConfig.parseAnswer(shown), shown);
  assertEquals<unknown>(
    toOwnFormat({
      inputs: shown.inputs ?? [],
      servers: Object.values(shown.servers),
    }),
    {
      inputs: [
        text("a", { password: true }),
        text("b", { default: "shown" }),
        pick,
        command("d", "pass", ["--token", "<redacted>"]),
        command("e", "pass", { token: "<redacted>", of: "me" }),
        command("f", "curl <redacted>"),
        command("g", "<redacted>"),
        command("h", "/usr/bin/pass"),
      ],
      servers: {
        child: {
          type: "stdio",
          forbidden_tools: ["f"],
          tool_meta: { t: { alias: "u" } },
          vrl: ".",
          server_parameters: {
            command: "run",
            args: ["--key", "<redacted>", "."],
            env: { A: "<redacted>", B: "${input:a}" },
          },
        },
        web: {
          type: "streamable",
          default_tool_meta: { auto_apply: true },
          server_parameters: {
            url: "https://<redacted>@h/?k=<redacted>",
            headers: { "X-Api-Key": "<redacted>", "X-Number": "<redacted>" },
          },
        },
        old: {
          type: "sse",
          server_parameters: {
            url: "https://h/sse",
            headers: { a: "<redacted>${input:a}" },
          },
        },
      },
    },
  );
});

Deno.test("redactConfig() shows nothing of the client of a sign-in", () => {
  const oauth = { client_id: "hidden", client_secret: "s3cret" };
  for (const type of ["streamable", "sse"]) {
    const { servers } = parseComputerConfig({
      servers: {
        a: { type, server_parameters: { url: "https://h/mcp", oauth } },
      },
    });
    const shown = redactConfig(servers, []);
    assertEquals(/oauth|hidden|s3cret/.exec(JSON.stringify(shown)), null);
    assertEquals(servers.flatMap(secretsIn), ["s3cret"]);
  }
});

Deno.test("redactConfig() shows the fields of the schema but oauth, none of which is secret as a whole", () => {
  const own =
    "name bundle_id disabled forbidden_tools tool_meta default_tool_meta tool_prefix vrl type server_parameters";
  const sse = "url headers timeout sse_read_timeout";
  const rows: [type: string, parameters: string][] = [
    [
      "stdio",
      "command args env inherit_env cwd encoding encoding_error_handler",
    ],
    ["streamable", `${sse} terminate_on_close oauth`],
    ["http", `${sse} terminate_on_close oauth`],
    ["sse", `${sse} oauth`],
  ];
  assertEquals(
    [...serverFields],
    rows.map(([type, parameters]) => [
      type,
      { own: own.split(" "), parameters: parameters.split(" ") },
    ]),
  );
  assertEquals(
    toolMetaFields,
    ["auto_apply", "alias", "tags", "ret_object_mapper"],
  );
});
