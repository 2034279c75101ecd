import { assert, assertEquals, assertThrows } from "@std/assert";
import { ProtocolError } from "../../../protocol/errors.ts";
import {
  parseMCPServerConfig,
  parseMCPServerInputs,
} from "../../../protocol/payloads/config_file.ts";

const BASE = { disabled: false, forbidden_tools: [], tool_meta: {} };

const MINIMAL = {
  stdio: {
    name: "files",
    type: "stdio",
    server_parameters: { command: "npx" },
  },
  streamable: {
    name: "web",
    type: "streamable",
    server_parameters: { url: "https://example.com/mcp" },
  },
  sse: {
    name: "old",
    type: "sse",
    server_parameters: { url: "http://127.0.0.1:3001/sse" },
  },
};

/** The parameters that each type has by default. */
const DEFAULTS = {
  stdio: {
    args: [],
    env: null,
    cwd: null,
    encoding: "utf-8",
    encoding_error_handler: "strict",
  },
  streamable: {
    headers: null,
    timeout: "PT30S",
    sse_read_timeout: "PT300S",
    terminate_on_close: true,
  },
  sse: { headers: null, timeout: 5, sse_read_timeout: 300 },
};

const FULL = [
  {
    name: "files",
    type: "stdio",
    disabled: true,
    forbidden_tools: ["rm"],
    tool_meta: {
      read: { alias: "read_file", auto_apply: true, tags: ["fs"] },
      write: { ret_object_mapper: { a: "b" }, auto_apply: null, later: 1 },
    },
    default_tool_meta: { auto_apply: false, alias: null },
    vrl: ".a = 1",
    server_parameters: {
      command: "npx",
      args: ["-y", "server"],
      cwd: "/srv",
      env: { TOKEN: "${input:token}" },
      encoding: "latin1",
      encoding_error_handler: "replace",
    },
    later: { field: true },
  },
  {
    ...BASE,
    name: "web",
    type: "streamable",
    default_tool_meta: null,
    vrl: null,
    server_parameters: {
      url: "http://localhost/mcp?x=1",
      headers: { authorization: "Bearer x", "x-n": 1, "x-b": true },
      timeout: "PT1M",
      sse_read_timeout: "PT0.5S",
      terminate_on_close: false,
    },
  },
  {
    ...BASE,
    name: "old",
    type: "sse",
    server_parameters: {
      url: "https://h/sse",
      headers: null,
      timeout: 0.5,
      sse_read_timeout: 600,
    },
  },
];

type Kind = keyof typeof MINIMAL;

const withParameters = (kind: Kind, parameters: object): object => ({
  ...MINIMAL[kind],
  server_parameters: { ...MINIMAL[kind].server_parameters, ...parameters },
});

/** Asserts 400 that names exactly these paths, in words and in data. */
function assertFault(
  parse: (data: unknown) => unknown,
  data: unknown,
  ...paths: string[]
): string {
  const at = JSON.stringify(data);
  const error = assertThrows(() => parse(data), ProtocolError, "", at);
  assertEquals([error.code, error.details], [400, { fields: paths }], at);
  for (const path of paths) {
    assert(error.message.includes(`${path}: `), error.message);
  }
  return error.message;
}

const refused = (config: unknown, path: string) =>
  assertFault(parseMCPServerConfig, config, path);

Deno.test("parseMCPServerConfig() fills in the defaults of every type", () => {
  for (const kind of ["stdio", "streamable", "sse"] as const) {
    assertEquals<unknown>(parseMCPServerConfig(MINIMAL[kind]), {
      ...BASE,
      ...withParameters(kind, DEFAULTS[kind]),
    });
  }
});

Deno.test("parseMCPServerConfig() keeps what is written, fields of later versions included", () => {
  for (const config of FULL) {
    assertEquals<unknown>(parseMCPServerConfig(config), config);
  }
});

Deno.test("parseMCPServerConfig() shares no default between two configurations", () => {
  const first = parseMCPServerConfig(MINIMAL.stdio);
  first.forbidden_tools.push("rm");
  first.tool_meta.rm = { alias: "delete" };
  const second = parseMCPServerConfig(MINIMAL.stdio);
  assertEquals([second.forbidden_tools, second.tool_meta], [[], {}]);
});

Deno.test("parseMCPServerConfig() takes http as another word for streamable", () => {
  const config = parseMCPServerConfig({ ...MINIMAL.streamable, type: "http" });
  assertEquals(config, parseMCPServerConfig(MINIMAL.streamable));
});

Deno.test("parseMCPServerConfig() refuses an alias in default_tool_meta, and names its path", () => {
  for (const kind of Object.values(MINIMAL)) {
    const config = { ...kind, default_tool_meta: { alias: "everything" } };
    const message = refused(config, "default_tool_meta.alias");
    assert(message.includes("tool_meta instead"), message);
  }
});

Deno.test("parseMCPServerConfig() names what is wrong with the parts common to all types", () => {
  for (const kind of Object.values(MINIMAL)) {
    const faults: [change: object, path: string][] = [
      [{ name: undefined }, "name"],
      [{ name: 5 }, "name"],
      [{ name: "x".repeat(257) }, "name"],
      [{ type: undefined }, "type"],
      [{ type: "ftp" }, "type"],
      [{ type: "STDIO" }, "type"],
      [{ disabled: "yes" }, "disabled"],
      [{ disabled: null }, "disabled"],
      [{ forbidden_tools: "rm" }, "forbidden_tools"],
      [{ forbidden_tools: [1] }, "forbidden_tools.0"],
      [{ tool_meta: [] }, "tool_meta"],
      [{ tool_meta: { a: { alias: "" } } }, "tool_meta.a.alias"],
      [{ tool_meta: { a: { alias: 1 } } }, "tool_meta.a.alias"],
      [{ tool_meta: { a: { auto_apply: 1 } } }, "tool_meta.a.auto_apply"],
      [{ tool_meta: { a: { tags: "x" } } }, "tool_meta.a.tags"],
      [
        { tool_meta: { a: { ret_object_mapper: [] } } },
        "tool_meta.a.ret_object_mapper",
      ],
      [{ default_tool_meta: [] }, "default_tool_meta"],
      [{ vrl: 1 }, "vrl"],
      [{ server_parameters: undefined }, "server_parameters"],
      [{ server_parameters: [] }, "server_parameters"],
    ];
    for (const [change, path] of faults) {
      refused({ ...kind, ...change }, path);
    }
  }
});

Deno.test("parseMCPServerConfig() wants a command for stdio, and names what is wrong beside it", () => {
  const faults: [parameters: object, field: string][] = [
    [{ command: undefined }, "command"],
    [{ command: "" }, "command"],
    [{ command: ["npx"] }, "command"],
    [{ args: "-y" }, "args"],
    [{ args: [1] }, "args.0"],
    [{ env: { A: 1 } }, "env.A"],
    [{ env: [] }, "env"],
    [{ cwd: 1 }, "cwd"],
    [{ encoding: null }, "encoding"],
    [{ encoding_error_handler: "xmlcharrefreplace" }, "encoding_error_handler"],
  ];
  for (const [parameters, field] of faults) {
    refused(
      withParameters("stdio", parameters),
      `server_parameters.${field}`,
    );
  }
});

Deno.test("parseMCPServerConfig() wants a valid http or https URL", () => {
  const urls = [
    ...[undefined, null, "", 1, "example.com", "ftp://example.com"],
    ...["file:///etc/passwd", "http:", "http:/example.com", "http://"],
    ...["http:///path", "http://?q", "http://exa mple.com", "http://h:99999"],
  ];
  for (const url of urls) {
    for (const kind of ["streamable", "sse"] as const) {
      refused(withParameters(kind, { url }), "server_parameters.url");
    }
  }
});

Deno.test("parseMCPServerConfig() leaves placeholders for the start of the server", () => {
  const urls = ["${input:base}/mcp", "https://${input:host}/mcp"];
  for (const url of urls) {
    for (const kind of ["streamable", "sse"] as const) {
      const config = withParameters(kind, { url });
      const { server_parameters } = parseMCPServerConfig(config);
      assertEquals("url" in server_parameters && server_parameters.url, url);
    }
  }
  const timed = withParameters("streamable", { timeout: "${input:timeout}" });
  assertEquals(parseMCPServerConfig(timed).type, "streamable");
});

Deno.test("parseMCPServerConfig() wants durations for streamable, and seconds for sse", () => {
  for (const name of ["timeout", "sse_read_timeout"]) {
    for (const value of [30, "30", "PT", "PT0S", "P1Y", "", null]) {
      refused(
        withParameters("streamable", { [name]: value }),
        `server_parameters.${name}`,
      );
    }
    for (const value of ["PT30S", "30", 0, -1, NaN, Infinity, null]) {
      refused(
        withParameters("sse", { [name]: value }),
        `server_parameters.${name}`,
      );
    }
  }
});

Deno.test("parseMCPServerConfig() names what is wrong with headers and the end of a session", () => {
  for (const kind of ["streamable", "sse"] as const) {
    const headers = "server_parameters.headers";
    refused(withParameters(kind, { headers: "a: b" }), headers);
    refused(withParameters(kind, { headers: { a: null } }), `${headers}.a`);
    refused(withParameters(kind, { headers: { a: [] } }), `${headers}.a`);
  }
  refused(
    withParameters("streamable", { terminate_on_close: "no" }),
    "server_parameters.terminate_on_close",
  );
});

Deno.test("parseMCPServerConfig() refuses everything that is no object", () => {
  for (const config of [undefined, null, "", 1, [], [MINIMAL.stdio]]) {
    refused(config, "payload");
  }
});

const prompt = { type: "promptString", id: "key", description: "the key" };
const pick = {
  type: "pickString",
  id: "region",
  description: "where",
  options: ["eu", "us"],
};
const command = {
  type: "command",
  id: "branch",
  description: "of the work tree",
  command: "git",
};

Deno.test("parseMCPServerInputs() takes the three types as they are written", () => {
  const inputs = [
    prompt,
    { ...prompt, id: "key2", default: "x", password: true, later: [1] },
    { ...prompt, id: "key3", default: null, password: null },
    pick,
    { ...pick, id: "region2", default: "eu", options: [] },
    command,
    { ...command, id: "branch2", args: ["rev-parse", "HEAD"] },
    { ...command, id: "branch3", args: { depth: "1" } },
    { ...command, id: "branch4", args: null },
  ];
  assertEquals<unknown>(parseMCPServerInputs(inputs), inputs);
  assertEquals(parseMCPServerInputs([]), []);
});

Deno.test("parseMCPServerInputs() refuses an id that is defined twice, across types", () => {
  const inputs = [
    prompt,
    pick,
    ...[command, pick].map((input) => ({
      ...input,
      id: "key",
    })),
  ];
  const message = assertFault(parseMCPServerInputs, inputs, "2.id", "3.id");
  assert(message.includes('"key" is defined twice'), message);
});

Deno.test("parseMCPServerInputs() tells ids apart that only look like Object's own", () => {
  const ids = ["constructor", "__proto__", "toString", "Key", "key"];
  const inputs = ids.map((id) => ({ ...prompt, id }));
  assertEquals(parseMCPServerInputs(inputs).map(({ id }) => id), ids);
});

Deno.test("parseMCPServerInputs() names what is wrong", () => {
  const faults: [input: unknown, path: string][] = [
    [{ ...prompt, type: "password" }, "0.type"],
    [{ ...prompt, id: "" }, "0.id"],
    [{ ...prompt, id: 1 }, "0.id"],
    [{ ...prompt, description: undefined }, "0.description"],
    [{ ...prompt, default: 1 }, "0.default"],
    [{ ...prompt, password: "yes" }, "0.password"],
    [{ ...pick, options: undefined }, "0.options"],
    [{ ...pick, options: [1] }, "0.options.0"],
    [{ ...pick, options: "eu" }, "0.options"],
    [{ ...command, command: "" }, "0.command"],
    [{ ...command, command: undefined }, "0.command"],
    [{ ...command, args: "HEAD" }, "0.args"],
    ["key", "0"],
  ];
  for (const [input, path] of faults) {
    assertFault(parseMCPServerInputs, [input], path);
  }
  assertThrows(() => parseMCPServerInputs({ key: prompt }), ProtocolError);
});
