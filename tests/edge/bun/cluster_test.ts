/**
 * Servers in Bun that share their offices on a real Redis.
 *
 * @module
 */
import { missingPrograms } from "../../support/cluster/install.ts";
import { testOnBun } from "./on_bun.ts";

const SUITES = ["calls", "command", "mcp", "redis"];

if ((await missingPrograms(["redis-server"])).length === 0) {
  testOnBun({
    way: "in a cluster",
    isOverFetch: false,
    files: SUITES.map((name) => `tests/cluster/${name}_test.ts`),
    leftOut: [],
  });
} else {
  Deno.test.ignore(
    "Servers on Bun share their offices: no redis-server",
    () => {},
  );
}
