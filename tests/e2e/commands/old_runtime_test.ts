import { assertEquals, assertMatch } from "@std/assert";
import { fileURLToPath } from "node:url";
import config from "../../../deno.json" with { type: "json" };

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Imports an entrypoint where the functions of a new runtime are missing, as in Node 20. */
async function importInOldRuntime(file: string) {
  const script = `
    delete Promise.withResolvers;
    process.exitCode = await import(${JSON.stringify(`file://${root}${file}`)})
      .then(() => 0, (error) => (console.error(String(error)), 3));
  `;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", "--no-lock", script],
    cwd: root,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  });
  const { code, stderr } = await child.output();
  return { code, stderr: new TextDecoder().decode(stderr) };
}

const entries = Object.values(config.exports)
  .filter((file) => file.endsWith("mod.ts"));

for (const file of entries) {
  const needs = file !== "./protocol/mod.ts";
  Deno.test(`on a runtime that is too old, the import of ${file} ${needs ? "names the versions that are needed" : "works"}`, async () => {
    const { code, stderr } = await importInOldRuntime(file);
    if (!needs) return assertEquals([code, stderr], [0, ""]);
    assertEquals(code, 3, stderr);
    assertMatch(
      stderr,
      /^Error: Cannot load @a2c-smcp\/sdk: it needs Node 22\.12 or later, Deno 2\.9 .*, and this is Node v[\d.]+\n$/,
    );
  });
}
