/**
 * The page of the architecture, and what CONTRIBUTING says of files, beside the source itself.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { PAGE, roomsPage } from "../../tools/docs/rooms.ts";
import { arrowsBetween, drawArrows } from "../../tools/docs/room_arrows.ts";

const root = new URL("../../", import.meta.url);

Deno.test("the arrows of docs/architecture.md are the imports of the source", async () => {
  const page = await roomsPage();
  assertEquals(
    await Deno.readTextFile(PAGE),
    page,
    "Run `deno task docs:rooms`",
  );
});

Deno.test("the paths that the pages for newcomers name are there", async () => {
  for (const page of ["docs/architecture.md", "CONTRIBUTING.md"]) {
    const text = await Deno.readTextFile(new URL(page, root));
    const paths = [...text.matchAll(
      /`((?:protocol|client|cli|agent|server|computer|mcp|tests|tools|docs)\/[\w./]*)`/g,
    )].map(([, path = ""]) => path);
    assert(paths.length > 10, page);
    const missing: string[] = [];
    for (const path of paths) {
      await Deno.stat(new URL(path, root)).catch(() => missing.push(path));
    }
    assertEquals(missing, [], page);
  }
});

Deno.test("arrowsBetween() takes imports, re-exports and types, and no comment", () => {
  const sources = new Map([
    ["a/x.ts", `import type { Y } from "../b/y.ts";\nexport * from "./z.ts";`],
    ["a/z.ts", `const late = await import("../c/late.ts");`],
    [
      "b/y.ts",
      `/**\n * import { x } from "../a/x.ts";\n */\nexport {\n  c,\n} from "../c/c.ts";`,
    ],
    ["c/c.ts", `import { mkdir } from "node:fs/promises";`],
  ]);
  const arrows = arrowsBetween(sources, (path) => path.split("/")[0]);
  assertEquals([...arrows], [["a", ["b", "c"]], ["b", ["c"]], ["c", []]]);
  assertEquals(drawArrows(arrows), "c\nb → c\na → b, c");
});
