import { assert, assertEquals } from "@std/assert";

const root = new URL("../../", import.meta.url);

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
  const explained = ["troubleshooting", "tool-owners", "mcp"]
    .map((name) => `docs/${name}.md`);
  for (const page of explained) {
    const text = await Deno.readTextFile(new URL(page, root));
    const quoted = messagesIn(text).filter((message) => !DENO.test(message));
    assert(quoted.length > 5, page);
    for (const message of quoted) {
      const parts = message.split(FILLED_IN);
      if (!parts.every((part) => source.includes(part))) unknown.push(message);
    }
  }
  assertEquals(unknown, []);
});

/** The messages in the first column of the table of problems. */
function messagesIn(page: string): string[] {
  const [, table = ""] = page.split(/^\| (?:what you see|message) .*\n/m);
  const [rows = ""] = table.split("\n\n", 1);
  return [...rows.matchAll(/^\| `([^`]+)`/gm)].map(([, text = ""]) => text);
}

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
