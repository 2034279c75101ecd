import { assert, assertEquals } from "@std/assert";
import { resolveOptions } from "../../../../mcp/options.ts";
import { Catalogue } from "../../../../mcp/tools/catalogue.ts";
import { readQuery, searchTools } from "../../../../mcp/tools/search.ts";

const table = new Catalogue(resolveOptions({}));
const tool = (name: string, description: string) => ({
  name,
  description,
  params_schema: { type: "object" },
  return_schema: null,
});
table.update(
  new Map([
    ["laptop", [
      tool("readTextFile", "Reads a file"),
      tool("echo", "Says it again, does not read"),
    ]],
    ["nas", [tool("list_files", "Lists what is there")]],
  ]),
);

const found = (args: Record<string, unknown>) => {
  const query = readQuery(args);
  assert(typeof query !== "string", String(query));
  return searchTools(table.tools, query);
};
const namesOf = (args: Record<string, unknown>) =>
  found(args).tools.map(({ name }) => name);

Deno.test("searchTools() finds words of names before those of descriptions", () => {
  assertEquals(namesOf({ query: "read" }), [
    "laptop__readTextFile",
    "laptop__echo",
  ]);
  assertEquals(namesOf({ query: "file" }), [
    "laptop__readTextFile",
    "nas__list_files",
  ]);
  assertEquals(namesOf({ query: "nothing-like-this" }), []);
});

Deno.test("searchTools() lists all without words, of one Computer where asked, and no more than wanted", () => {
  assertEquals(namesOf({ query: "" }).length, 3);
  assertEquals(namesOf({ query: "", computer: "nas" }), ["nas__list_files"]);
  const { total, tools } = found({ query: "", limit: 1 });
  assertEquals([total, tools.length], [3, 1]);
  assertEquals(tools[0]?.inputSchema, { type: "object" });
});

Deno.test("readQuery() says which argument is wrong", () => {
  const wrong = [
    [{ query: 1 }, "query: "],
    [{ query: "", computer: 1 }, "computer: "],
    [{ query: "", limit: 0 }, "limit: "],
    [{ query: "", limit: 51 }, "limit: "],
  ] as const;
  for (const [args, start] of wrong) {
    const answer = readQuery(args);
    assert(typeof answer === "string" && answer.startsWith(start));
  }
});
