/**
 * Writes the list of all names that the entrypoints export, for review: tests/docs/api/exported_names.txt.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import config from "../../deno.json" with { type: "json" };
import { run } from "../process.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The file with the list. */
export const EXPORTED_NAMES_FILE = new URL(
  "../../tests/docs/api/exported_names.txt",
  import.meta.url,
);

/** The used part of the output of `deno doc --json`. */
interface Documentation {
  readonly nodes: Readonly<
    Record<string, {
      readonly symbols: readonly {
        readonly name: string;
        readonly declarations: readonly { readonly kind: string }[];
      }[];
    }>
  >;
}

/** Returns the exported names of each entrypoint, with their kinds; skips commands, which export none. */
export async function exportedNames(): Promise<string> {
  const entries = Object.entries(config.exports).filter(([, file]) =>
    !file.endsWith("/main.ts")
  );
  const sections = await Promise.all(
    entries.map(async ([entry, file]) => {
      const names = await namesOf(file);
      const title = entry.replace(/^\./, config.name);
      return `# ${title} (${names.length})\n\n${names.join("\n")}\n`;
    }),
  );
  return sections.join("\n");
}

async function namesOf(file: string): Promise<string[]> {
  const output = await run("deno", ["doc", "--json", file], root);
  const { nodes }: Documentation = JSON.parse(output);
  return Object.values(nodes).flatMap(({ symbols }) =>
    symbols.map(({ name, declarations }) => {
      const kinds = new Set(declarations.map(({ kind }) => kind));
      return `${name}: ${[...kinds].sort().join(", ")}`;
    })
  ).sort();
}

if (import.meta.main) {
  await Deno.writeTextFile(EXPORTED_NAMES_FILE, await exportedNames());
}
