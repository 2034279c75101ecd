/**
 * Type-checks every code block in the doc comments of the sources and in the Markdown files
 * of the repository's root and of `docs/`, as if a reader had pasted it.
 *
 * @module
 */
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

async function markdownIn(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const { name, isFile } of Deno.readDir(`${root}${folder}`)) {
    if (isFile && name.endsWith(".md")) files.push(`${folder}${name}`);
  }
  return files.toSorted();
}

/** `docs/` may be absent; the root is always there. */
const docs = await markdownIn("docs/").catch((error) => {
  if (error instanceof Deno.errors.NotFound) return [];
  throw error;
});

const { code } = await new Deno.Command(Deno.execPath(), {
  // Folders include their sources, but Markdown files must be listed.
  args: [
    "check",
    "--frozen",
    "--doc-only",
    ".",
    ...await markdownIn(""),
    ...docs,
  ],
  cwd: root,
}).spawn().status;
Deno.exit(code);
