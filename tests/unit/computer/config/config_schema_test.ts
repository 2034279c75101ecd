import { assert, assertEquals } from "@std/assert";
import { Ajv } from "ajv";
import fc from "fast-check";
import { readConfig } from "../../../../computer/config/parse_config.ts";
import { configDocs } from "../../../../tools/docs/config_docs.ts";

const schema = JSON.parse(
  await Deno.readTextFile(
    new URL("../../../../docs/config.schema.json", import.meta.url),
  ),
);
const conforms = new Ajv({ strict: false }).compile(schema);

const stdio = (over: Record<string, unknown> = {}, more = {}) => ({
  servers: {
    files: {
      type: "stdio",
      server_parameters: { command: "npx", ...over },
      ...more,
    },
  },
});
const streamable = (over: Record<string, unknown>) => ({
  servers: {
    web: {
      type: "streamable",
      server_parameters: { url: "https://mcp.example/mcp", ...over },
    },
  },
});
const sse = (over: Record<string, unknown>) => ({
  servers: {
    web: {
      type: "sse",
      server_parameters: { url: "https://mcp.example/sse", ...over },
    },
  },
});
const inputs = (...inputs: unknown[]) => ({ inputs, servers: {} });
const prompt = { type: "promptString", id: "token", description: "A token" };

const accepted: [why: string, config: unknown][] = [
  ["nothing to host", { servers: {} }],
  ["a schema for editors", { $schema: "./config.schema.json", servers: {} }],
  ["the least of stdio", stdio()],
  [
    "all of stdio",
    stdio({
      args: ["-y", "x"],
      env: { A: "b" },
      cwd: "/srv",
      encoding: "latin1",
      encoding_error_handler: "replace",
    }),
  ],
  ["nothing where null means nothing", stdio({ env: null, cwd: null })],
  [
    "fields of metadata that nobody knows yet",
    stdio({}, {
      tool_meta: { ls: { later: 1 } },
      default_tool_meta: { later: 2 },
    }),
  ],
  [
    "metadata of tools",
    stdio({}, {
      disabled: true,
      forbidden_tools: ["rm"],
      tool_meta: { ls: { alias: "list", tags: ["x"], auto_apply: true } },
      default_tool_meta: { auto_apply: null, ret_object_mapper: { a: 1 } },
      vrl: ".a = 1",
    }),
  ],
  ["an id of its own", stdio({}, { bundle_id: "files-2" })],
  ["an id under another name", stdio({}, { bundleId: "files-2" })],
  ["an id that is derived", stdio({}, { bundle_id: null })],
  ["no default metadata", stdio({}, { default_tool_meta: null, vrl: null })],
  ["a name that equals its key", stdio({}, { name: "files" })],
  ["durations", streamable({ timeout: "PT1M30.5S", sse_read_timeout: "P1D" })],
  ["a placeholder for a URL", streamable({ url: "${input:url}" })],
  ["a placeholder for a duration", streamable({ timeout: "${input:time}" })],
  ["headers of every kind", streamable({ headers: { a: "b", n: 1, t: true } })],
  ["http for streamable", {
    servers: { web: { type: "http", server_parameters: { url: "http://h" } } },
  }],
  ["seconds", sse({ timeout: 0.5, sse_read_timeout: 60 })],
  [
    "every kind of input",
    inputs(
      { ...prompt, password: true, default: null },
      { ...prompt, type: "pickString", id: "p", options: ["a"], default: "a" },
      { ...prompt, type: "command", id: "c", command: "date", args: ["-u"] },
      {
        ...prompt,
        type: "command",
        id: "d",
        command: "date",
        args: { u: "1" },
      },
    ),
  ],
  [
    "options with labels",
    inputs({
      ...prompt,
      type: "pickString",
      options: [{ label: "A", value: "a" }, "b"],
      default: "a",
    }),
  ],
  ["a list in servers", {
    servers: [{
      name: "a",
      type: "stdio",
      server_parameters: { command: "a" },
    }],
  }],
  ["the list of the Python SDK", [
    { name: "a", type: "stdio", server_parameters: { command: "a" } },
  ]],
  ["Claude Desktop", { mcpServers: { a: { command: "npx", args: ["x"] } } }],
  ["our form in mcpServers", { mcpServers: stdio().servers }],
  ["fields that other programs know", {
    mcpServers: { a: { command: "npx", cooldown: 1 } },
    globalShortcut: "x",
  }],
  ["fields that the Python SDK knows", [{
    name: "a",
    type: "stdio",
    server_parameters: { command: "a", later: 1 },
    later: 2,
  }]],
  ["fields that VS Code knows", {
    servers: { a: { command: "a", dev: {} } },
    sandbox: true,
  }],
  ["VS Code", { servers: { a: { type: "http", url: "https://h/mcp" } } }],
];

const rejected: [why: string, config: unknown][] = [
  ["no object", "servers"],
  ["a field of the file that nobody knows", { servers: {}, later: 1 }],
  ["a slip in a field of the file", { servers: {}, inptus: [] }],
  ["a field of a server that nobody knows", stdio({}, { later: 1 })],
  ["a slip in what forbids tools", stdio({}, { forbiden_tools: ["rm"] })],
  ["a field of parameters that nobody knows", stdio({ later: 1 })],
  ["a field of an input that nobody knows", inputs({ ...prompt, later: 1 })],
  ["a slip in what hides a value", inputs({ ...prompt, pasword: true })],
  ["our form in mcpServers with a slip", {
    mcpServers: stdio({}, { forbiden_tools: ["rm"] }).servers,
  }],
  ["no servers", {}],
  ["both maps", { servers: {}, mcpServers: {} }],
  ["servers that are no map", { servers: 3 }],
  ["a server that is no object", { servers: { a: null } }],
  ["no type", { servers: { a: { server_parameters: { command: "a" } } } }],
  ["an unknown type", {
    servers: { a: { type: "ftp", server_parameters: { command: "a" } } },
  }],
  ["no parameters", { servers: { a: { type: "stdio" } } }],
  ["no command", stdio({ command: undefined })],
  ["an empty command", stdio({ command: "" })],
  ["arguments that are no list", stdio({ args: "-y" })],
  ["an argument that is no string", stdio({ args: ["-y", 1] })],
  ["a variable that is no string", stdio({ env: { A: 1 } })],
  ["an unknown error handler", stdio({ encoding_error_handler: "guess" })],
  ["a disabled that is no boolean", stdio({}, { disabled: "yes" })],
  ["forbidden tools that are no list", stdio({}, { forbidden_tools: "rm" })],
  ["an empty alias", stdio({}, { tool_meta: { ls: { alias: "" } } })],
  [
    "one alias for every tool",
    stdio({}, { default_tool_meta: { alias: "a" } }),
  ],
  ["tags that are no list", stdio({}, { tool_meta: { ls: { tags: "a" } } })],
  ["a VRL program that is no text", stdio({}, { vrl: 1 })],
  ["a name that is too long", stdio({}, { name: "x".repeat(257) })],
  ["a URL of another scheme", streamable({ url: "ftp://h" })],
  ["a URL without a host", streamable({ url: "https://" })],
  ["a duration in seconds", streamable({ timeout: 30 })],
  ["an invalid duration", streamable({ timeout: "30s" })],
  ["a header that is an object", streamable({ headers: { a: {} } })],
  ["seconds below zero", sse({ timeout: -1 })],
  ["no seconds at all", sse({ timeout: 0 })],
  ["seconds as ISO 8601", sse({ timeout: "PT5S" })],
  ["inputs that are no list", { inputs: {}, servers: {} }],
  ["an input of an unknown type", inputs({ ...prompt, type: "guess" })],
  ["an input without an id", inputs({ ...prompt, id: undefined })],
  ["an input without a description", inputs({ ...prompt, description: 1 })],
  ["nothing to pick from", inputs({ ...prompt, type: "pickString" })],
  [
    "an empty list to pick from",
    inputs({ ...prompt, type: "pickString", options: [] }),
  ],
  [
    "an option without a label",
    inputs({ ...prompt, type: "pickString", options: [{ value: "a" }] }),
  ],
  [
    "an option with an empty value",
    inputs({
      ...prompt,
      type: "pickString",
      options: [{ label: "a", value: "" }],
    }),
  ],
  ["an id with a dot", stdio({}, { bundle_id: "a.b" })],
  ["an id with two underscores", stdio({}, { bundleId: "a__b" })],
  ["an empty id", stdio({}, { bundle_id: "" })],
  ["no command to run", inputs({ ...prompt, type: "command" })],
  ["a list whose servers have no name", [
    { type: "stdio", server_parameters: { command: "a" } },
  ]],
];

for (
  const [word, table, expected] of [
    ["accepts", accepted, true],
    ["rejects", rejected, false],
  ] as const
) {
  Deno.test(`the schema of the configuration ${word} what the validator ${word}`, () => {
    for (const [why, config] of table) {
      const file = JSON.parse(JSON.stringify(config)); // as in a file
      const { problems } = readConfig(file);
      assertEquals(problems.length === 0, expected, `validator: ${why}`);
      assertEquals(
        conforms(file),
        expected,
        `schema: ${why}: ${JSON.stringify(conforms.errors)}`,
      );
    }
  });
}

/** Where the reader is strict, both refuse a document with an additional or a misspelled key. */
Deno.test("the schema and the validator agree on random and misspelled documents of our own format", () => {
  const whole = {
    $schema: "x",
    inputs: [
      { ...prompt, password: true, default: "d" },
      { ...prompt, type: "pickString", id: "p", options: ["a"], default: "a" },
      { ...prompt, type: "command", id: "c", command: "date", args: ["-u"] },
    ],
    servers: {
      a: {
        name: "a",
        type: "stdio",
        disabled: false,
        forbidden_tools: ["rm"],
        tool_meta: { ls: { alias: "list", tags: ["x"], auto_apply: true } },
        default_tool_meta: { auto_apply: null, ret_object_mapper: { a: 1 } },
        vrl: ".a = 1",
        server_parameters: {
          command: "x",
          args: [],
          env: {},
          cwd: null,
          encoding: "utf-8",
          encoding_error_handler: "strict",
        },
      },
      b: {
        type: "streamable",
        server_parameters: {
          url: "https://h/",
          headers: {},
          timeout: "PT1S",
          sse_read_timeout: "PT1S",
          terminate_on_close: true,
        },
      },
      c: {
        type: "sse",
        server_parameters: {
          url: "https://h/",
          headers: null,
          timeout: 1,
          sse_read_timeout: 1,
        },
      },
    },
  };
  const agree = (file: unknown, why: string): boolean => {
    const isValid = readConfig(file).problems.length === 0;
    assertEquals(conforms(file), isValid, `${why}: ${JSON.stringify(file)}`);
    return isValid;
  };
  assert(agree(whole, "whole"));
  const places = keysOf(whole).filter((path) =>
    // User-defined names, and open metadata: JSON Schema cannot detect misspelled ones.
    !/^(servers\.\w+|.*(tool_meta|env|headers|ret_object_mapper)\..*)$/.test(
      path.join("."),
    )
  );
  const slip = fc.record({
    path: fc.constantFrom(...places),
    at: fc.nat(30),
    letter: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz_"),
    how: fc.constantFrom("insert", "remove", "replace", "capital", "value"),
    // Of digits, since a key that looks like a misspelled one of ours is an error where keys are free,
    // which JSON Schema cannot say.
    value: fc.jsonValue({
      maxDepth: 2,
      stringUnit: fc.constantFrom(..."0123456789"),
    }),
  });
  fc.assert(
    fc.property(slip, ({ path, at, letter, how, value }) => {
      const file = structuredClone(whole);
      const key = `${path.at(-1)}`;
      const i = at % key.length;
      const parent = path.slice(0, -1).reduce<Record<string, unknown>>(
        (node, step) => node[step] as Record<string, unknown>,
        file,
      );
      if (how === "value") {
        // A map of servers, or one server, may turn the file into another program's.
        // JSON Schema cannot require names to equal their keys, ids to be unique, or a default to be
        // one of the options.
        if (
          /^(servers|servers\.\w+|.*\.(name|id)|inputs\.1\.(options|default))$/
            .test(path.join("."))
        ) {
          return;
        }
        parent[key] = value;
        agree(file, `${path.join(".")} is another value`);
        return;
      }
      const misspelt = {
        insert: key.slice(0, i) + letter + key.slice(i),
        remove: key.slice(0, i) + key.slice(i + 1),
        replace: key.slice(0, i) + letter + key.slice(i + 1),
        capital: key.slice(0, i) + key.slice(i).toUpperCase(),
      }[how];
      if (misspelt in parent || misspelt === "") return;
      parent[misspelt] = parent[key];
      delete parent[key];
      assert(!agree(file, `${key} is ${misspelt}`), `${misspelt} passed`);
    }),
    { numRuns: 2_000 },
  );
});

/** The paths of all keys of objects, at any depth. */
function keysOf(
  value: unknown,
  path: readonly (string | number)[] = [],
): (string | number)[][] {
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => keysOf(item, [...path, i]));
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [
    [...path, key],
    ...keysOf(item, [...path, key]),
  ]);
}

Deno.test("generated parts of docs/ are up to date: deno task docs:config", async () => {
  for (const [file, text] of await configDocs()) {
    assert(await Deno.readTextFile(file) === text, `${file.pathname} is old`);
  }
});
