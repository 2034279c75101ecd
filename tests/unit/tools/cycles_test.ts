import { assertEquals } from "@std/assert";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import {
  type Edge,
  findCycles,
  type Graph,
  readImports,
} from "../../../tools/lint/cycles.ts";
import { HOUSE } from "../../../tools/lint/layering_rules.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Reads the imports of all source files of the package. */
async function readGraph(): Promise<Graph> {
  const files = ["mod.ts", "main.ts"];
  for (const room of HOUSE) {
    const inside = await readdir(`${root}${room}`, { recursive: true });
    files.push(
      ...inside.filter((file) => /\.(ts|js)$/.test(file))
        .map((file) => `${room}/${file}`),
    );
  }
  return new Map(
    await Promise.all(files.map(async (file) => {
      const source = await readFile(root + file, "utf8");
      return [file, readImports(file, source)] as const;
    })),
  );
}

Deno.test("no files import each other in a circle, not even types, nor when they are used", async () => {
  assertEquals(findCycles(await readGraph()), []);
});

/** A graph of files that import each other as given. */
const graphOf = (
  imports: Readonly<Record<string, readonly [string, Edge["kind"]][]>>,
): Graph =>
  new Map(
    Object.entries(imports).map(([file, edges]) => [
      file,
      edges.map(([target, kind]) => ({ target, kind })),
    ]),
  );

Deno.test("findCycles() names each cycle once, by its shortest way, with the imports that are not static", () => {
  const graph = graphOf({
    "a.ts": [["b.ts", "static"]],
    "b.ts": [["c.ts", "dynamic"], ["a.ts", "types"]],
    "c.ts": [["a.ts", "static"], ["d.ts", "static"]],
    "d.ts": [["e.ts", "static"]],
    "e.ts": [["e.ts", "static"]],
  });
  assertEquals(findCycles(graph), [
    "a.ts → b.ts → a.ts (types)",
    "a.ts → b.ts → c.ts → a.ts (dynamic)",
    "e.ts → e.ts",
  ]);
  assertEquals(findCycles(graphOf({ "a.ts": [["b.ts", "static"]] })), []);
});

Deno.test("readImports() finds every way to import a file, and no package", () => {
  const source = `
    import { a } from "./a.ts";
    import type { B } from "../b.ts";
    import { type C } from "./c.ts";
    import "./d.ts";
    import { z } from "zod";
    export * from "./e.ts";
    export type { F } from "./f.ts";
    const g = await import("./g.ts");
    type H = import("./h.ts").H;
  `;
  const found = readImports("room/x.ts", source)
    .map(({ target, kind }) => `${kind} ${target}`);
  assertEquals(found.toSorted(), [
    "dynamic room/g.ts",
    "static room/a.ts",
    "static room/d.ts",
    "static room/e.ts",
    "types b.ts",
    "types room/c.ts",
    "types room/f.ts",
    "types room/h.ts",
  ]);
});
