/**
 * Writes `docs/dependencies.md`: what each package is for, and what each entry loads. The measured
 * part is kept in `tools/docs/dependencies.json`, so that a test can compare the rest without a network.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import {
  type Facts,
  gatherFacts,
  type PackageFacts,
} from "./dependency_facts.ts";
import {
  type DependencyNote,
  RUNTIME_NOTES,
  WORKSHOP_NOTES,
} from "./dependency_notes.ts";
import { type ImportGraph, importGraphs } from "./import_graphs.ts";

const root = new URL("../../", import.meta.url);
const FACTS = new URL("tools/docs/dependencies.json", root);
/** The page. */
export const PAGE = new URL("docs/dependencies.md", root);

const INTRODUCTION = `# Dependencies

Written by \`deno task docs:dependencies\`, with what \`tools/docs/dependency_notes.ts\` says of each
package. A test compares the lists of packages with the source; sizes, times and
releases are those of the day of writing.

A package is worth its place if it is well kept and does what would be many lines of our own, or
what a mistake of ours would break for others. It is loaded when it is used, unless every user of
the entry needs it. None is deprecated.`;

const RUNTIME = `## Packages that the package imports

_Loaded by_ names the entries whose import loads it; in parentheses those that load it when a
feature is used. Sizes are those on the disk, types and source maps included: its own,
and together with the packages that it brings.`;

const WORKSHOP = `## Packages of tests, benches and tools

They have import maps of their own (\`tests/deno.json\`, \`tools/deno.json\`); nothing that is published
or compiled sees them.`;

const IMPORTS = `## What an import takes

Milliseconds of processor time until the module is there, and by how many MB the process grows, on
Deno with a warm cache: the least of nine. Commands print their version. Modules are those of this package that are loaded at once, without those of npm.`;

/** What a table says of where a package is loaded. */
export function loadedBy(graphs: readonly ImportGraph[], name: string): string {
  const short = ({ name }: ImportGraph) =>
    code(name.replace("@a2c-smcp/sdk", "sdk"));
  const first = graphs.filter(({ atOnce }) => atOnce.includes(name));
  const later = graphs.filter(({ whenUsed }) => whenUsed.includes(name));
  const names = first.map(short).join(", ");
  const inParentheses = later.length === 0
    ? ""
    : `(${later.map(short).join(", ")})`;
  return [names, inParentheses].filter((part) => part !== "").join(" ") ||
    "the compiler";
}

/** Returns the page for the source as it is. */
export async function dependenciesPage(): Promise<string> {
  const facts: Facts = JSON.parse(await Deno.readTextFile(FACTS));
  const graphs = await importGraphs();
  const runtime = table(
    ["package", "for", "loaded by", "size", "released", "in its place"],
    Object.entries(RUNTIME_NOTES).map(([name, note]) => {
      const [size, released] = sizeAndRelease(factsOf(facts, name));
      const by = loadedBy(graphs, name);
      return [code(name), note.use, by, size, released, note.instead];
    }),
  );
  const workshop = table(
    ["package", "for", "size", "released", "in its place"],
    Object.entries(WORKSHOP_NOTES).map(
      ([name, note]: [string, DependencyNote]) => {
        const [size, released] = sizeAndRelease(factsOf(facts, name));
        return [code(name), note.use, size, released, note.instead];
      },
    ),
  );
  const imports = table(
    ["entry or command", "ms", "MB", "modules", "packages at once"],
    graphs.map(({ name, atOnce }) => {
      const { ms = NaN, megabytes = NaN, modules = NaN } =
        facts.imports[name] ?? {};
      const packages = atOnce.map(code).join(", ");
      return [code(name), `${ms}`, `${megabytes}`, `${modules}`, packages];
    }),
  );
  const parts = [
    INTRODUCTION,
    ...[RUNTIME, runtime, IMPORTS, imports, WORKSHOP, workshop],
  ];
  return await formatted(parts.join("\n\n"));
}

function sizeAndRelease(
  { version, bytes, brings, treeBytes, released }: PackageFacts,
): [string, string] {
  const own = megabytes(bytes);
  const size = brings === 0
    ? `${own} MB`
    : `${own} MB; ${megabytes(treeBytes)} MB with ${brings} more`;
  return [size, `${released} (here ${version})`];
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

function factsOf({ packages }: Facts, name: string): PackageFacts {
  const facts = packages[name];
  if (facts !== undefined) return facts;
  throw new Error(
    `Nothing is known of ${name}: run deno task docs:dependencies`,
  );
}

const code = (text: string): string => "`" + text + "`";

const table = (
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string =>
  [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.join(" | ")} |`).join("\n");

/** Formats Markdown as `deno fmt` does. */
async function formatted(text: string): Promise<string> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["fmt", "--ext", "md", "-"],
    cwd: fileURLToPath(root),
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error("deno fmt cannot format the page");
  return new TextDecoder().decode(stdout);
}

if (import.meta.main) {
  const facts = await gatherFacts();
  for (const [name, { deprecated }] of Object.entries(facts.packages)) {
    if (deprecated) throw new Error(`${name} is deprecated: ${deprecated}`);
  }
  await Deno.writeTextFile(FACTS, `${JSON.stringify(facts, null, 2)}\n`);
  await Deno.writeTextFile(PAGE, await dependenciesPage());
}
