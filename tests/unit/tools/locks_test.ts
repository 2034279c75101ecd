/**
 * The package has its lock, and tests and tools have another: whoever uses a clone fetches nothing that
 * only tests need, and what is tested is what is used.
 *
 * @module
 */
import { assertEquals } from "@std/assert";
import config from "../../../deno.json" with { type: "json" };
import workshop from "../../deno.json" with { type: "json" };

interface Lock {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, { readonly integrity: string }>>;
}

const lockOf = async (file: string): Promise<Lock> =>
  JSON.parse(
    await Deno.readTextFile(new URL(`../../../${file}`, import.meta.url)),
  );

Deno.test("tests and tools run with the versions of deno.lock", async () => {
  const product = await lockOf("deno.lock");
  const tests = await lockOf("tests/deno.lock");
  const differ = Object.entries(product.specifiers)
    .filter(([name, version]) => tests.specifiers[name] !== version);
  assertEquals(
    differ,
    [],
    "correct tests/deno.lock: deno install --config tests/deno.json",
  );
  const missing = Object.entries(product.npm)
    .filter(([id, { integrity }]) => tests.npm[id]?.integrity !== integrity);
  assertEquals(missing, [], "a package of deno.lock in another version");
});

Deno.test("deno.lock names no package that only tests and tools import", async () => {
  const { specifiers } = await lockOf("deno.lock");
  const own = Object.entries(workshop.imports)
    .filter(([name]) => !Object.hasOwn(config.imports, name))
    .map(([, target]) => target.replace(/(?<=.)@[^@/]*$/, ""));
  const found = Object.keys(specifiers).filter((specifier) =>
    own.includes(specifier.replace(/(?<=.)@[^@/]*$/, ""))
  );
  assertEquals(found, []);
});
