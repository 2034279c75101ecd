/**
 * Which configuration files are accepted, and the problems of the others; `docs/config.schema.json` says the
 * same wherever JSON Schema can.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { Ajv } from "ajv";
import fc from "fast-check";
import { sameServerConfig } from "../../../../computer/config/config.ts";
import { homedir } from "node:os";
import {
  parseComputerConfigText,
  projectOf,
  readConfigText,
} from "../../../../computer/config/load_config.ts";
import {
  parseComputerConfig,
  parseOptions,
  readConfig,
} from "../../../../computer/config/parse_config.ts";
import { redactConfig } from "../../../../computer/config/redact.ts";
import { ConfigError, loadComputerConfig } from "../../../../computer/mod.ts";
import { configDocs } from "../../../../tools/docs/config_docs.ts";
import { scratch } from "../../../support/scratch.ts";

const conforms = new Ajv({ strict: false }).compile(JSON.parse(
  await Deno.readTextFile(
    new URL("../../../../docs/config.schema.json", import.meta.url),
  ),
));

/** Files in our own format, whose fields are all known. */
const OWN = `
{"servers": {}}
{"$schema": "./config.schema.json", "servers": {}}
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}}}}
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x", "args": ["-y"], "env": {"A": "b"}, "inherit_env": false, "cwd": "/srv", "encoding": "latin1", "encoding_error_handler": "replace"}}}}
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x", "env": null, "cwd": null}, "default_tool_meta": null, "vrl": null, "bundle_id": null}}}
{"servers": {"a": {"name": "a", "type": "stdio", "server_parameters": {"command": "x"}, "disabled": true, "forbidden_tools": ["rm"], "tool_meta": {"ls": {"alias": "list", "tags": ["x"], "auto_apply": true, "later": 1}}, "default_tool_meta": {"auto_apply": null, "ret_object_mapper": {"a": 1}, "later": 2}, "vrl": ".a = 1", "bundle_id": "files-2"}}}
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "bundleId": "files-2"}}}
{"servers": {"a": {"type": "streamable", "server_parameters": {"url": "https://h/mcp", "timeout": "PT1M30.5S", "sse_read_timeout": "P1D", "headers": {"a": "b", "n": 1, "t": true}, "terminate_on_close": true}}}}
{"servers": {"a": {"type": "http", "server_parameters": {"url": "\${input:url}", "timeout": "\${input:time}"}}}}
{"servers": {"a": {"type": "sse", "server_parameters": {"url": "https://h/sse", "timeout": 0.5, "sse_read_timeout": 60}}}}
{"servers": {"a": {"type": "sse", "server_parameters": {"url": "https://h/sse", "oauth": {"client_id": "c", "scopes": ["a"], "callback_port": 8080}}}}}
{"servers": {"a": {"type": "http", "server_parameters": {"url": "https://h/mcp", "oauth": null}}}}
{"inputs": [{"type": "promptString", "id": "i", "description": "", "password": true, "default": null}], "servers": {}}
{"inputs": [{"type": "pickString", "id": "i", "description": "", "options": [{"label": "A", "value": "a"}, "b"], "default": "a"}], "servers": {}}
{"inputs": [{"type": "command", "id": "i", "description": "", "command": "date", "args": ["-u"]}], "servers": {}}
{"inputs": [{"type": "command", "id": "i", "description": "", "command": "date", "args": {"u": "1"}}], "servers": {}}
{"inputs": [{"type": "promptString", "id": "env:A-B", "description": ""}, {"type": "promptString", "id": "env:A_B", "description": ""}, {"type": "promptString", "id": "env_A_B", "description": ""}], "servers": {}}
`.trim().split("\n");

const OTHERS = `
{"servers": []}
{"servers": [{"name": "a", "type": "stdio", "server_parameters": {"command": "x", "later": 1}, "later": 2}], "later": 3}
[{"name": "a", "type": "stdio", "server_parameters": {"command": "x", "later": 1}, "later": 2}]
[]
{"mcpServers": {"a": {"command": "npx", "args": ["x"], "cooldown": 3}}, "globalShortcut": "y"}
{"mcpServers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}}}}
{"servers": {"a": {"command": "x", "dev": {}, "gallery": true}}, "sandbox": {}}
{"servers": {"a": {"type": "http", "url": "https://h/mcp"}}}
`.trim().split("\n");

/** Files with their problems; `~` marks one that JSON Schema cannot find. */
const REFUSED = `
"servers"
- : expected {"inputs": [...], "servers": {NAME: {"type": ..., "server_parameters": {...}}}}
null
- : expected {"inputs": [...], "servers": {NAME: {"type": ..., "server_parameters": {...}}}}
{}
- servers: expected {"inputs": [...], "servers": {NAME: {"type": ..., "server_parameters": {...}}}}
{"servers": 3}
- servers: expected {"inputs": [...], "servers": {NAME: {"type": ..., "server_parameters": {...}}}}
{"servers": {"a": null}}
- servers.a: expected an object, not null
{"server": {}}
- server: unknown field; did you mean "servers"?
- servers: expected {"inputs": [...], "servers": {NAME: {"type": ..., "server_parameters": {...}}}}
{"servers": {}, "later": 1}
- later: unknown field; remove it, or use one of $schema, inputs, servers, rules
{"servers": {}, "inptus": []}
- inptus: unknown field; did you mean "inputs"?
{"servers": {}, "mcpServers": {}}
- mcpServers: there is "servers" too; put all MCP servers into one of them
{"mcpServers": []}
- mcpServers: expected {NAME: {"command": ...}}
{"servers": {"a": {"server_parameters": {"command": "x"}}}}
- servers.a.type: expected "stdio", "streamable" (or "http") or "sse"
{"servers": {"a": {"type": "ftp", "server_parameters": {"command": "x"}}}}
- servers.a.type: expected "stdio", "streamable" (or "http") or "sse"
{"servers": {"a": {"type": "stdio"}}}
- servers.a.server_parameters: it is missing; expected an object
{"servers": {"a": {"type": "stdio", "server_parameters": {}}}}
- servers.a.server_parameters.command: it is missing; expected a text
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": ""}}}}
- servers.a.server_parameters.command: it is empty
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x", "args": "-y"}}}}
- servers.a.server_parameters.args: expected a list, not a text
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x", "args": ["-y", 1]}}}}
- servers.a.server_parameters.args.1: expected a text, not a number
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x", "env": {"A": {}}}}}}
- servers.a.server_parameters.env.A: expected a text, not an object
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x", "env": {"A": 1}}}}}
- servers.a.server_parameters.env.A: expected a text, not a number
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x", "encoding_error_handler": "guess"}}}}
- servers.a.server_parameters.encoding_error_handler: expected "strict", "ignore" or "replace"
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x", "agrs": []}}}}
- servers.a.server_parameters.agrs: unknown field; did you mean "args"?
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "colour": 1}}}
- servers.a.colour: unknown field; remove it, or use one of name, bundle_id, disabled, forbidden_tools, tool_meta, default_tool_meta, tool_prefix, vrl, type, server_parameters
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "auto_aply": true, "alias": "y"}}}
- servers.a.auto_aply: it is a field of tools: write "default_tool_meta": {"auto_apply": …}, or in "tool_meta" for one of them
- servers.a.alias: it is a field of a tool: write "tool_meta": {TOOL: {"alias": …}}
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "forbiden_tools": ["rm"]}}}
- servers.a.forbiden_tools: unknown field; did you mean "forbidden_tools"?
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "disbaled": true}}}
- servers.a.disbaled: unknown field; did you mean "disabled"?
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "disabled": "yes", "forbidden_tools": "rm", "vrl": 1}}}
- servers.a.disabled: expected true or false, not a text
- servers.a.forbidden_tools: expected a list, not a text
- servers.a.vrl: expected a text, not a number
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "name": "other"}}}
~ servers.a.name: "other" differs from the key "a"; make them equal, or leave the name out
{"servers": {"${
  "x".repeat(257)
}": {"type": "stdio", "server_parameters": {"command": "x"}}}}
~ servers.${"x".repeat(257)}.name: expected 0 to 256 characters
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "tool_meta": {"rm": {"auto_aply": true}}}}}
~ servers.a.tool_meta.rm.auto_aply: unknown field; did you mean "auto_apply"?
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "default_tool_meta": {"autoApply": true}}}}
~ servers.a.default_tool_meta.autoApply: unknown field; did you mean "auto_apply"?
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "tool_meta": {"ls": {"alias": ""}}}}}
- servers.a.tool_meta.ls.alias: expected 1 to 256 characters
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "tool_meta": {"ls": {"tags": "a"}}}}}
- servers.a.tool_meta.ls.tags: expected a list, not a text
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "default_tool_meta": {"alias": "a"}}}}
- servers.a.default_tool_meta.alias: one alias cannot serve every tool; set it per tool in tool_meta instead
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "tool_prefix": ""}}}
- servers.a.tool_prefix: expected "auto", or 1 to 64 letters, digits, "_" and "-"
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "tool_prefix": "a b"}}}
- servers.a.tool_prefix: expected "auto", or 1 to 64 letters, digits, "_" and "-"
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "tool_prefix": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}}
- servers.a.tool_prefix: expected "auto", or 1 to 64 letters, digits, "_" and "-"
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "bundle_id": "a.b"}}}
- servers.a.bundle_id: expected letters, digits, "_" and "-", without "__"; leave it out to derive it from the name
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "bundleId": "a__b"}}}
- servers.a.bundleId: expected letters, digits, "_" and "-", without "__"; leave it out to derive it from the name
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "bundle_id": ""}}}
- servers.a.bundle_id: expected letters, digits, "_" and "-", without "__"; leave it out to derive it from the name
{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "bundle_id": "b", "bundleId": "b"}}}
~ servers.a.bundleId: unknown field; did you mean "bundle_id"?
{"servers": {"a": {"type": "streamable", "server_parameters": {"url": "ftp://h", "timeout": 30, "headers": {"a": {}}}}}}
- servers.a.server_parameters.url: expected an http: or https: URL
- servers.a.server_parameters.headers.a: expected a text, a number, true or false
- servers.a.server_parameters.timeout: expected a text, not a number
{"servers": {"a": {"type": "streamable", "server_parameters": {"url": "localhost:3000"}}}}
- servers.a.server_parameters.url: expected an http: or https: URL
{"servers": {"a": {"type": "streamable", "server_parameters": {"url": "https://", "timeout": "30s"}}}}
- servers.a.server_parameters.url: expected an http: or https: URL
- servers.a.server_parameters.timeout: expected an ISO 8601 duration above zero, such as "PT30S"
{"servers": {"a": {"type": "sse", "server_parameters": {"url": "https://h/", "timeout": 0}}}}
- servers.a.server_parameters.timeout: expected a number above 0
{"servers": {"a": {"type": "sse", "server_parameters": {"url": "https://h/", "timeout": "PT5S"}}}}
- servers.a.server_parameters.timeout: expected a number, not a text
{"servers": {"a": {"type": "sse", "server_parameters": {"url": "https://h/", "oauth": {"clientId": "c"}}}}}
- servers.a.server_parameters.oauth.clientId: unknown field; did you mean "client_id"?
{"servers": {"a": {"type": "sse", "server_parameters": {"url": "https://h/", "oauth": {"client_id": "", "scopes": "a", "callback_port": 70000}}}}}
- servers.a.server_parameters.oauth.client_id: it is empty
- servers.a.server_parameters.oauth.scopes: expected a list, not a text
- servers.a.server_parameters.oauth.callback_port: Too big: expected number to be <=65535
{"servers": {"a": {"type": "sse", "server_parameters": {"url": "https://h/", "oauth": {"client_secret": "s"}}}}}
~ servers.a.server_parameters.oauth.client_secret: a secret belongs to a "client_id" that is no https: address; set that, or leave the secret out
{"servers": {"a": {"type": "sse", "server_parameters": {"url": "https://h/", "oauth": {"client_id": "https://h/c.json", "client_secret": "s"}}}}}
~ servers.a.server_parameters.oauth.client_secret: a secret belongs to a "client_id" that is no https: address; set that, or leave the secret out
{"mcpServers": {"a": {"url": "https://h/", "auth": {"CLIENT_ID": 5}}}}
~ mcpServers.a.auth.CLIENT_ID: expected a text, not a number
{"inputs": {}, "servers": {}}
- inputs: expected a list, not an object
{"inputs": [{"type": "guess", "id": "i", "description": ""}], "servers": {}}
- inputs.0.type: expected "promptString", "pickString" or "command"
{"inputs": [{"type": "promptString", "id": "", "description": 1}, {"type": "command", "description": ""}], "servers": {}}
- inputs.0.id: expected 1 to 256 characters
- inputs.0.description: expected a text, not a number
- inputs.1.id: it is missing; expected a text
- inputs.1.command: it is missing; expected a text
{"inputs": [{"type": "promptString", "id": "i", "description": "", "pasword": true}], "servers": {}}
- inputs.0.pasword: unknown field; did you mean "password"?
{"inputs": [{"type": "promptString", "id": "i", "description": "", "later": 1}], "servers": {}}
- inputs.0.later: unknown field; remove it, or use one of id, description, type, default, password
{"inputs": [{"type": "pickString", "id": "i", "description": ""}], "servers": {}}
- inputs.0.options: it is missing; expected a list
{"inputs": [{"type": "pickString", "id": "i", "description": "", "options": []}], "servers": {}}
- inputs.0.options: it is empty; list at least one, or use "promptString" for any value
{"inputs": [{"type": "pickString", "id": "i", "description": "", "options": [3]}], "servers": {}}
- inputs.0.options.0: expected a text, or {"label": ..., "value": ...} with texts that are not empty
{"inputs": [{"type": "pickString", "id": "i", "description": "", "options": [{"value": "a"}]}], "servers": {}}
- inputs.0.options.0: expected a text, or {"label": ..., "value": ...} with texts that are not empty
{"inputs": [{"type": "pickString", "id": "i", "description": "", "options": [{"label": "", "value": "a"}]}], "servers": {}}
- inputs.0.options.0.label: it is empty
{"inputs": [{"type": "pickString", "id": "i", "description": "", "options": [{"label": "a", "value": ""}]}], "servers": {}}
- inputs.0.options.0.value: it is empty
{"inputs": [{"type": "pickString", "id": "i", "description": "", "options": ["eu", {"label": "U", "value": "us"}], "default": "U"}], "servers": {}}
~ inputs.0.default: it is not one of its options; use "eu" or "us"
{"inputs": [{"type": "promptString", "id": "i", "description": ""}, {"type": "promptString", "id": "i", "description": ""}], "servers": {}}
~ inputs.1.id: "i" is defined twice; ids are unique across all inputs
{"inputs": [{"type": "promptString", "id": "a-b", "description": ""}, {"type": "promptString", "id": "a_b", "description": ""}, {"type": "promptString", "id": "A-B", "description": ""}], "servers": {}}
~ inputs.1.id: "a_b" and "a-b" have the same environment variable, A2C_SMCP_a_b; rename one of them
{"servers": [{"name": "a", "type": "stdio", "server_parameters": {"command": "x"}}, {"name": "a", "type": "stdio", "server_parameters": {"command": "x"}}]}
~ servers.1: two MCP servers are named "a"; rename one, or give it a "bundle_id" of its own
[5, {"type": "stdio", "server_parameters": {"command": "x"}}]
- 0: expected an object, not a number
- 1.name: it is missing; expected a text
[{"name": "a", "type": "stdio", "server_parameters": {"command": "x"}, "forbiden_tools": []}]
~ 0.forbiden_tools: unknown field; did you mean "forbidden_tools"?
{"mcpServers": {"a": {}, "b": 5}}
- mcpServers.a.command: it is missing; expected a text
- mcpServers.b.command: it is missing; expected a text
{"mcpServers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "forbiden_tools": ["rm"]}}}
- mcpServers.a.forbiden_tools: unknown field; did you mean "forbidden_tools"?
{"mcpServers": {"a": {"serverUrl": "ftp://x"}}}
~ mcpServers.a.serverUrl: expected an http: or https: URL
{"mcpServers": {"a": {"command": "x", "args": "y"}}}
~ mcpServers.a.args: expected a list, not a text
{"mcpServers": {"a": {"command": "x", "args": [1], "env": {"A": []}, "alwaysAllow": "y", "envFile": ".env"}}}
~ mcpServers.a.envFile: envFile is not supported; move the variables to env
~ mcpServers.a.alwaysAllow: expected a list of tool names
~ mcpServers.a.args.0: expected a text, not a number
~ mcpServers.a.env.A: expected a text, not a list
{"mcpServers": {"a": {"type": "telnet", "command": "x"}}}
~ mcpServers.a.type: expected "stdio", "http" or "sse"
{"mcpServers": {"a": {"command": "x", "forbiden_tools": ["rm"]}}}
~ mcpServers.a.forbiden_tools: unknown field; did you mean "forbidden_tools"?
{"mcpServers": {"a": {"command": "x", "disabledtools": ["rm"]}}}
~ mcpServers.a.disabledtools: unknown field; did you mean "disabledTools"?
{"mcpServers": {"a": {"command": "x", "inherit_enf": false}}}
~ mcpServers.a.inherit_enf: unknown field; did you mean "inherit_env"?
{"mcpServers": {"a": {"command": "x", "bundl_id": "b"}}}
~ mcpServers.a.bundl_id: unknown field; did you mean "bundle_id"?
{"mcpServers": {"a": {"command": "x", "tool_meta": {"rm": {"auto_aply": false}}}}}
~ mcpServers.a.tool_meta.rm.auto_aply: unknown field; did you mean "auto_apply"?
{"servers": {"a": {"command": "x", "excludeTool": ["rm"]}}}
~ servers.a.excludeTool: unknown field; did you mean "excludeTools"?
{"servers": {"a": {"command": "\${config:x}"}}}
~ servers.a.command: \${config:x} is not supported here; write its value, or use \${env:NAME} or \${input:ID}
{"servers": {"a": {"command": "x", "inherit_env": "\${config:x}"}}}
~ servers.a.inherit_env: expected true or false, not a text
{"servers": {"a": {"command": "x"}, "b": 5}}
- servers.b: expected an object, not a number
`;

Deno.test("a configuration in any of its forms has no problem, and conforms to the schema", () => {
  for (const text of [...OWN, ...OTHERS]) {
    const file = JSON.parse(text);
    assertEquals(readConfig(file).problems, [], text);
    assert(conforms(file), `${text}: ${JSON.stringify(conforms.errors)}`);
  }
});

Deno.test("parseComputerConfig() lists every problem with its path and a remedy; the schema refuses the same files", () => {
  const rows = [...REFUSED.matchAll(/^([^-~].*)\n((?:[-~] .*\n)+)/gm)];
  for (const [, text = "", marked = ""] of rows) {
    const file = JSON.parse(text);
    const problems = marked.trim().split("\n").map((line) => line.slice(2));
    const error = assertThrows(
      () => parseComputerConfig(file, "my.json"),
      ConfigError,
    );
    assertEquals(
      error.message.split("\n"),
      problems.map((problem) => `my.json: ${problem.replace(/^: /, "")}`),
      text,
    );
    assertEquals(
      error.problems.map(({ path, text }) => `${path.join(".")}: ${text}`),
      problems,
    );
    assertEquals(conforms(file), marked.startsWith("~"), text);
  }
});

/** Where the reader is strict, both refuse a document with an additional or a misspelled key. */
Deno.test("the schema and the validator agree on random and misspelled documents of our own format", () => {
  const agree = (file: unknown, why: string): boolean => {
    const isValid = readConfig(file).problems.length === 0;
    assertEquals(conforms(file), isValid, `${why}: ${JSON.stringify(file)}`);
    return isValid;
  };
  const places = OWN.map((text) => JSON.parse(text)).flatMap((file) =>
    keysOf(file).filter((path) =>
      // User-defined names, and open metadata: JSON Schema cannot detect misspelled ones.
      !/^(servers\.\w+|.*(args|tool_meta|env|headers|ret_object_mapper)\..*)$/
        .test(path.join("."))
    ).map((path) => ({ file, path }))
  );
  const slip = fc.record({
    place: fc.constantFrom(...places),
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
    fc.property(slip, ({ place, at, letter, how, value }) => {
      const { path } = place;
      const file = structuredClone(place.file);
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
          /^(servers|servers\.\w+|.*\.(name|id)|inputs\.\d\.(options.*|default))$/
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
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [
    ...(Array.isArray(value) ? [] : [[...path, key]]),
    ...keysOf(item, [...path, key]),
  ]);
}

Deno.test("generated parts of docs/ are up to date: deno task docs:config", async () => {
  for (const [file, text] of await configDocs()) {
    assert(await Deno.readTextFile(file) === text, `${file.pathname} is old`);
  }
});

Deno.test("parseComputerConfigText() accepts comments, trailing commas and a byte order mark", async () => {
  const text = `\ufeff{
    // the servers
    "servers": { "a": {"type": "stdio", "server_parameters": {"command": "x"}}, /* none more */ },
  }`;
  assertEquals((await parseComputerConfigText(text, "f")).servers.length, 1);
});

Deno.test("parseComputerConfigText() leaves a VRL program with an input to the start of its server", async () => {
  const text =
    '{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"}, "vrl": ".n = ${input:n}"}}}';
  const { servers } = await parseComputerConfigText(text, "f");
  assertEquals(servers[0]?.vrl, ".n = ${input:n}");
});

Deno.test("parseComputerConfigText() reports line and column of a problem, in words about the file", async () => {
  const vrl = (program: string) =>
    `{"type": "stdio", "server_parameters": {"command": "x"}, "vrl": "${program}"}`;
  const rows: [text: string, start: string, ...parts: string[]][] = [
    ["", "1:1: Cannot read it as JSON: the file is empty"],
    [
      '{"servers": {}\n "inputs": []}',
      '2:2: Cannot read it as JSON: expected "," here, before the next item',
    ],
    ['{"servers": {}', '1:15: Cannot read it as JSON: expected "}" here'],
    ['{\n  "servers" {}\n}', "2:13: Cannot read it as JSON: "],
    ["{'servers': {}}", "1:2: Cannot read it as JSON: "],
    [
      '{\n  "servers": {\n    "a": {"type": "stdi"}\n  }\n}',
      "3:19: servers.a.type: expected ",
    ],
    [
      '{\n  "servers": {"a": {"type": "stdio"}}\n}',
      "2:20: servers.a.server_parameters: it is missing",
    ],
    [
      '{"servers": {"a": {"type": "in-process", "server": {}}}}',
      '1:28: servers.a.type: "in-process" is only for programs',
    ],
    [
      `{\n  "servers": {"good": ${vrl(".a = 1")},\n    "bad": ${
        vrl(".a = ")
      }}\n}`,
      "3:76: servers.bad.vrl: ",
      "syntax error",
      "unexpected end of program",
    ],
  ];
  for (const [text, start, ...parts] of rows) {
    const { message, problems } = await assertRejects(
      () => parseComputerConfigText(text, "f.json"),
      ConfigError,
    );
    assertEquals(message.slice(0, start.length + 7), `f.json:${start}`);
    for (const part of parts) assertStringIncludes(message, part);
    assert(!/Expected|Invalid|zod|received/.test(message), message);
    assert(problems.length <= 1, message);
  }
});

Deno.test("a duplicate key in the JSON is an error with its line and column", async () => {
  const rows = [
    [
      '{"servers": {"a": {"type": "stdio", "server_parameters": {"command": "x"},\n  "forbidden_tools": ["rm"],\n  "forbidden_tools": []}}}',
      "3:3: servers.a.forbidden_tools: duplicate key, first at 2:3; remove one of them",
    ],
    [
      '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}',
      "1:40: mcpServers.a: duplicate key, first at 1:17; remove one of them",
    ],
  ] as const;
  for (const [text, says] of rows) {
    const { message } = await assertRejects(
      () => parseComputerConfigText(text, "f.json"),
      ConfigError,
    );
    assertEquals(message, `f.json:${says}`);
  }
});

Deno.test("parseComputerConfigText() finds the workspace of a file in .vscode or .cursor", async () => {
  const text = '{"servers": {"x": {"command": "${workspaceFolder}/x"}}}';
  for (const folder of [".vscode", ".cursor", "."]) {
    const { servers: [server] } = await parseComputerConfigText(
      text,
      `/home/ann/project/${folder}/mcp.json`,
    );
    assert(server?.type === "stdio");
    assertEquals(server.server_parameters.command, "/home/ann/project/x");
  }
});

Deno.test("readConfigText() reads TOML by the file's name, and says where it is none", async () => {
  const codex =
    '[mcp_servers.a]\ncommand = "x"\n[projects."/a"]\ntrust_level = "trusted"\n';
  const { config, problems } = await readConfigText(codex, "config.toml");
  assertEquals(problems, []);
  assertEquals(config.servers.map(({ name }) => name), ["a"]);
  const none = await readConfigText('model = "m"\n', "config.toml");
  assertEquals([none.config.servers, none.problems], [[], []]);
  for (
    const [text, says] of [["a = 1\nb = [", "2:"], ["= 3", "1:1: "]] as const
  ) {
    const { message } = await assertRejects(
      () => readConfigText(text, "config.toml"),
      ConfigError,
    );
    assertStringIncludes(message, `config.toml:${says}`);
    assertStringIncludes(message, "Cannot read it as TOML: ");
  }
});

Deno.test("projectOf() takes only a folder of VS Code or Cursor that is not the user's own", () => {
  const rows = [
    ["/home/ann/project/.vscode/mcp.json", "/home/ann/project"],
    ["/home/ann/project/.cursor/mcp.json", "/home/ann/project"],
    [`${homedir()}/.cursor/mcp.json`, undefined],
    ["/home/ann/project/mcp.json", undefined],
  ] as const;
  for (const [file, project] of rows) assertEquals(projectOf(file), project);
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

Deno.test("loadComputerConfig() names UTF-16, which PowerShell writes, as the mistake", async () => {
  await using folder = await scratch();
  const file = `${folder.path}/computer.json`;
  for (
    const [name, mark] of [["little", [255, 254]], ["big", [254, 255]]] as const
  ) {
    await Deno.writeFile(file, new Uint8Array([...mark, 0x7b, 0]));
    await assertRejects(
      () => loadComputerConfig(file),
      ConfigError,
      "Cannot read the configuration: it is in UTF-16; save it as UTF-8",
      name,
    );
  }
});

Deno.test("parseOptions() accepts an MCP server in process, with the common fields, of which redactConfig() shows the name", () => {
  const server = { connect: () => Promise.resolve() };
  const type = "in-process";
  const { servers } = parseOptions({
    servers: {
      a: { type, server },
      b: { type: "stdio", server_parameters: { command: "x" } },
    },
  });
  const [local] = servers;
  assertEquals(local, {
    name: "a",
    type: "in-process",
    server,
    disabled: false,
    forbidden_tools: [],
    tool_meta: {},
  });
  const shown = redactConfig(servers, []);
  assertEquals(Object.keys(shown.servers), ["b"]);
  assertEquals(shown.other_servers, ["a"]);
  const wrong: [entry: object, path: string][] = [
    [{}, "type"],
    [{ server: { close() {} } }, "server"],
    [{ server, server_parameters: {} }, "server_parameters"],
    [{ server, toolmeta: {} }, "toolmeta"],
    [{ server, disabled: 1 }, "disabled"],
    [{ server, default_tool_meta: { alias: "x" } }, "default_tool_meta.alias"],
  ];
  for (const [entry, path] of wrong) {
    const { problems } = assertThrows(
      () => parseOptions({ servers: { a: { type, ...entry } } }),
      ConfigError,
    );
    assertEquals(
      problems.map(({ path }) => path.join(".")),
      [`servers.a.${path}`],
    );
  }

  assert(local?.type === "in-process");
  const copy = (over: object) => ({ ...local, ...over });
  const circular = { ...server, self: {} };
  const other = { ...server, self: {} };
  for (const each of [circular, other]) each.self = each;
  assertEquals(sameServerConfig(local, copy({})), true);
  assertEquals(sameServerConfig(local, copy({ disabled: true })), false);
  assertEquals(
    sameServerConfig(copy({ server: circular }), copy({ server: other })),
    false,
    "servers in process are compared by identity",
  );
  assertEquals(sameServerConfig(undefined, local), false);
});
