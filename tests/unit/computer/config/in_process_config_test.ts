import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ConfigError } from "../../../../computer/mod.ts";
import { parseComputerConfigText } from "../../../../computer/config/load_config.ts";
import { parseOptions } from "../../../../computer/config/parse_config.ts";
import { redactConfig } from "../../../../computer/config/redact.ts";
import { sameServerConfig } from "../../../../computer/config/server_config.ts";

const server = { connect: () => Promise.resolve() };
const [local] = parseOptions({
  servers: { a: { type: "in-process", server } },
}).servers;

Deno.test("a file cannot have an MCP server in process, whatever its fields", async () => {
  for (const more of ["", ', "server": {}', ', "server": "./server.ts"']) {
    const text = `{"servers": {"a": {"type": "in-process"${more}}}}`;
    const { problems } = await assertRejects(
      () => parseComputerConfigText(text, "my.json"),
      ConfigError,
      'my.json:1:28: servers.a.type: "in-process" is only for programs',
    );
    assertEquals(problems.length, 1);
  }
});

Deno.test("parseOptions() accepts an MCP server in process, with the common fields", () => {
  assertEquals(local, {
    name: "a",
    type: "in-process",
    server,
    disabled: false,
    forbidden_tools: [],
    tool_meta: {},
  });
  const { problems } = assertThrows(
    () =>
      parseOptions({
        servers: {
          none: { type: "in-process" },
          other: { type: "in-process", server: { close() {} } },
          both: { type: "in-process", server, server_parameters: {} },
          slip: { type: "in-process", server, toolmeta: {} },
          kind: { type: "in-process", server, disabled: 1 },
        },
      }),
    ConfigError,
  );
  assertEquals(problems.map(({ path }) => path.join(".")), [
    "servers.none.type",
    "servers.other.server",
    "servers.both.server_parameters",
    "servers.slip.toolmeta",
    "servers.kind.disabled",
  ]);
});

Deno.test("redactConfig() leaves MCP servers in process out, and shows the rest", () => {
  const { servers } = parseOptions({
    servers: {
      a: { type: "in-process", server },
      b: { type: "stdio", server_parameters: { command: "x" } },
    },
  });
  assertEquals(Object.keys(redactConfig(servers, []).servers), ["b"]);
});

Deno.test("sameServerConfig() compares MCP servers in process by identity", () => {
  assertEquals(local?.type, "in-process");
  if (local?.type !== "in-process") return;
  const [circular, other] = [{ ...server, self: {} }, { ...server, self: {} }];
  for (const each of [circular, other]) each.self = each;
  assertEquals(sameServerConfig(local, { ...local }), true);
  assertEquals(sameServerConfig(local, { ...local, disabled: true }), false);
  assertEquals(
    sameServerConfig({ ...local, server: circular }, {
      ...local,
      server: other,
    }),
    false,
  );
  assertEquals(sameServerConfig(undefined, local), false);
});
