/**
 * The end-to-end suites of MCP in Bun; a file of their own, so that they run beside those of the members: part
 * of `test:bun` alone. In the continuous integration MCP clients reach Bun in the test of the npm package.
 *
 * @module
 */
import { filesOf } from "../../support/run_suites.ts";
import { testOnBun } from "./on_bun.ts";

testOnBun({
  way: "by MCP",
  isOverFetch: false,
  files: await filesOf(["tests/e2e/mcp"], []),
  leftOut: { failing: [], byChance: [] },
});
