/**
 * Servers in Bun that share their offices on a real Redis.
 *
 * @module
 */
import { missingPrograms } from "../../support/cluster/install.ts";
import { testOnBun } from "./on_bun.ts";

const SUITES = ["calls", "command", "mcp", "redis"];

/** Those that these suites start. */
const PROGRAMS = ["redis-server", "nginx", "haproxy"];

const missing = await missingPrograms(PROGRAMS);
if (missing.length === 0) {
  testOnBun({
    way: "in a cluster",
    isOverFetch: false,
    files: SUITES.map((name) => `tests/cluster/${name}_test.ts`),
    leftOut: { failing: [], byChance: [] },
  });
} else {
  Deno.test.ignore(
    `Servers on Bun share their offices: no ${missing.join(", ")}`,
    () => {},
  );
}
