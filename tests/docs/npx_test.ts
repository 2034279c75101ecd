/**
 * What readers and users are told to run with npx: `npx NAME` runs whatever somebody has published
 * under that name.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { unknownNpxWords } from "../support/npx_words.ts";

const root = new URL("../../", import.meta.url);

/** What no reader or user sees, and what others have made. */
const LEFT_OUT = ["tests", "bench", "dist", "node_modules", ".git", "links"];
const TEXT = /\.(md|ts|tsx|js|mjs|json|html|css|sh|py|service|plist)$|\/run$/;

/** The paths of all texts of the repository that lead to a reader or a user. */
async function* paths(folder = ""): AsyncGenerator<string> {
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(folder, root))
  ) {
    const path = `${folder}${name}`;
    if (isDirectory && !LEFT_OUT.includes(name)) yield* paths(`${path}/`);
    else if (!isDirectory && TEXT.test(path)) yield path;
  }
}

/** Replaces comments in a program by the code that they quote: the rest is prose. */
const withoutProse = (path: string, text: string): string =>
  path.endsWith(".md") ? text : text.replaceAll(
    /\/\*[^]*?\*\/|(?<!:)\/\/.*$/gm,
    (comment) => comment.match(/`[^`]*`/g)?.join("\n") ?? "",
  );

Deno.test("npx is asked for packages of ours or well-known ones alone, in every page, message and help", async () => {
  const unknown: string[] = [];
  let texts = 0;
  for await (const path of paths()) {
    const text = await Deno.readTextFile(new URL(path, root));
    const words = unknownNpxWords(withoutProse(path, text));
    unknown.push(...words.map((word) => `${path}: npx ${word}`));
    texts++;
  }
  assertEquals(unknown, []);
  assert(texts > 300, `${texts}`);
});

Deno.test("unknownNpxWords() finds the package in command lines and configurations", () => {
  const rows: [text: string, words: string[]][] = [
    ["run `npx smcp up`", ["smcp"]],
    ["npx --no smcp up", ["smcp"]],
    ["| npx -y smcp-agent |", ["smcp-agent"]],
    ["npx.cmd --yes -p smcp smcp-agent", ["smcp"]],
    ['"command": "npx",\n  "args": ["-y", "smcp"]', ["smcp"]],
    ['{ command: "npx", args: ["files"] }', ["files"]],
    ["npx -p @a2c-smcp/cli smcp up", []],
    ["npx -p @a2c-smcp/cli@0.2.0 smcp up", []],
    ["npx -y deno task demo", []],
    ["npx -y @modelcontextprotocol/server-memory@2026.8.31", []],
    ["with `npx`, or globally", []],
    ["--allow-run=npx main.ts", []],
  ];
  for (const [text, words] of rows) {
    assertEquals(unknownNpxWords(text), words, text);
  }
});
