import { assertEquals } from "@std/assert";
import { diffConfigs } from "../../../../computer/config/diff_configs.ts";
import { parseComputerConfig } from "../../../../computer/config/parse_config.ts";

const stdio = (...args: string[]) => ({
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
      { servers: { same: stdio(), gone: stdio(), changed: stdio("1") } },
      { servers: { new: stdio(), changed: stdio("2"), same: stdio() } },
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
    a: stdio("${input:one}"),
    b: stdio("${input:two}"),
    c: stdio(),
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
