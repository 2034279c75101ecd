/**
 * The end-to-end suites in Bun: a Server that listens by `node:http`, Agents, Computers, MCP and the
 * commands.
 *
 * @module
 */
import { filesOf } from "../../fetch/suites.ts";
import { LEFT_OUT } from "./left_out.ts";
import { testOnBun } from "./on_bun.ts";

testOnBun({
  way: "with listen()",
  isOverFetch: false,
  files: await filesOf(["tests/e2e", "tests/wire"], [
    "tests/e2e/commands/service", // of the units that start Deno
    "tests/e2e/computer/page", // of the pages, which browsers show
    "tests/e2e/server/fetch",
    "tests/e2e/terminal", // of the terminal of Deno
  ]),
  leftOut: LEFT_OUT,
  least: 1000,
});
