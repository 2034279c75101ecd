import {
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { ConfigError, loadComputerConfig } from "../../../../computer/mod.ts";
import { parseComputerConfigText } from "../../../../computer/config/load_config.ts";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";
import { placeholderIds } from "../../../../computer/util/inputs.ts";

const stdio = { type: "stdio", server_parameters: { command: "x" } };

Deno.test("parseComputerConfig() accepts servers as a map by name, or as a list", () => {
  const names = (servers: unknown) =>
    parseComputerConfig({ servers }).servers.map(({ name }) => name);
  assertEquals(names({ a: stdio, b: { ...stdio, name: "b" } }), ["a", "b"]);
  assertEquals(names([{ ...stdio, name: "a" }]), ["a"]);
  assertEquals(names([]), []);
});

Deno.test("parseComputerConfig() lists every problem with its path and a remedy", () => {
  const error = assertThrows(() =>
    parseComputerConfig({
      inputs: [
        { type: "promptString", id: "a", description: "" },
        { type: "promptString", id: "a", description: "" },
        { type: "guess", id: "b", description: "" },
      ],
      servers: {
        key: { ...stdio, name: "other" },
        kind: { type: "telnet", server_parameters: {} },
        url: { type: "http", server_parameters: { url: "ftp://x" } },
        alias: { ...stdio, default_tool_meta: { alias: "x" } },
        command: { type: "stdio", server_parameters: {} },
      },
    }, "my.json"), ConfigError);
  const paths = error.problems.map(({ path }) => path.join("."));
  assertEquals(paths, [
    "inputs.2.type",
    "servers.key.name",
    "servers.kind.type",
    "servers.url.server_parameters.url",
    "servers.alias.default_tool_meta.alias",
    "servers.command.server_parameters.command",
  ]);
  for (
    const part of ['key "key"', '"stdio", "streamable"', "http:", "my.json"]
  ) {
    assertStringIncludes(error.message, part);
  }
});

Deno.test("parseComputerConfig() refuses duplicate names, and anything without servers", () => {
  const wrong: [unknown, string][] = [
    [{ servers: [{ ...stdio, name: "a" }, { ...stdio, name: "a" }] }, '"a"'],
    [{
      inputs: [{ type: "promptString", id: "i", description: "" }, {
        type: "promptString",
        id: "i",
        description: "",
      }],
      servers: {},
    }, '"i"'],
    [{}, "servers"],
    [{ servers: "x" }, "servers"],
    [null, "servers"],
    [5, "servers"],
  ];
  for (const [data, part] of wrong) {
    const error = assertThrows(() => parseComputerConfig(data), ConfigError);
    assertStringIncludes(error.message, part);
  }
});

Deno.test("parseComputerConfigText() accepts comments, trailing commas and a byte order mark", async () => {
  const text = `\ufeff{
    // the servers
    "servers": { "a": ${JSON.stringify(stdio)}, /* none more */ },
  }`;
  assertEquals((await parseComputerConfigText(text, "f")).servers.length, 1);
});

Deno.test("parseComputerConfigText() reports line and column of a problem", async () => {
  const rows: [string, string][] = [
    [
      '{\n  "servers": {\n    "a": {"type": "stdi"}\n  }\n}',
      "f.json:3:19: servers.a.type",
    ],
    [
      '{\n  "servers": {"a": {"type": "stdio"}}\n}',
      "f.json:2:20: servers.a.server_parameters",
    ],
    ['{\n  "servers" {}\n}', "f.json:2:13: Cannot read it as JSON"],
    ["", "f.json:1:1: Cannot read it as JSON"],
  ];
  for (const [text, start] of rows) {
    const error = await assertRejects(
      () => parseComputerConfigText(text, "f.json"),
      ConfigError,
    );
    assertEquals(error.message.slice(0, start.length), start);
  }
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

Deno.test("placeholderIds() finds every placeholder, in any string at any depth", () => {
  assertEquals(
    placeholderIds({
      a: "${input:one}",
      b: ["x${input:two}y${input:one}", { c: "${input:three words}" }],
      d: 5,
      e: null,
      f: "${env:HOME} $input:no} ${input}",
    }),
    ["one", "two", "three words"],
  );
});
