import fc from "fast-check";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { narrowOptions, resolveOptions } from "../../../mcp/options.ts";
import { Catalogue } from "../../../mcp/tools/catalogue.ts";
import { toolFilter } from "../../../mcp/tools/filter.ts";
import { toolName } from "../../../mcp/tools/names.ts";
import type { SMCPTool } from "../../../protocol/mod.ts";

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

/** The names that a new table gives. */
const namesIn = async (
  tools: Record<string, readonly SMCPTool[]>,
  options: Parameters<typeof catalogue>[0] = {},
): Promise<string[]> => {
  const table = catalogue(options);
  await table.update(office(tools));
  return namesOf(table);
};

Deno.test("Catalogue lists by Computer, and leads back from a name to its tool", async () => {
  const table = catalogue();
  assert(
    await table.update(office({ b: [tool("y"), tool("x")], a: [tool("z")] })),
  );
  assertEquals(namesOf(table), ["a__z", "b__y", "b__x"]);
  assertEquals(table.computers, ["a", "b"]);
  const found = table.find("b__x");
  assert(found?.kind === "offered");
  assertEquals([found.computer, found.tool], ["b", "x"]);
  assertEquals(table.find("b__unknown"), undefined);
});

Deno.test("Catalogue says since when a tool or its Computer is away, until it is back", async () => {
  const table = catalogue();
  const [then, later] = [new Date(1000), new Date(2000)];
  const away = { kind: "away", computer: "a" } as const;
  await table.update(office({ a: [tool("x"), tool("y")] }), new Date(0));
  await table.update(office({ a: [tool("x")] }), then);
  const y = { ...away, tool: "y", since: then };
  assertEquals(table.find("a__y"), { ...y, hasLeft: false });
  await table.update(office({}), later);
  assertEquals(["a__y", "a__x"].map((name) => table.find(name)), [
    { ...y, hasLeft: true },
    { ...away, tool: "x", since: later, hasLeft: true },
  ]);
  await table.update(office({ a: [tool("x")] }));
  assertEquals(table.find("a__x")?.kind, "offered");
});

Deno.test("Catalogue.update() returns whether clients see something else", async () => {
  const table = catalogue({ exclude: ["*__hidden"] });
  const x = tool("x");
  const offices: [Record<string, SMCPTool[]>, boolean][] = [
    [{ a: [] }, false],
    [{ a: [x] }, true],
    [{ a: [tool("x")] }, false],
    [{ a: [x, tool("hidden")] }, false],
    [{ a: [tool("x", { description: "new" })] }, true],
    [{}, true],
    [{}, false],
  ];
  for (const [tools, isNew] of offices) {
    assertEquals(await table.update(office(tools)), isNew);
  }
});

Deno.test("Catalogue gives no name that a client may hold to another tool, even in a clash", async () => {
  // "a b" is shown as a_b-HASH; somebody calls a Computer just that.
  const name = toolName({ computer: "a b", tool: "x" }, {
    limit: 48,
    prefix: true,
  });
  const imitator = name.split("__")[0] ?? "";
  const table = catalogue();
  await table.update(office({ "a b": [tool("x")] }));
  await table.update(office({ "a b": [tool("x")], [imitator]: [tool("x")] }));
  assertEquals(new Set(namesOf(table)).size, 2);
  await table.update(office({ [imitator]: [tool("x")] }));
  assertEquals(table.find(name)?.kind, "away");
  assertEquals(table.find(name)?.computer, "a b");
});

Deno.test("0.4 §3.5: Catalogue leaves a long bundle_id out of a name, and tells the tools of two servers apart", async () => {
  const owners = ["github-enterprise-server-1", "github-enterprise-server-2"];
  const tools = owners.map((bundle_id) => ({
    ...tool(`${bundle_id}__create_pull_request`),
    bundle_id,
  }));
  const shown = async (list: SMCPTool[]) => {
    const table = catalogue();
    await table.update(office({ laptop: list }));
    return new Map(table.tools.map((one) => [one.tool, one.shown.name]));
  };
  const names = await shown(tools);
  assertEquals(new Set(names.values()).size, 2);
  for (const name of names.values()) {
    assert(/^laptop__create_pull_request_[0-9a-v]{6}$/.test(name), name);
  }
  const other = await shown(tools.toReversed());
  for (const [own, name] of names) assertEquals(other.get(own), name);
});

const of = (bundle_id: string, name: string): SMCPTool =>
  tool(`${bundle_id}__${name}`, { bundle_id });

Deno.test("0.4 §3.5: Catalogue shows a tool by the Computer's name and its own where that is unique, and takes the whole name too", async () => {
  const table = catalogue();
  const list = [of("files", "read"), of("docs", "read"), of("docs", "list")];
  await table.update(office({ laptop: list, pc: [of("files", "read")] }));
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
  assertEquals(
    await namesIn({ laptop: list, pc: list }, { computer: "laptop" }),
    ["files__read", "docs__read", "list"],
  );
});

Deno.test("0.4 §3.5: no own name of Catalogue is the whole one of another tool", async () => {
  const table = catalogue();
  await table.update(office({ pc: [of("c", "a__b"), of("a", "b")] }));
  assertEquals(namesOf(table), ["pc__c__a__b", "pc__b"]);
  assertEquals(table.find("pc__a__b")?.tool, "a__b");
});

Deno.test("Catalogue includes by the names that it gives and by tags, and excludes by all names that a tool could have", async () => {
  const [files, docs] = [of("files", "rm"), of("docs", "rm")];
  const safe = tool("safe", {
    meta: { a2c_tool_meta: JSON.stringify({ tags: ["ok"] }) },
  });
  const both = [files, docs];
  const rows: [SMCPTool[], Parameters<typeof catalogue>[0], string[]][] = [
    [both, { exclude: ["pc__rm"] }, []],
    [both, { exclude: ["pc__files__*"] }, ["pc__docs__rm"]],
    [[files], { exclude: ["pc__files__*"] }, []],
    [[files], { include: ["pc__rm"] }, ["pc__rm"]],
    [[files], { include: ["pc__files__*"] }, ["pc__rm"]],
    [both, { include: ["pc__rm"] }, []],
    [[files, safe], { include: ["tag:ok"] }, ["pc__safe"]],
    [[files, safe], { include: ["tag:ok", "pc__r*"] }, ["pc__rm", "pc__safe"]],
    [[files, safe], { include: ["*afe"] }, ["pc__safe"]],
    [[files, safe], { include: ["pc"] }, []],
    [[files, safe], { include: ["*"], exclude: ["*safe"] }, ["pc__rm"]],
    [[files, safe], { include: ["pc__*"], exclude: ["tag:ok"] }, ["pc__rm"]],
  ];
  for (const [pc, options, expected] of rows) {
    assertEquals(
      await namesIn({ pc }, options),
      expected,
      JSON.stringify(options),
    );
  }
  const within = resolveOptions({ include: ["pc__rm"], exclude: ["*__list"] });
  const view = new Catalogue(narrowOptions(within, { nameLimit: 24 }));
  await view.update(office({ pc: [files, of("files", "list")] }));
  assertEquals(namesOf(view), ["pc__rm"]);
  await view.update(office({ pc: [docs, files] }));
  assertEquals(namesOf(view), ["pc__rm"]);
});

const anyName = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40 }),
  fc.stringMatching(/^[a-z_. -]{1,60}$/),
);

/** A few names that clash, and any other. */
const names = (...some: string[]) =>
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...some) }, anyName);

Deno.test("Catalogue never gives a name another meaning, two tools one or a tool another, in random histories of Computers and MCP servers", async () => {
  const some = fc.uniqueArray(
    fc.tuple(
      names("a", "b", "a__b", "x".repeat(30)),
      names("r", "w", "b", "a__b", "b__r", "y z"),
    ),
    { selector: (pair) => pair.join() },
  );
  const offices = fc.array(
    fc.dictionary(names("pc", "lab", "a"), some),
    { minLength: 1, maxLength: 8 },
  );
  await fc.assert(
    fc.asyncProperty(offices, async (history) => {
      const table = catalogue();
      const meanings = new Map<string, string>();
      const given = new Map<string, string>();
      for (const computers of history) {
        await table.update(
          new Map(
            Object.entries(computers).map(([computer, pairs]) => [
              computer,
              pairs.map(([server, name]) => of(server, name)),
            ]),
          ),
        );
        const names = namesOf(table);
        assertEquals(new Set(names).size, table.tools.length);
        assert(names.every((name) => /^[\w-]{1,48}$/.test(name)), `${names}`);
        for (const { shown, computer, tool } of table.tools) {
          const meaning = JSON.stringify([computer, tool]);
          assertEquals(meanings.get(shown.name) ?? meaning, meaning);
          meanings.set(shown.name, meaning);
          assertEquals(given.get(meaning) ?? shown.name, shown.name);
          given.set(meaning, shown.name);
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

Deno.test("Catalogue leaves out tools that weigh more than anybody can use, and counts them", async () => {
  const braces = Array.from({ length: 30_000 }, () => ({}));
  const table = catalogue();
  const heavy = [
    tool("values", { params_schema: { type: "object", examples: braces } }),
    tool("letters", { description: "a".repeat(1_000_001) }),
  ];
  await table.update(office({ pc: [...heavy, tool("x")], nas: [tool("y")] }));
  assertEquals(namesOf(table), ["nas__y", "pc__x"]);
  assertEquals(table.countOf("pc"), { tools: 1, leftOut: 2 });
  assertEquals(table.countOf("nas"), { tools: 1, leftOut: 0 });
  assertEquals(table.countOf("gone"), { tools: 0, leftOut: 0 });
  assertEquals(table.find("pc__values"), undefined);
});

Deno.test("Catalogue reads no JSON of many values that a tool has as text", async () => {
  const many = `[${"{},".repeat(20_000)}{}]`;
  const few = '{"tags": ["safe"]}';
  const table = catalogue();
  await table.update(office({
    pc: [tool("x", {
      meta: { a2c_tool_meta: few, few, many, MCP_TOOL_ANNOTATION: many },
    })],
  }));
  const { _meta, annotations } = table.tools[0]?.shown ?? {};
  assertEquals(_meta?.few, { tags: ["safe"] });
  assertEquals(_meta?.many, many);
  assertEquals(annotations, undefined);
});

Deno.test("Catalogue lets others have their turn while it takes over many tools, and updates in order", async () => {
  const table = catalogue();
  const many = Array.from({ length: 20_000 }, (_, i) => tool(`t${i}`));
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const updates = [
    table.update(office({ pc: many })),
    table.update(office({ pc: [tool("last")] })),
  ];
  assertEquals(await Promise.all(updates), [true, true]);
  clearInterval(timer);
  assert(turns > 1, `${turns}`);
  assertEquals(namesOf(table), ["pc__last"]);
});

Deno.test("Catalogue forgets the names of tools that are away for longest, whichever names they have", async () => {
  const table = catalogue();
  const many = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => tool(`t${from + i}`));
  await table.update(office({ pc: many(0, 9_000) }));
  await table.update(office({ pc: many(9_000, 9_000) }));
  assertEquals(table.find("pc__t0")?.kind, "away");
  await table.update(office({ pc: many(18_000, 10) }));
  assertEquals(table.find("pc__t0"), undefined);
  assertEquals(table.find("pc__t9000")?.kind, "away");
  assertEquals(table.find("pc__t18000")?.kind, "offered");
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

Deno.test("toolFilter() matches * with any characters, as an expression would, and not by trying all ways", () => {
  const letters = fc.string({
    unit: fc.constantFrom("a", "b", "_"),
    maxLength: 10,
  });
  const patterns = fc.string({
    unit: fc.constantFrom("a", "b", "_", "*"),
    minLength: 1,
    maxLength: 8,
  });
  const matches = (pattern: string, name: string) =>
    toolFilter([pattern], [])({ names: [name], own: name, tags: [] });
  fc.assert(fc.property(patterns, letters, (pattern, name) => {
    const expression = new RegExp(`^${pattern.replaceAll("*", ".*")}$`);
    assertEquals(matches(pattern, name), expression.test(name));
  }));
  // An expression would take longer than anybody waits.
  assertEquals(matches("*a".repeat(30) + "*b", "a".repeat(128)), false);
});
