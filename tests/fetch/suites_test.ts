/**
 * The server's end-to-end suites, over the entry for `fetch` instead of `listen()`: an import map puts
 * `listening_server.ts` in the place of `server/mod.ts`.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { runSuites } from "../support/run_suites.ts";
import { LEFT_OUT } from "./left_out.ts";
import { IGNORED, SUITES } from "./suites.ts";

const run = (env: Readonly<Record<string, string>>) =>
  runSuites({
    paths: SUITES,
    ignored: IGNORED,
    server: "tests/fetch/listening_server.ts",
    preload: "tests/fetch/preload.ts",
  }, env);

Deno.test("the server's suites pass over fetch, but for those left out", async () => {
  const { code, output } = await run({});
  assertEquals(code, 0, output);
  const [, passed] = /\| (\d+) passed/.exec(output) ?? [];
  assert(Number(passed) > 300, `only ${passed} tests ran`);
});

Deno.test("each test that is left out exists, and fails over fetch", async () => {
  const { code, output } = await run({ SMCP_TEST_LEFT_OUT: "1" });
  assertEquals(code, 0, output);
  const missing = Object.values(LEFT_OUT).flat()
    .filter((name) => !output.includes(`left out: ${name} ... ok`));
  assertEquals(missing, []);
});
