/**
 * `docs/agent-builders.md` starts every program with a framework of `examples/mcp`, which tests/mcp
 * runs, and installs the versions that are installed there.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import { codeBlocks } from "./support/blocks.ts";
import { commandsOf } from "./support/commands.ts";

const folder = new URL("../../examples/mcp/", import.meta.url);
const textOf = (file: string) => Deno.readTextFile(new URL(file, folder));

const blocks = (await codeBlocks())
  .filter(({ at }) => at.startsWith("docs/agent-builders.md"));
const programs = [...Deno.readDirSync(folder)].map(({ name }) => name)
  .filter((name) => /\.(ts|py)$/.test(name)).sort();

/** What `npm install` and `pip install` get to install what a folder needs. */
async function requirements(): Promise<string[]> {
  const { dependencies } = JSON.parse(await textOf("package.json"));
  const [direct = ""] = (await textOf("requirements.txt")).split("\n\n");
  return [
    ...Object.entries(dependencies).map((pair) => pair.join("@")),
    ...direct.split("\n").filter((line) => /^\w/.test(line)),
  ].sort();
}

Deno.test("the page for builders of agents installs what each program with a framework imports", async () => {
  const scripts = blocks.filter(({ language }) => language === "sh");
  const installed: string[] = [];
  const started: string[] = [];
  for (const { at, code } of scripts) {
    const commands = await commandsOf(code);
    const install = commands.find(({ words }) => words[1] === "install");
    if (install === undefined) continue;
    const packages = install.words.slice(2);
    installed.push(...packages);
    const [file = ""] = commands.flatMap(({ words }) =>
      programs.includes(words[1] ?? "") ? [words[1]] : []
    );
    started.push(file);
    const imports = (await textOf(file)).matchAll(
      /from "((?:@[^/"]+\/)?[^/"]+)|^from (\w+) import/gm,
    );
    const names = [...imports].map(([, npm, python]) => npm ?? python)
      .filter((name) => name !== "node:process");
    assertEquals(
      [...new Set(names)].sort(),
      packages.map((name) => name.replace(/(?<=.)(@|==)[\d.]+$/, "")).sort(),
      at,
    );
  }
  assertEquals(started.sort(), programs);
  assertEquals(installed.sort(), await requirements());
});
