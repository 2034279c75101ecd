/**
 * The server's end-to-end suites in Bun, with a Server that listens by `node:http`: part of `test:bun`
 * alone. In the continuous integration such a Server runs in the suites of the roles and of a cluster.
 *
 * @module
 */
import { filesOf } from "../../support/run_suites.ts";
import { LEFT_OUT_OF_LISTENING, OF_MEMORY } from "./left_out.ts";
import { testOnBun } from "./on_bun.ts";

testOnBun({
  way: "with listen()",
  isOverFetch: false,
  files: await filesOf(
    ["tests/e2e/server", "tests/e2e/spec", "tests/wire"],
    ["tests/e2e/server/fetch", ...OF_MEMORY],
  ),
  leftOut: LEFT_OUT_OF_LISTENING,
});
