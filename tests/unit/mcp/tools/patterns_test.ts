import { assertEquals, assertThrows } from "@std/assert";
import { toolFilter } from "../../../../mcp/tools/patterns.ts";

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
