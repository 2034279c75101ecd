/**
 * The end-to-end suites of Agents, Computers and the commands in Bun.
 *
 * @module
 */
import { filesOf } from "../../support/run_suites.ts";
import { LEFT_OUT_OF_MEMBERS } from "./left_out.ts";
import { testOnBun } from "./on_bun.ts";

const SUITES = ["agent", "client", "commands", "computer"];

testOnBun({
  way: "with all roles",
  isOverFetch: false,
  files: await filesOf(SUITES.map((name) => `tests/e2e/${name}`), [
    "tests/e2e/commands/service", // of the units that start Deno
    // Some refusals of a call become 4003 in place of 4006 and 4007, depending on the time.
    "tests/e2e/computer/host/oauth_test.ts",
    "tests/e2e/computer/page_test.ts", // of the pages, which browsers show
  ]),
  leftOut: LEFT_OUT_OF_MEMBERS,
});
