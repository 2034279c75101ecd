import { assertEquals, assertThrows } from "@std/assert";
import {
  type CatalogueStep,
  catalogueStep,
  offering,
  onlyOffering,
  ToolCatalogue,
  ToolLookupError,
} from "../../../agent/tools.ts";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  ENTER_OFFICE_NOTIFICATION,
  ErrorCode,
  LEAVE_OFFICE_NOTIFICATION,
  ownToolName,
  ProtocolError,
  type SMCPTool,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_DESKTOP_NOTIFICATION,
  UPDATE_TOOL_LIST_NOTIFICATION,
} from "../../../protocol/mod.ts";

const office_id = "north";

Deno.test("catalogueStep() maps each notification to a step", () => {
  const steps: CatalogueStep[] = [
    catalogueStep({
      event: ENTER_OFFICE_NOTIFICATION,
      payload: { office_id, computer: "pc" },
    }),
    catalogueStep({
      event: ENTER_OFFICE_NOTIFICATION,
      payload: { office_id, agent: "a" },
    }),
    catalogueStep({
      event: LEAVE_OFFICE_NOTIFICATION,
      payload: { office_id, computer: "pc" },
    }),
    catalogueStep({
      event: LEAVE_OFFICE_NOTIFICATION,
      payload: { office_id, agent: "a" },
    }),
    catalogueStep({
      event: UPDATE_TOOL_LIST_NOTIFICATION,
      payload: { computer: "pc" },
    }),
    catalogueStep({
      event: UPDATE_CONFIG_NOTIFICATION,
      payload: { computer: "pc" },
    }),
    catalogueStep({
      event: UPDATE_DESKTOP_NOTIFICATION,
      payload: { computer: "pc" },
    }),
    catalogueStep({
      event: CANCEL_TOOL_CALL_NOTIFICATION,
      payload: { agent: "a", req_id: "1" },
    }),
  ];
  assertEquals(steps, [
    { fetch: "pc" },
    undefined,
    { forget: "pc" },
    undefined,
    { fetch: "pc" },
    { fetch: "pc" },
    undefined,
    undefined,
  ]);
});

Deno.test("ToolCatalogue fetches once more after a change during a fetch", async () => {
  const { catalogue, fetches, answer, changes } = setup();
  catalogue.fetch("pc");
  catalogue.fetch("pc");
  catalogue.fetch("pc");
  assertEquals(fetches.length, 1);
  answer(["old"]);
  await until(() => fetches.length === 2);
  answer(["new"]);
  await catalogue.settled();
  assertEquals(fetches.length, 2);
  assertEquals(changes, [["pc", ["old"]], ["pc", ["new"]]]);
});

Deno.test("ToolCatalogue drops the answer of a Computer that left during the fetch", async () => {
  const { catalogue, answer, changes } = setup();
  catalogue.fetch("pc");
  catalogue.forget("pc");
  answer(["late"]);
  await catalogue.settled();
  assertEquals([...catalogue.byComputer], []);
  assertEquals(changes, []);
});

Deno.test("ToolCatalogue keeps known tools when a fetch fails, and forgets a Computer that left", async () => {
  const { catalogue, answer, fail, failures } = setup();
  catalogue.fetch("pc");
  answer(["echo"]);
  await catalogue.settled();
  catalogue.fetch("pc");
  fail(new ProtocolError(ErrorCode.TIMEOUT, "slow"));
  await catalogue.settled();
  assertEquals(failures, ["pc"]);
  assertEquals([...catalogue.byComputer.keys()], ["pc"]);
  catalogue.fetch("pc");
  fail(new ProtocolError(ErrorCode.NOT_FOUND, "gone"));
  await catalogue.settled();
  assertEquals([...catalogue.byComputer.keys()], []);
});

Deno.test("ToolCatalogue.refresh() forgets Computers that left and fetches the others", async () => {
  const { catalogue, answer, changes, office, fetches } = setup();
  catalogue.fetch("gone");
  answer(["a"]);
  await catalogue.settled();
  office.computers = ["pc"];
  catalogue.refresh();
  await until(() => fetches.length === 2);
  answer(["b"]);
  await catalogue.settled();
  assertEquals(changes.slice(1), [["gone", undefined], ["pc", ["b"]]]);
});

Deno.test("ToolCatalogue.refresh() keeps a Computer that entered during the listing", async () => {
  const { catalogue, answer, changes, office } = setup();
  catalogue.fetch("pc");
  answer(["a"]);
  await catalogue.settled();
  office.computers = []; // listed before it came back
  catalogue.refresh();
  catalogue.fetch("pc");
  for (let i = 0; i < 50; i++) await Promise.resolve(); // lets the list arrive
  answer(["b"]);
  await catalogue.settled();
  assertEquals(changes, [["pc", ["a"]], ["pc", ["b"]]]);
});

Deno.test("ToolCatalogue fetches again for a Computer that came back during a failing fetch", async () => {
  const { catalogue, answer, fail, fetches } = setup();
  catalogue.fetch("pc");
  catalogue.fetch("pc");
  fail(new ProtocolError(ErrorCode.NOT_FOUND, "gone"));
  await until(() => fetches.length === 2);
  answer(["back"]);
  await catalogue.settled();
  assertEquals([...catalogue.byComputer.keys()], ["pc"]);
});

Deno.test("ToolCatalogue fetches a few at a time, and retries after a 429", async () => {
  const many = Array.from({ length: 30 }, (_, i) => `pc-${i}`);
  const failures: string[] = [];
  let [asked, running, most] = [0, 0, 0];
  const catalogue = new ToolCatalogue({
    list: () => Promise.resolve(many),
    fetch: async () => {
      const isFirst = asked++ === 0;
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
      if (!isFirst) return [];
      throw new ProtocolError(ErrorCode.TOO_MANY_REQUESTS, "Too many events");
    },
    changed: () => {},
    failed: (computer) => failures.push(computer),
  });
  catalogue.refresh();
  await catalogue.settled();
  assertEquals(catalogue.byComputer.size, many.length);
  assertEquals([most, asked, failures], [8, 31, []]);
});

Deno.test("ToolCatalogue.clear() drops waiting fetches", async () => {
  const { catalogue, fetches, office, fail } = setup();
  office.computers = Array.from({ length: 10 }, (_, i) => `pc-${i}`);
  catalogue.refresh();
  await until(() => fetches.length === 8);
  fail(new ProtocolError(ErrorCode.TOO_MANY_REQUESTS, "Too many events"));
  await until(() => fetches.length === 9);
  catalogue.clear();
  await catalogue.settled();
  assertEquals(fetches.length, 9);
  // A running timer would be reported as a leak.
});

function setup() {
  const fetches: PromiseWithResolvers<SMCPTool[]>[] = [];
  const changes: [string, string[] | undefined][] = [];
  const failures: string[] = [];
  const office = { computers: [] as string[] };
  const catalogue = new ToolCatalogue({
    list: () => Promise.resolve(office.computers),
    fetch: () => {
      const fetch = Promise.withResolvers<SMCPTool[]>();
      fetches.push(fetch);
      return fetch.promise;
    },
    changed: (computer, tools) =>
      changes.push([computer, tools?.map(({ name }) => name)]),
    failed: (computer) => failures.push(computer),
  });
  return {
    catalogue,
    fetches,
    changes,
    failures,
    office,
    answer: (names: string[]) =>
      fetches.at(-1)?.resolve(names.map((name) => tool(name))),
    fail: (error: unknown) => fetches.at(-1)?.reject(error),
  };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await Promise.resolve();
}

const tool = (name: string, bundle_id?: string): SMCPTool => ({
  name,
  description: "",
  params_schema: {},
  return_schema: null,
  ...(bundle_id !== undefined && { bundle_id }),
});

const office = {
  laptop: [
    tool("files__list", "files"),
    tool("files__read", "files"),
    tool("docs__read", "docs"),
  ],
  // An own name is the whole one of another tool; a name that only looks like one with an id.
  odd: [tool("c__a__b", "c"), tool("a__b", "a"), tool("x__y", "z")],
  old: [tool("list"), tool("files__write")],
};

const of = (...computers: (keyof typeof office)[]) =>
  new Map(computers.map((name) => [name, office[name]]));

Deno.test("0.4 §3.5: a tool is found by its whole name, or by its own one where that is unique", () => {
  const rows: [computer: keyof typeof office, name: string, found: string][] = [
    ["laptop", "files__list", "files__list"],
    ["laptop", "list", "files__list"],
    ["laptop", "docs__read", "docs__read"],
    ["odd", "a__b", "a__b"],
    ["odd", "b", "a__b"],
    ["odd", "c__a__b", "c__a__b"],
    ["odd", "x__y", "x__y"],
    ["old", "files__write", "files__write"],
  ];
  for (const [computer, name, found] of rows) {
    const { tool } = onlyOffering(of(computer), name, "home");
    assertEquals(tool.name, found, name);
  }
  assertEquals(offering(of("odd"), "y"), []);
  assertEquals(offering(of("old"), "write"), []);
});

Deno.test("0.4 §3.5: an ambiguous name is an error that lists the whole ones", () => {
  const error = assertThrows(
    () => onlyOffering(of("laptop"), "read", "home"),
    ToolLookupError,
    'several MCP servers offer the tool "read"; give its whole name: files__read or docs__read',
  );
  assertEquals([error.code, error.computers], ["ambiguous", ["laptop"]]);
  const both = assertThrows(
    () => onlyOffering(of("laptop", "old"), "list", "home"),
    ToolLookupError,
    "(laptop, old); choose one with the option `computer`",
  );
  assertEquals(both.computers, ["laptop", "old"]);
  const tools = of("laptop").set("old", [tool("read")]);
  assertThrows(
    () => onlyOffering(tools, "read", "home"),
    ToolLookupError,
    "(laptop: files__read or docs__read, old); choose one",
  );
});

Deno.test("0.4 §3.5: ownToolName() takes off the bundle_id of the tool, and nothing else", () => {
  assertEquals(ownToolName(tool("a__b__c", "a")), "b__c");
  assertEquals(ownToolName(tool("a__b", "b")), "a__b");
  assertEquals(ownToolName(tool("a__", "a")), "a__");
  assertEquals(ownToolName(tool("a__b")), "a__b");
});
