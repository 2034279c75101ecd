/**
 * What the pages refer to exists: files, headings, and messages.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { posix } from "node:path";
import { readPages } from "./support/blocks.ts";

const root = new URL("../../", import.meta.url);
const pages = await readPages();

/** The sources of messages; Deno's own are excluded. */
const SOURCES = [
  "agent",
  "client",
  "cli",
  "computer",
  "mcp",
  "protocol",
  "server",
  "shared",
  "tools",
];
const DENO = /^Requires run access/;

/** The variable parts of a message: names, numbers, and nested messages. */
const FILLED_IN = /"[^"]*"|…|: |\b\d+\b/;

Deno.test("the documentation explains messages that exist in the source", async () => {
  const source = (await Promise.all(SOURCES.map(readAll))).join();
  const unknown: string[] = [];
  const quoted = messagesIn(pages.get("docs/troubleshooting.md") ?? "")
    .filter((message) => !DENO.test(message));
  assert(quoted.length > 25, `${quoted.length}`);
  for (const message of quoted) {
    const parts = message.split(FILLED_IN);
    if (!parts.every((part) => source.includes(part))) unknown.push(message);
  }
  assertEquals(unknown, []);
});

/** The messages with which the items of the page begin, one or several. */
const messagesIn = (page: string): string[] =>
  [...page.matchAll(/^- (`[^`]+`(?:,\s+`[^`]+`)*)/gm)].flatMap(
    ([, messages = ""]) =>
      [...messages.matchAll(/`([^`]+)`/g)].map(([, text = ""]) =>
        text.replaceAll(/\s+/g, " ")
      ),
  );

/** Reads every TypeScript file of a directory into one text. */
async function readAll(directory: string): Promise<string> {
  let text = "";
  for await (
    const { name, isDirectory } of Deno.readDir(new URL(directory, root))
  ) {
    const path = `${directory}/${name}`;
    if (isDirectory) text += await readAll(path);
    else if (name.endsWith(".ts")) {
      text += await Deno.readTextFile(new URL(path, root));
    }
  }
  return text;
}

Deno.test("every link of the pages leads to a file, and to a heading that it has", async () => {
  const broken: string[] = [];
  let anchors = 0;
  for (const [page, text] of pages) {
    for (const [, link = ""] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : posix.join(posix.dirname(page), path);
      const there = await Deno.stat(new URL(target, root)).catch(() => null);
      if (there === null) broken.push(`${page}: ${link}`);
      if (anchor === undefined) continue;
      anchors++;
      const headings = anchorsOf(pages.get(target) ?? "");
      if (!headings.includes(anchor)) broken.push(`${page}: ${link}`);
    }
  }
  assert(anchors > 20);
  assertEquals(broken, []);
});

/** What GitHub makes of the headings of a page. */
function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-")
  );
}

Deno.test("the README is one that a newcomer reads to its end", () => {
  const words = pages.get("README.md")?.split(/\s+/).length ?? Infinity;
  assert(words <= 900, `${words} words`);
});
