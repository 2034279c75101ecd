import { assertEquals } from "@std/assert";
import { instructionsOf, type Situation } from "../../../mcp/office/server.ts";
import { resolveOptions } from "../../../mcp/options.ts";
import { Catalogue } from "../../../mcp/tools/catalogue.ts";
import { computerPart } from "../../../mcp/tools/names.ts";

/** An office of some Computers, each with so many tools. */
function situation(
  counts: Record<string, number>,
  over: Partial<Situation> = {},
): Situation {
  const table = new Catalogue(resolveOptions({}));
  table.update(
    new Map(
      Object.entries(counts).map(([computer, count]) => [
        computer,
        Array.from({ length: count }, (_, i) => ({
          name: `tool_${i}`,
          description: "",
          params_schema: {},
          return_schema: null,
        })),
      ]),
    ),
  );
  return {
    office: "home",
    computers: table.computers,
    tools: table.tools,
    troubles: new Map(),
    only: undefined,
    nameLimit: 48,
    searching: false,
    ...over,
  };
}

const linesOf = (situation: Situation) => instructionsOf(situation).split("\n");

Deno.test("instructionsOf() names the Computers, and how their tools are named", () => {
  const alias = computerPart("build box", 48);
  assertEquals(linesOf(situation({ laptop: 2, "build box": 1, nas: 0 })), [
    'The tools of the Computers in the office "home". Each runs on the Computer that its name begins with: laptop__echo is the tool echo of the Computer laptop.',
    `Computers: build box (named ${alias}__… here, 1 tool), laptop (2 tools), nas (0 tools).`,
  ]);
  assertEquals(
    linesOf(situation({}))[1],
    "No Computer is there at the moment.",
  );
  const many = Object.fromEntries(
    Array.from(
      { length: 60 },
      (_, i) => [`pc${String(i).padStart(2, "0")}`, 0],
    ),
  );
  assertEquals(
    linesOf(situation(many))[1]?.endsWith("pc49 (0 tools) and 10 more."),
    true,
  );
});

Deno.test("instructionsOf() says what is wrong, at Computers that are there", () => {
  const troubles = new Map([
    ["laptop", { silent: ["files", "mail"] }],
    ["nas", { unfetched: "No answer within 30 s" }],
    ["gone", { silent: ["x"] }],
  ]);
  assertEquals(
    linesOf(situation({ laptop: 1, nas: 0 }, { troubles })).slice(2),
    [
      "On laptop these MCP servers offer no tool now, perhaps because they do not run: files, mail.",
      "The tools of nas could not be fetched: No answer within 30 s",
    ],
  );
});

Deno.test("instructionsOf() says how to find tools, and which Computer is the only one", () => {
  const lines = linesOf(
    situation({ laptop: 1 }, { only: "laptop", searching: true }),
  );
  assertEquals(lines, [
    'The tools of the Computer laptop in the office "home"; each runs there.',
    "Find tools with search_tools, and call them with call_tool.",
    "Computers: laptop (1 tool).",
  ]);
});
