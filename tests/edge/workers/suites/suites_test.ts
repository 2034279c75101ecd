/**
 * Suites of the server over a Worker instead of `listen()`: those that start a server by options that are
 * JSON, and look at it from outside. An import map puts `listening_server.ts` in the place of
 * `server/mod.ts`.
 *
 * @module
 */
import {
  BUNDLES,
  bundleWorkers,
  endWorkers,
} from "../../../support/edge/workerd.ts";
import { testSuites } from "../../../support/run_suites.ts";
import { LEFT_OUT } from "./left_out.ts";

Deno.test.afterAll(endWorkers);

const SUITES = [
  "tests/e2e/server/gate_test.ts",
  "tests/e2e/server/mixed_office_test.ts",
  "tests/e2e/server/offices_test.ts",
  "tests/e2e/server/relay_test.ts",
  "tests/e2e/server/versions_test.ts",
  "tests/wire",
];

/** Suites of frames and of unfinished messages, which the platform reads. */
const IGNORED = ["rfc6455", "unfinished_message"]
  .map((name) => `tests/wire/${name}_test.ts`);

testSuites(
  "a Worker",
  {
    paths: SUITES,
    ignored: IGNORED,
    server: "tests/edge/workers/suites/listening_server.ts",
    preload: "tests/edge/workers/suites/preload.ts",
  },
  LEFT_OUT,
  async () => ({ DENO_JOBS: "2", [BUNDLES]: await bundleWorkers() }),
);
