import { assertEquals } from "@std/assert";
import {
  malformedTags,
  toSMCPTool,
} from "../../../../computer/host/tool_meta.ts";
import { nameTools } from "../../../../computer/host/tool_naming.ts";
import { mcpTool, serverView } from "../../../support/computer/server_view.ts";

/** What Agents see of a declaration, the four keys in the order of the protocol. */
const shown = (declared: unknown, config: Record<string, unknown> = {}) => {
  const tool = mcpTool("x", {
    meta: declared === undefined ? {} : { a2c_tool_meta: declared },
  });
  const { offers } = nameTools([serverView("a", [tool], config)]);
  const [{ meta } = { meta: undefined }] = [...offers.values()].map(toSMCPTool);
  const text = meta?.a2c_tool_meta;
  return text === undefined ? undefined : Object.values(JSON.parse(`${text}`));
};

Deno.test("0.4 §8.1: tags that an MCP server declares are taken, and nothing else of its declaration", () => {
  const declared = {
    tags: ["declared"],
    auto_apply: true,
    alias: "forged",
    ret_object_mapper: {},
  };
  assertEquals(shown(declared), [null, null, ["declared"], null]);
  assertEquals(
    shown(declared, { default_tool_meta: { auto_apply: true } }),
    [true, null, ["declared"], null],
  );
});

Deno.test("0.4 §8.1: configured tags replace declared ones; null inherits, and an empty list clears", () => {
  const declared = { tags: ["declared"] };
  const rows: [config: Record<string, unknown>, tags: unknown][] = [
    [{ tool_meta: { x: { tags: ["own"] } } }, ["own"]],
    [{ default_tool_meta: { tags: ["all"] } }, ["all"]],
    [{ tool_meta: { x: { tags: null } } }, ["declared"]],
    [{ tool_meta: { x: { tags: [] } } }, []],
    [{ default_tool_meta: { tags: [] } }, []],
    [{
      tool_meta: { x: { tags: ["own"] } },
      default_tool_meta: { tags: ["all"] },
    }, ["own"]],
  ];
  for (const [config, tags] of rows) {
    assertEquals(shown(declared, config)?.[2], tags, JSON.stringify(config));
  }
});

Deno.test("0.4 §8.1: a valid declaration without tags is written, a malformed one is not", () => {
  assertEquals(shown({}), [null, null, null, null]);
  assertEquals(shown({ tags: null }), [null, null, null, null]);
  assertEquals(shown(undefined), undefined);
  const malformed = [
    null,
    "tags",
    ["tags"],
    3,
    '{"tags":["a"]}',
    { tags: "a" },
    { tags: ["a", 1] },
    { tags: {} },
  ];
  for (const declared of malformed) {
    const why = JSON.stringify(declared);
    assertEquals(shown(declared), undefined, why);
    assertEquals(
      shown(declared, { tool_meta: { x: { auto_apply: false } } }),
      [false, null, null, null],
      why,
    );
  }
});

Deno.test("0.4 §8.1: malformed declarations of a server are one warning", () => {
  const bad = (name: string) =>
    mcpTool(name, { meta: { a2c_tool_meta: { tags: 1 } } });
  assertEquals(malformedTags([mcpTool("a")]), undefined);
  assertEquals(
    malformedTags([bad("a"), mcpTool("b"), bad("c")]),
    'its a2c_tool_meta of tool "a", and of 1 more is ignored; expected an object whose tags are a list of texts',
  );
});
