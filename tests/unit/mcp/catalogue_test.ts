import fc from "fast-check";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { narrowOptions, resolveOptions } from "../../../mcp/options.ts";
import { Catalogue, type ComputerOffer } from "../../../mcp/tools/catalogue.ts";
import { toolFilter } from "../../../mcp/tools/filter.ts";
import { toolName } from "../../../mcp/tools/names.ts";
import {
  type ConfiguredServers,
  configuredServers,
} from "../../../mcp/tools/servers.ts";
import type { SMCPTool } from "../../../protocol/mod.ts";
import { isBundleId } from "../../../protocol/validation.ts";
import { mcpServers } from "../../support/mcp/servers.ts";

const tool = (name: string, over: Partial<SMCPTool> = {}): SMCPTool => ({
  name,
  description: `does ${name}`,
  params_schema: { type: "object" },
  return_schema: null,
  ...over,
});

const catalogue = (options: Parameters<typeof resolveOptions>[0] = {}) =>
  new Catalogue(resolveOptions(options));

/** Computers whose configurations have just the MCP servers of their tools, or the given ones. */
const office = (
  tools: Record<string, readonly SMCPTool[]>,
  servers?: ConfiguredServers,
): Map<string, ComputerOffer> =>
  new Map(
    Object.entries(tools).map(([computer, list]) => {
      const ids = list.flatMap(({ bundle_id }) => bundle_id ?? []);
      const own = configuredServers(mcpServers(...new Set(ids)));
      return [computer, { tools: list, servers: servers ?? own }];
    }),
  );

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
  const then = new Date(1000);
  const later = new Date(2000);
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

Deno.test("Catalogue gives a Computer that is called as another is shown a name of its own", async () => {
  // "a b" is shown as a_b--HASH; somebody calls a Computer just that.
  const naming = { limit: 48, prefix: true };
  const name = toolName({ computer: "a b", own: "x" }, naming);
  const imitator = name.split("__")[0] ?? "";
  const table = catalogue();
  await table.update(office({ [imitator]: [tool("x")] }));
  assertEquals(table.find(name), undefined);
  await table.update(office({ "a b": [tool("x")], [imitator]: [tool("x")] }));
  assertEquals(new Set(namesOf(table)).size, 2);
  assertEquals(table.find(name)?.computer, "a b");
});

Deno.test("Catalogue shows none of two tools that have one name at once", async () => {
  // A Computer of before 0.3, whose Server has made up the bundle_id.
  const meta = { a2c_mcp_server: "files" };
  const tools = ["x", "files__x", "y"].map((name) =>
    tool(name, { bundle_id: "files", meta })
  );
  for (const list of [tools, tools.toReversed()]) {
    assertEquals(await namesIn({ pc: list }), ["pc__y"]);
  }
});

Deno.test("protocol §13: Catalogue keeps a part of a long bundle_id in a name, and tells the tools of two servers apart", async () => {
  const owners = ["github-enterprise-server-1", "github-enterprise-server-2"];
  const tools = owners.map((bundle_id) => of(bundle_id, "create_pull_request"));
  const shown = async (list: SMCPTool[]) => {
    const table = catalogue();
    const servers = configuredServers(mcpServers(...owners));
    await table.update(office({ laptop: list }, servers));
    return new Map(table.tools.map((one) => [one.tool, one.shown.name]));
  };
  const names = await shown(tools);
  assertEquals(new Set(names.values()).size, 2);
  for (const name of names.values()) {
    assertMatch(
      name,
      /^laptop__github-__create_pull_request--[0-9a-v]{10}$/,
    );
  }
  for (const list of [tools.toReversed(), tools.slice(1)]) {
    for (const [own, name] of await shown(list)) {
      assertEquals(names.get(own), name);
    }
  }
});

const of = (bundle_id: string, name: string): SMCPTool =>
  tool(`${bundle_id}__${name}`, { bundle_id });

Deno.test("protocol §13: Catalogue leaves the MCP server out of a name where its Computer has one alone, and takes the whole name too", async () => {
  const table = catalogue();
  const list = [of("files", "read"), of("docs", "list")];
  await table.update(office({ laptop: list, pc: [of("files", "read")] }));
  assertEquals(namesOf(table), [
    "laptop__files__read",
    "laptop__docs__list",
    "pc__read",
  ]);
  for (const name of ["pc__read", "pc__files__read"]) {
    const found = table.find(name);
    assertEquals([found?.kind, found?.tool], ["offered", "files__read"], name);
  }
  assertEquals(table.find("laptop__list"), undefined);
  assertEquals(
    await namesIn({ laptop: list, pc: list }, { computer: "laptop" }),
    ["files__read", "docs__list"],
  );
});

Deno.test("Catalogue leaves the MCP server out of the name of a tool with an alias of its own", async () => {
  const alias = (bundle_id: string, name: string) => ({
    ...of(bundle_id, name),
    meta: { a2c_tool_meta: JSON.stringify({ alias: name }) },
  });
  const rows: [alias: string, more: string[], names: string[]][] = [
    ["look", [], ["pc__look", "pc__docs__read"]],
    // Another tool has it too, perhaps of an MCP server that does not run.
    ["look", ["look"], ["pc__files__look", "pc__docs__read"]],
    // The whole name of another tool begins so.
    ["docs__read", [], ["pc__files__docs__read", "pc__docs__read"]],
    // The MCP server says so, and nobody else.
    ["read", [], ["pc__files__read", "pc__docs__read"]],
  ];
  for (const [name, more, names] of rows) {
    const config = mcpServers("files", "docs", "off");
    const { files, off } = config.servers;
    assert(files && off);
    if (name !== "read") files.tool_meta = { a: { alias: name } };
    for (const alias of more) off.tool_meta = { b: { alias } };
    const tools = [alias("files", name), of("docs", "read")];
    const table = catalogue();
    const servers = configuredServers(config);
    await table.update(office({ pc: tools }, servers));
    assertEquals(namesOf(table), names);
  }
});

Deno.test("Catalogue names tools with their MCP server where the configuration is unknown, and has no other name for those of before 0.3", async () => {
  const old = tool("read", { bundle_id: "mcp" });
  const tagged = tool("list", { meta: { a2c_mcp_server: "my files" } });
  const table = catalogue();
  const tools = [of("files", "read"), old, tagged];
  await table.update(new Map([["pc", { tools }]]));
  const [first, second, third = ""] = namesOf(table);
  assertEquals([first, second], ["pc__files__read", "pc__read"]);
  assertMatch(third, /^pc__my_files__list--[0-9a-v]{10}$/);
});

Deno.test("Catalogue counts MCP servers that are disabled, or of types that the wire lacks", async () => {
  const tools = [of("files", "read")];
  const one = mcpServers("files");
  const none = mcpServers();
  const rows: [Parameters<typeof configuredServers>[0], string][] = [
    [one, "pc__read"],
    [mcpServers("files", "docs"), "pc__files__read"],
    [{ ...one, other_servers: ["here"] }, "pc__files__read"],
    [{ ...none, other_servers: ["files"] }, "pc__read"],
    [mcpServers("docs"), "pc__files__read"],
    [none, "pc__files__read"],
  ];
  for (const [config, name] of rows) {
    const table = catalogue();
    const servers = configuredServers(config);
    await table.update(office({ pc: tools }, servers));
    assertEquals(namesOf(table), [name], JSON.stringify(config));
  }
});

Deno.test("Catalogue keeps the names of its own tools for these", async () => {
  const options = { computer: "pc", desktopTools: true };
  const tools = ["desktop", "read"].map((name) => of("files", name));
  const [first = "", second] = await namesIn({ pc: tools }, options);
  assertMatch(first, /^desktop--[0-9a-v]{10}$/);
  assertEquals(second, "read");
});

Deno.test("Catalogue includes by the names that it gives and by tags, and excludes by all names that a tool could have", async () => {
  const files = of("files", "rm");
  const docs = of("docs", "rm");
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
  assertEquals(namesOf(view), []);
});

const anyName = fc.oneof(
  fc.string({ minLength: 1, maxLength: 40 }),
  fc.stringMatching(/^[a-z_. -]{1,60}$/),
);

/** A few names that clash, and any other. */
const names = (...some: string[]) =>
  fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...some) }, anyName);

/** Some MCP servers of a Computer, each with some tools, in the order in which they have started so far. */
const starts = fc.uniqueArray(
  fc.record({
    id: names("a", "b", "ab", "my-files", "x".repeat(30))
      .filter((id) => isBundleId(id) && !id.endsWith("_")),
    tools: fc.uniqueArray(names("r", "w", "b", "a__b", "b__r", "y z"), {
      minLength: 1,
    }),
    alias: fc.option(names("r", "b", "a__b", "s")),
  }),
  { selector: ({ id }) => id, minLength: 1, maxLength: 12 },
).chain((servers) =>
  fc.record({
    servers: fc.constant(servers),
    orders: fc.array(fc.shuffledSubarray(servers), {
      minLength: 2,
      maxLength: 6,
    }),
  })
);

type Start = (typeof starts) extends fc.Arbitrary<infer T> ? T : never;

/** What a Computer offers while some of its MCP servers run. */
function offerOf(
  { servers }: Start,
  running: Start["servers"],
): ComputerOffer {
  const config = mcpServers(...servers.map(({ id }) => id));
  for (const { id, tools: [first], alias } of servers) {
    const server = config.servers[id];
    if (server && first !== undefined && alias !== null) {
      server.tool_meta = Object.fromEntries([[first, { alias }]]);
    }
  }
  const tools = running.flatMap(({ id, tools, alias }) =>
    tools.map((name, at) =>
      at === 0 && alias !== null
        ? {
          ...of(id, alias),
          meta: { a2c_tool_meta: JSON.stringify({ alias }) },
        }
        : of(id, name)
    )
  );
  return { tools, servers: configuredServers(config) };
}

Deno.test("Catalogue gives each tool one name, and each name one tool, whichever MCP servers run, in whatever order they start", async () => {
  const offices = fc.dictionary(names("pc", "lab", "a", "a b"), starts, {
    minKeys: 1,
    maxKeys: 3,
  });
  await fc.assert(
    fc.asyncProperty(offices, async (computers) => {
      /** Over all starts: what was called by a name, and how a tool was called. */
      const meanings = new Map<string, string>();
      const given = new Map<string, string>();
      for (let start = 0; start < 6; start++) {
        const table = catalogue();
        for (let count = 0; count <= 2; count++) {
          const entries = Object.entries(computers).map(([name, servers]) => {
            const order = servers.orders[start % servers.orders.length] ?? [];
            const running = order.slice(0, Math.ceil(order.length * count / 2));
            return [name, offerOf(servers, running)] as const;
          });
          await table.update(new Map(entries));
          for (const { shown: { name }, computer, tool } of table.tools) {
            assertMatch(name, /^[\w-]{1,48}$/);
            const meaning = JSON.stringify([computer, tool]);
            assertEquals(meanings.get(name) ?? meaning, meaning, name);
            assertEquals(given.get(meaning) ?? name, name);
            meanings.set(name, meaning);
            given.set(meaning, name);
          }
          for (const [name, meaning] of meanings) {
            const found = table.find(name);
            if (found === undefined) continue;
            const { computer, tool } = found;
            assertEquals(JSON.stringify([computer, tool]), meaning, name);
          }
        }
      }
    }),
    { numRuns: 100 },
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
