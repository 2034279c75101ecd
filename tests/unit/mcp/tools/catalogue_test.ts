import fc from "fast-check";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { narrowOptions, resolveOptions } from "../../../../mcp/options.ts";
import { Catalogue, toolFilter } from "../../../../mcp/tools/catalogue.ts";
import { toolName } from "../../../../mcp/tools/names.ts";
import type { SMCPTool } from "../../../../protocol/mod.ts";

const tool = (name: string, over: Partial<SMCPTool> = {}): SMCPTool => ({
  name,
  description: `does ${name}`,
  params_schema: { type: "object" },
  return_schema: null,
  ...over,
});

const catalogue = (options: Parameters<typeof resolveOptions>[0] = {}) =>
  new Catalogue(resolveOptions(options));

const office = (
  tools: Record<string, readonly SMCPTool[]>,
): Map<string, readonly SMCPTool[]> => new Map(Object.entries(tools));

const namesOf = ({ tools }: Catalogue) => tools.map(({ shown }) => shown.name);

Deno.test("Catalogue lists by Computer, and leads back from a name to its tool", () => {
  const table = catalogue();
  assert(table.update(office({ b: [tool("y"), tool("x")], a: [tool("z")] })));
  assertEquals(namesOf(table), ["a__z", "b__y", "b__x"]);
  assertEquals(table.computers, ["a", "b"]);
  const found = table.find("b__x");
  assert(found?.kind === "offered");
  assertEquals([found.computer, found.tool], ["b", "x"]);
  assertEquals(table.find("b__unknown"), undefined);
});

Deno.test("Catalogue says since when a tool or its Computer is away, until it is back", () => {
  const table = catalogue();
  const [then, later] = [new Date(1000), new Date(2000)];
  table.update(office({ a: [tool("x"), tool("y")] }), new Date(0));
  table.update(office({ a: [tool("x")] }), then);
  const gone = {
    kind: "away",
    computer: "a",
    tool: "y",
    since: then,
    hasLeft: false,
  } as const;
  assertEquals(table.find("a__y"), gone);
  table.update(office({}), later);
  assertEquals(table.find("a__y"), { ...gone, hasLeft: true });
  assertEquals(table.find("a__x"), {
    ...gone,
    tool: "x",
    since: later,
    hasLeft: true,
  });
  table.update(office({ a: [tool("x")] }));
  assertEquals(table.find("a__x")?.kind, "offered");
});

Deno.test("Catalogue.update() tells whether clients see something else", () => {
  const table = catalogue({ exclude: ["*__hidden"] });
  assert(!table.update(office({ a: [] })));
  assert(table.update(office({ a: [tool("x")] })));
  assert(!table.update(office({ a: [tool("x")] })), "an equal list");
  assert(!table.update(office({ a: [tool("x"), tool("hidden")] })));
  assert(table.update(office({ a: [tool("x", { description: "new" })] })));
  assert(table.update(office({})));
  assert(!table.update(office({})));
});

Deno.test("Catalogue shows one Computer without a prefix", () => {
  const table = catalogue({ computer: "a" });
  table.update(office({ a: [tool("x")], b: [tool("y")] }));
  assertEquals(namesOf(table), ["x"]);
  assertEquals(table.tools[0]?.shown.description, "does x");
});

Deno.test("Catalogue filters by name and by tag", () => {
  const tagged = tool("safe", {
    meta: { a2c_tool_meta: JSON.stringify({ tags: ["ok"] }) },
  });
  const all = office({ a: [tool("x"), tagged], b: [tool("x")] });
  const shown = (options: Parameters<typeof catalogue>[0]) => {
    const table = catalogue(options);
    table.update(all);
    return namesOf(table);
  };
  assertEquals(shown({ include: ["a__*"] }), ["a__x", "a__safe"]);
  assertEquals(shown({ include: ["tag:ok"] }), ["a__safe"]);
  assertEquals(shown({ exclude: ["*__x"] }), ["a__safe"]);
  assertEquals(shown({ include: ["a__*"], exclude: ["tag:ok"] }), ["a__x"]);
});

Deno.test("Catalogue gives no name that a client may hold to another tool, even in a clash", () => {
  // "a b" is shown as a_b-HASH; somebody calls a Computer just that.
  const name = toolName({ computer: "a b", tool: "x" }, {
    limit: 48,
    prefix: true,
  });
  const imitator = name.split("__")[0] ?? "";
  const table = catalogue();
  table.update(office({ "a b": [tool("x")] }));
  table.update(office({ "a b": [tool("x")], [imitator]: [tool("x")] }));
  assertEquals(new Set(namesOf(table)).size, 2);
  table.update(office({ [imitator]: [tool("x")] }));
  assertEquals(table.find(name)?.kind, "away");
  assertEquals(table.find(name)?.computer, "a b");
});

Deno.test("0.4 §3.5: Catalogue leaves a long bundle_id out of a name, and tells the tools of two servers apart", () => {
  const owners = ["github-enterprise-server-1", "github-enterprise-server-2"];
  const tools = owners.map((bundle_id) => ({
    ...tool(`${bundle_id}__create_pull_request`),
    bundle_id,
  }));
  const shown = (list: SMCPTool[]) => {
    const table = catalogue();
    table.update(office({ laptop: list }));
    return new Map(table.tools.map((one) => [one.tool, one.shown.name]));
  };
  const names = shown(tools);
  assertEquals(new Set(names.values()).size, 2);
  for (const name of names.values()) {
    assert(/^laptop__create_pull_request_[0-9a-v]{6}$/.test(name), name);
  }
  const other = shown(tools.toReversed());
  for (const [own, name] of names) assertEquals(other.get(own), name);
});

const of = (bundle_id: string, name: string): SMCPTool =>
  tool(`${bundle_id}__${name}`, { bundle_id });

Deno.test("0.4 §3.5: Catalogue shows a tool by the Computer's name and its own where that is unique, and takes the whole name too", () => {
  const table = catalogue();
  const list = [of("files", "read"), of("docs", "read"), of("docs", "list")];
  table.update(office({ laptop: list, pc: [of("files", "read")] }));
  assertEquals(namesOf(table), [
    "laptop__files__read",
    "laptop__docs__read",
    "laptop__list",
    "pc__read",
  ]);
  for (const name of ["laptop__list", "laptop__docs__list"]) {
    const found = table.find(name);
    assertEquals([found?.kind, found?.tool], ["offered", "docs__list"], name);
  }
  assertEquals(table.find("laptop__read"), undefined);
  const alone = catalogue({ computer: "laptop" });
  alone.update(office({ laptop: list }));
  assertEquals(namesOf(alone), ["files__read", "docs__read", "list"]);
});

Deno.test("0.4 §3.5: no own name of Catalogue is the whole one of another tool", () => {
  const table = catalogue();
  table.update(office({ pc: [of("c", "a__b"), of("a", "b")] }));
  assertEquals(namesOf(table), ["pc__c__a__b", "pc__b"]);
  assertEquals(table.find("pc__a__b")?.tool, "a__b");
});

Deno.test("Catalogue keeps a tool's name, whatever comes to have the same own name", () => {
  const table = catalogue();
  const [files, docs] = [of("files", "read"), of("docs", "read")];
  table.update(office({ pc: [files] }));
  assertEquals(namesOf(table), ["pc__read"]);
  table.update(office({ pc: [docs, files] }));
  assertEquals(namesOf(table), ["pc__docs__read", "pc__read"]);
  table.update(office({ pc: [docs] }));
  assertEquals(namesOf(table), ["pc__docs__read"]);
  const away = table.find("pc__read");
  assertEquals([away?.kind, away?.tool], ["away", "files__read"]);
  assertEquals(table.find("pc__files__read")?.kind, "away");
});

Deno.test("Catalogue includes by the names that it gives, and excludes by all that a tool could have", () => {
  const [files, docs] = [of("files", "rm"), of("docs", "rm")];
  const shown = (
    options: Parameters<typeof catalogue>[0],
    list = [files, docs],
  ) => {
    const table = catalogue(options);
    table.update(office({ pc: list }));
    return namesOf(table);
  };
  assertEquals(shown({ exclude: ["pc__rm"] }), []);
  assertEquals(shown({ exclude: ["pc__files__*"] }), ["pc__docs__rm"]);
  assertEquals(shown({ exclude: ["pc__files__*"] }, [files]), []);
  assertEquals(shown({ include: ["pc__rm"] }, [files]), ["pc__rm"]);
  assertEquals(shown({ include: ["pc__files__*"] }, [files]), ["pc__rm"]);
  assertEquals(shown({ include: ["pc__rm"] }), []);
  const within = resolveOptions({ include: ["pc__rm"], exclude: ["*__list"] });
  const view = new Catalogue(narrowOptions(within, { nameLimit: 24 }));
  view.update(office({ pc: [files, of("files", "list")] }));
  assertEquals(namesOf(view), ["pc__rm"]);
  view.update(office({ pc: [docs, files] }));
  assertEquals(namesOf(view), ["pc__rm"]);
});

Deno.test("Catalogue never gives a name another meaning, in random histories of Computers and MCP servers", () => {
  const some = fc.uniqueArray(
    fc.tuple(
      fc.constantFrom("a", "b", "a__b", "x".repeat(30)),
      fc.constantFrom("r", "w", "b", "a__b", "b__r", "y z"),
    ),
    { selector: (pair) => pair.join() },
  );
  const offices = fc.array(
    fc.dictionary(fc.constantFrom("pc", "lab", "a"), some),
    { minLength: 1, maxLength: 8 },
  );
  fc.assert(
    fc.property(offices, (history) => {
      const table = catalogue();
      const meanings = new Map<string, string>();
      for (const computers of history) {
        table.update(
          new Map(
            Object.entries(computers).map(([computer, pairs]) => [
              computer,
              pairs.map(([server, name]) => of(server, name)),
            ]),
          ),
        );
        assertEquals(new Set(namesOf(table)).size, table.tools.length);
        for (const { shown, computer, tool } of table.tools) {
          const meaning = JSON.stringify([computer, tool]);
          assertEquals(meanings.get(shown.name) ?? meaning, meaning);
          meanings.set(shown.name, meaning);
        }
        for (const [name, meaning] of meanings) {
          const found = table.find(name);
          assertEquals(
            JSON.stringify([found?.computer, found?.tool]),
            meaning,
          );
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

const anyName = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40 }),
  fc.stringMatching(/^[a-z_. -]{1,60}$/),
);

Deno.test("Catalogue names 10,000 random tools uniquely, and the same when Computers come and go", () => {
  const pairs = fc.sample(fc.tuple(anyName, anyName), 10_000);
  const computers = new Map<string, SMCPTool[]>();
  for (const [computer, name] of pairs) {
    computers.set(computer, [...computers.get(computer) ?? [], tool(name)]);
  }
  const table = catalogue();
  table.update(computers);
  const tools = [...table.tools];
  const expected = new Set(pairs.map((pair) => JSON.stringify(pair))).size;
  assertEquals(tools.length, expected);
  assertEquals(new Set(namesOf(table)).size, expected);
  assert(namesOf(table).every((name) => /^[\w-]{1,48}$/.test(name)));
  for (const { shown, computer, tool } of tools) {
    const found = table.find(shown.name);
    assertEquals([found?.computer, found?.tool], [computer, tool]);
  }
  const some = new Map([...computers].filter((_, i) => i % 3 === 0));
  table.update(some);
  table.update(computers);
  assertEquals(namesOf(table), tools.map(({ shown }) => shown.name));
});

const tools = [
  { name: "laptop__echo", tags: [] },
  { name: "laptop__delete_file", tags: ["risky"] },
  { name: "nas__read_file", tags: ["safe", "files"] },
];

const shown = (include: string[], exclude: string[] = []) =>
  tools.map(({ name, tags }) => ({ names: [name], own: name, tags }))
    .filter(toolFilter(include, exclude)).map(({ own }) => own);

Deno.test("toolFilter() takes names with *, and tags; exclude wins", () => {
  assertEquals(shown([]).length, 3);
  assertEquals(shown(["laptop__echo"]), ["laptop__echo"]);
  assertEquals(shown(["*file"]), ["laptop__delete_file", "nas__read_file"]);
  assertEquals(shown(["tag:safe", "laptop__e*"]), [
    "laptop__echo",
    "nas__read_file",
  ]);
  assertEquals(shown(["laptop__*"], ["tag:risky"]), ["laptop__echo"]);
  assertEquals(shown(["laptop"]), []);
});

Deno.test("toolFilter() includes by the names of a tool, and excludes by its own one too", () => {
  const tool = { names: ["pc__docs__read"], own: "pc__read", tags: [] };
  assertEquals(toolFilter(["pc__read"], [])(tool), false);
  assertEquals(toolFilter(["pc__docs__*"], [])(tool), true);
  assertEquals(toolFilter([], ["pc__read"])(tool), false);
  assertEquals(toolFilter([], ["pc__docs__*"])(tool), false);
});

Deno.test("toolFilter() refuses a pattern that can match nothing", () => {
  for (const pattern of ["", "laptop/echo", "tag:", "a b", "laptop.echo"]) {
    assertThrows(
      () => toolFilter([], [pattern]),
      TypeError,
      `Cannot use the pattern ${
        JSON.stringify(pattern)
      }: expected a tool's name`,
    );
  }
});
