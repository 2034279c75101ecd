import { assertEquals, assertThrows } from "@std/assert";
import {
  offering,
  onlyOffering,
  ToolLookupError,
} from "../../../agent/tools.ts";
import { ownToolName, type SMCPTool } from "../../../protocol/mod.ts";

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
