/**
 * The server's end-to-end suites in Bun, behind `Bun.serve`.
 *
 * @module
 */
import { filesOf, suiteFiles } from "../../fetch/suites.ts";
import { LEFT_OUT_OVER_FETCH, OF_MEMORY } from "./left_out.ts";
import { testOnBun } from "./on_bun.ts";

testOnBun({
  way: "behind Bun.serve",
  isOverFetch: true,
  files: [
    ...(await suiteFiles()).filter((file) => !OF_MEMORY.includes(file)),
    ...await filesOf(["tests/e2e/server/fetch"], []),
  ],
  leftOut: LEFT_OUT_OVER_FETCH,
  least: 400,
});
