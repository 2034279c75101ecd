import { assert, assertEquals } from "@std/assert";
import config from "../../../deno.json" with { type: "json" };
import { type Part, SUITES } from "../../../tools/test_parts.ts";

/** The names of a suite's parts. */
const partsOf = (suite: string): string[] =>
  (SUITES[suite] ?? []).map(({ name }: Part) => name);

/** Returns the suite that a task fetches for. */
const suiteOf = (command: string): string | undefined =>
  /^deno run -A tools\/fetch\.ts (\S+) && /.exec(command)?.[1];

Deno.test("each test task first fetches what it needs", () => {
  const tasks = Object.entries(config.tasks).filter(([name]) =>
    /^test(:|$)/.test(name) && name !== "test:alone"
  );
  const wrong = tasks.flatMap(([name, task]) => {
    const command = typeof task === "string" ? task : task.command;
    return partsOf(suiteOf(command) ?? "").length > 0 ? [] : [name];
  });
  assertEquals(wrong, []);
});

Deno.test("suites that run those of tests/e2e on Bun fetch what these need, too", () => {
  for (const suite of ["bun", "edge"]) {
    const parts = partsOf(suite);
    // Of systemd are the tests of services, which Bun does not run.
    const missing = partsOf("test").filter((name) =>
      name !== "systemd" && !parts.includes(name)
    );
    assertEquals(missing, [], suite);
    assert(parts.some((name) => name.includes("haproxy")), suite);
  }
});

Deno.test("test:edge fetches all that test:bun does, most of whose suites are a part of it", () => {
  const parts = partsOf("edge");
  assertEquals(partsOf("bun").filter((name) => !parts.includes(name)), []);
});
