/**
 * The page of the architecture, and what CONTRIBUTING says of files, beside the source itself.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { HOUSE } from "../../tools/lint/layering_rules.ts";
import { ROLE_LAYERS } from "../../tools/lint/role_layers.ts";

const root = new URL("../../", import.meta.url);
const read = (page: string) => Deno.readTextFile(new URL(page, root));
const isThere = (path: string): Promise<boolean> =>
  Deno.stat(new URL(path, root)).then(() => true, () => false);

const PAGE = "docs/architecture.md";

Deno.test("the paths that the pages for newcomers name are there", async () => {
  const tops = [...HOUSE, "tests", "tools", "bench", "docs"].join("|");
  const path = new RegExp(`(?<![\\w./-])(?:${tops})/[\\w./-]*(?<!\\.)`, "g");
  for (const page of [PAGE, "CONTRIBUTING.md"]) {
    const paths = (await read(page)).match(path) ?? [];
    assert(paths.length > 10, page);
    const missing: string[] = [];
    for (const path of paths) if (!await isThere(path)) missing.push(path);
    assertEquals(missing, [], page);
  }
});

Deno.test("a file that the page names without its folder is beside the one before it, or at the top", async () => {
  let folder = "";
  const missing: string[] = [];
  const names = (await read(PAGE)).matchAll(
    /(?<![\w./-])((?:\w+\/)*)(\w+\.ts)\b/g,
  );
  for (const [, path = "", name = ""] of names) {
    if (path !== "") folder = path;
    else if (!await isThere(folder + name) && !await isThere(name)) {
      missing.push(`${name} after ${folder}`);
    }
  }
  assertEquals(missing, []);
});

Deno.test("the page names each folder of the package, and each room of the roles", async () => {
  const page = await read(PAGE);
  const rooms = Object.entries(ROLE_LAYERS).flatMap(([role, layers]) =>
    layers.filter((layer) => !layer.includes(".")) // files, and the top folder
      .map((layer) => `${role}/${layer}`)
  );
  assert(rooms.length > 20);
  const missing = [...HOUSE, ...rooms].filter((room) =>
    !page.includes(`${room}/`)
  );
  assertEquals(missing, []);
});
