import { assertEquals } from "@std/assert";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { findInPage, findInSource } from "../../../tools/lint/words.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Folders and files of sources without any of these words. */
const SOURCES = [
  "agent",
  "cli",
  "client",
  "computer",
  "console",
  "examples",
  "mcp",
  "protocol",
  "server",
  "shared",
  "testing",
  "main.ts",
  "mod.ts",
];

/** Pages without any of these words. */
const PAGES = [
  "docs",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "README.md",
  "SECURITY.md",
];

/** Lists the files of folders, and those that are named, which have an extension. */
async function files(
  paths: readonly string[],
  extension: RegExp,
): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    if (extension.test(path)) {
      found.push(path);
      continue;
    }
    const inside = await readdir(root + path, { recursive: true });
    found.push(
      ...inside.filter((file) => extension.test(file))
        .map((file) => `${path}/${file}`),
    );
  }
  return found;
}

Deno.test("no message, comment, name or page has a word that was replaced", async () => {
  const rows = [
    [SOURCES, /\.(ts|js|py)$/, findInSource],
    [PAGES, /\.md$/, findInPage],
  ] as const;
  const found: string[] = [];
  for (const [paths, extension, find] of rows) {
    for (const file of await files(paths, extension)) {
      const text = await readFile(root + file, "utf8");
      found.push(...find(text).map((fault) => `${file}:${fault}`));
    }
  }
  assertEquals(found, []);
});

Deno.test("findInSource() finds words in any case, and parts of names", () => {
  const words = (source: string) =>
    findInSource(source).map((fault) => fault.split(": ")[1]);
  assertEquals(words("// Nobody says so"), ["Nobody", "says"]);
  assertEquals(words("const questionDesk = faceOf(READ_PATIENCE_MS);"), [
    "Desk",
    "face",
    "PATIENCE_MS",
  ]);
  assertEquals(words("type Way = WayFlags | NodeWay | Told;"), [
    "Told",
    "Way",
    "Way",
    "Way",
  ]);
  assertEquals(words("interface Surface { gateway: Essays; always: 1 }"), []);
});

Deno.test("findInPage() finds words outside of code, with their lines", () => {
  const page = "It `says` this.\n\n```text\nnobody\n```\n\nIt wants that.\n";
  assertEquals(findInPage(page), [
    "7: wants: write requires, requests or calls",
  ]);
});
