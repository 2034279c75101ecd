import { assertEquals, assertRejects } from "@std/assert";
import { loadPackages } from "../../../shared/packages.ts";

Deno.test("loadPackages() says what to install where a module is missing, and passes other errors on", async () => {
  const found = () => Promise.resolve({ answer: 42 });
  assertEquals((await loadPackages("count", ["abacus"], found)).answer, 42);
  const missing: string = "./not_there.ts";
  await assertRejects(
    () => loadPackages("count", ["abacus"], () => import(missing)),
    Error,
    "Cannot count: the package abacus is not installed; install it: npm install abacus",
  );
  await assertRejects(
    () =>
      loadPackages("count", ["abacus", "beads@1.0.0"], () => import(missing)),
    Error,
    "Cannot count: not all packages that it needs are installed; install them: npm install abacus beads@1.0.0",
  );
  await assertRejects(
    () =>
      loadPackages(
        "count",
        ["abacus"],
        () => Promise.reject(new RangeError("too many")),
      ),
    RangeError,
    "too many",
  );
});
