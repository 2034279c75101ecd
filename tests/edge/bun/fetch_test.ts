/**
 * The server's end-to-end suites in Bun, behind `Bun.serve`.
 *
 * @module
 */
import { filesOf, suiteFiles } from "../../fetch/suites.ts";
import { LEFT_OUT_OVER_FETCH } from "./left_out.ts";
import { testOnBun } from "./on_bun.ts";

/** Suites of the command, which listens by node:http. */
const COMMANDS = /\/(control_flood|unfinished_message)_test\.ts$/;

testOnBun({
  way: "behind Bun.serve",
  isOverFetch: true,
  files: [
    ...(await suiteFiles()).filter((file) => !COMMANDS.test(file)),
    ...await filesOf(["tests/e2e/server/fetch"], []),
  ],
  leftOut: LEFT_OUT_OVER_FETCH,
  least: 400,
});
