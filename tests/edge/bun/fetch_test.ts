/**
 * The server's end-to-end suites in Bun, behind `Bun.serve`.
 *
 * @module
 */
import { IGNORED, SUITES } from "../../fetch/suites.ts";
import { filesOf } from "../../support/run_suites.ts";
import { LEFT_OUT_OVER_FETCH, OF_MEMORY } from "./left_out.ts";
import { testOnBun } from "./on_bun.ts";

testOnBun({
  way: "behind Bun.serve",
  isOverFetch: true,
  files: [
    ...(await filesOf(SUITES, IGNORED)).filter((file) =>
      !OF_MEMORY.includes(file)
    ),
    ...await filesOf(["tests/e2e/server/fetch"], []),
  ],
  leftOut: LEFT_OUT_OVER_FETCH,
});
