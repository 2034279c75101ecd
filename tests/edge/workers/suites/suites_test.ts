/**
 * Suites of the server over a Worker instead of `listen()`: those that start a server by options that are
 * JSON, and look at it from outside. An import map puts `listening_server.ts` in the place of
 * `server/mod.ts`.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import {
  BUNDLES,
  bundleWorkers,
  endWorkers,
} from "../../../support/edge/workerd.ts";
import { runSuites } from "../../../support/run_suites.ts";
import { LEFT_OUT } from "./left_out.ts";

Deno.test.afterAll(endWorkers);

const SUITES = [
  "tests/e2e/server/gate_test.ts",
  "tests/e2e/server/mixed_office",
  "tests/e2e/server/offices_test.ts",
  "tests/e2e/server/relay_test.ts",
  "tests/e2e/server/versions_test.ts",
  "tests/e2e/spec/late_answer_test.ts",
  "tests/e2e/spec/offices_test.ts",
  "tests/e2e/spec/skills_routing_test.ts",
  "tests/wire",
];

/** Suites of frames and of unfinished messages, which the platform reads, and of other options. */
const IGNORED = [
  "control_flood",
  "options",
  "rfc6455_control",
  "rfc6455_fragments",
  "rfc6455_frames",
  "rfc6455_handshake",
  "rfc6455_utf8",
  "unfinished_message",
].map((name) => `tests/wire/${name}_test.ts`);

const run = async (env: Readonly<Record<string, string>>) =>
  await runSuites({
    paths: SUITES,
    ignored: IGNORED,
    server: "tests/edge/workers/suites/listening_server.ts",
    preload: "tests/edge/workers/suites/preload.ts",
  }, { ...env, DENO_JOBS: "2", [BUNDLES]: await bundleWorkers() });

Deno.test("the server's suites pass over a Worker, but for those left out", async () => {
  const { code, output } = await run({});
  assertEquals(code, 0, output);
  const [, passed] = /\| (\d+) passed/.exec(output) ?? [];
  assert(Number(passed) > 100, `only ${passed} tests ran`);
});

Deno.test("each test that is left out exists, and fails over a Worker", async () => {
  const { code, output } = await run({ SMCP_TEST_LEFT_OUT: "1" });
  assertEquals(code, 0, output);
  const missing = Object.values(LEFT_OUT).flat()
    .filter((name) => !output.includes(`left out: ${name} ... ok`));
  assertEquals(missing, []);
});
