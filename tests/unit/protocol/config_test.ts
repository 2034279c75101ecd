import { assert, assertEquals, assertThrows } from "@std/assert";
import { parseMCPServerConfig } from "../../../protocol/payloads/config_file.ts";
import { ProtocolError } from "../../../protocol/errors.ts";

const BASE = {
  disabled: false,
  forbidden_tools: [],
  tool_meta: {},
};

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
      env: { TOKEN: "${input:token}" },
      cwd: "/srv",
      encoding: "latin1",
      encoding_error_handler: "replace",
    },
    later: { field: true },
  },
  {
    name: "web",
    type: "streamable",
    ...BASE,
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
    name: "old",
    type: "sse",
    ...BASE,
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

/** Asserts 400 that names exactly this path, in words and in data. */
function assertFault(config: unknown, path: string): string {
  const at = JSON.stringify(config);
  const error = assertThrows(
    () => parseMCPServerConfig(config),
    ProtocolError,
    "",
    at,
  );
  assertEquals(error.code, 400, at);
  assertEquals(error.details, { fields: [path] }, at);
  assert(error.message.includes(`${path}: `), error.message);
  return error.message;
}

Deno.test("parseMCPServerConfig() fills in the defaults of every type", () => {
  assertEquals<unknown>(parseMCPServerConfig(MINIMAL.stdio), {
    ...BASE,
    name: "files",
    type: "stdio",
    server_parameters: {
      command: "npx",
      args: [],
      env: null,
      cwd: null,
      encoding: "utf-8",
      encoding_error_handler: "strict",
    },
  });
  assertEquals<unknown>(parseMCPServerConfig(MINIMAL.streamable), {
    ...BASE,
    name: "web",
    type: "streamable",
    server_parameters: {
      url: "https://example.com/mcp",
      headers: null,
      timeout: "PT30S",
      sse_read_timeout: "PT300S",
      terminate_on_close: true,
    },
  });
  assertEquals<unknown>(parseMCPServerConfig(MINIMAL.sse), {
    ...BASE,
    name: "old",
    type: "sse",
    server_parameters: {
      url: "http://127.0.0.1:3001/sse",
      headers: null,
      timeout: 5,
      sse_read_timeout: 300,
    },
  });
});

Deno.test("parseMCPServerConfig() keeps what is written, fields of later versions included", () => {
  for (const config of FULL) {
    assertEquals<unknown>(parseMCPServerConfig(config), config);
    assertEquals<unknown>(
      parseMCPServerConfig(parseMCPServerConfig(config)),
      config,
    );
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
    const message = assertFault(config, "default_tool_meta.alias");
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
      assertFault({ ...kind, ...change }, path);
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
    assertFault(
      withParameters("stdio", parameters),
      `server_parameters.${field}`,
    );
  }
});

Deno.test("parseMCPServerConfig() wants a valid http or https URL", () => {
  const urls = [
    undefined,
    null,
    "",
    "example.com",
    "ftp://example.com",
    "file:///etc/passwd",
    "http:",
    "http:/example.com",
    "http://",
    "http:///path",
    "http://?q",
    "http://exa mple.com",
    "http://h:99999",
    1,
  ];
  for (const url of urls) {
    for (const kind of ["streamable", "sse"] as const) {
      assertFault(withParameters(kind, { url }), "server_parameters.url");
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
      assertFault(
        withParameters("streamable", { [name]: value }),
        `server_parameters.${name}`,
      );
    }
    for (const value of ["PT30S", "30", 0, -1, NaN, Infinity, null]) {
      assertFault(
        withParameters("sse", { [name]: value }),
        `server_parameters.${name}`,
      );
    }
  }
});

Deno.test("parseMCPServerConfig() names what is wrong with headers and the end of a session", () => {
  for (const kind of ["streamable", "sse"] as const) {
    const headers = "server_parameters.headers";
    assertFault(withParameters(kind, { headers: "a: b" }), headers);
    assertFault(withParameters(kind, { headers: { a: null } }), `${headers}.a`);
    assertFault(withParameters(kind, { headers: { a: [] } }), `${headers}.a`);
  }
  assertFault(
    withParameters("streamable", { terminate_on_close: "no" }),
    "server_parameters.terminate_on_close",
  );
});

Deno.test("parseMCPServerConfig() refuses everything that is no object", () => {
  for (const config of [undefined, null, "", 1, [], [MINIMAL.stdio]]) {
    assertFault(config, "payload");
  }
});
