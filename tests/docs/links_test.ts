import { assert, assertEquals } from "@std/assert";
import { posix } from "node:path";
import { readPages } from "./support/blocks.ts";

const root = new URL("../../", import.meta.url);
const pages = await readPages();

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
