/**
 * Writes `docs/dependencies.md`: what each package is for, and what each entry loads. The measured
 * part is kept in `tools/docs/dependencies.json`, so that a test can compare the rest without a network.
 *
 * With `--keep-times` only imports that were not measured before are: on a machine that does other work, all
 * times would change.
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

Written by \`deno task docs:dependencies\`; a test compares the lists with the source, sizes and times
are those of the day of writing.

A package is worth its place if it is well kept and does what would be many lines of our own, or
what a mistake of ours would break for others. It is loaded when it is used, unless every user of
the entry needs it. None is deprecated. Sizes are those on the disk, with the packages that each brings;
the day is that of the last release. After the dash stands what would replace it.`;

const RUNTIME = `## Packages that the package imports

_Later_: loaded when it is used, by every entry.`;

const WORKSHOP = `## Packages of tests, benches and tools

Nothing that is published or compiled sees them.`;

const IMPORTS = `## What an import takes

Processor time until the module is there, by how much the process grows, on Deno with a warm cache
(the least of nine), and the packages that are loaded at once. Commands print their version.`;

/** The entries whose import loads a package; in parentheses those that load it when it is used. */
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
  const runtime = Object.entries(RUNTIME_NOTES).map(([name, note]) => {
    const when = graphs.some(({ atOnce }) => atOnce.includes(name))
      ? ""
      : graphs.some(({ whenUsed }) => whenUsed.includes(name))
      ? ", later"
      : ", for the compiler";
    return packageLine(name, note, factsOf(facts, name), when);
  });
  const workshop = Object.entries(WORKSHOP_NOTES).map(([name, note]) =>
    packageLine(name, note, factsOf(facts, name))
  );
  const imports = graphs.map(({ name, atOnce }) => {
    const { ms = NaN, megabytes = NaN } = facts.imports[name] ?? {};
    const packages = atOnce.map(code).join(", ") || "none";
    return `- ${code(name)} (${ms} ms, ${megabytes} MB): ${packages}`;
  });
  const parts = [
    INTRODUCTION,
    ...[RUNTIME, runtime.join("\n"), WORKSHOP, workshop.join("\n")],
    ...[IMPORTS, imports.join("\n")],
  ];
  return await formatted(parts.join("\n\n"));
}

const packageLine = (
  name: string,
  { use, instead }: DependencyNote,
  { treeBytes, license, released }: PackageFacts,
  when = "",
): string =>
  `- ${code(name)} (${
    megabytes(treeBytes)
  } MB, ${license}, ${released}${when}): ${use} – ${instead}`;

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

function factsOf({ packages }: Facts, name: string): PackageFacts {
  const facts = packages[name];
  if (facts !== undefined) return facts;
  throw new Error(
    `Nothing is known of ${name}: run deno task docs:dependencies`,
  );
}

const code = (text: string): string => "`" + text + "`";

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
  const before: Facts = JSON.parse(await Deno.readTextFile(FACTS));
  const isKept = Deno.args.includes("--keep-times");
  const facts = await gatherFacts(isKept ? before.imports : {});
  for (const [name, { deprecated }] of Object.entries(facts.packages)) {
    if (deprecated) throw new Error(`${name} is deprecated: ${deprecated}`);
  }
  await Deno.writeTextFile(FACTS, `${JSON.stringify(facts, null, 2)}\n`);
  await Deno.writeTextFile(PAGE, await dependenciesPage());
}
