import { assert } from "@std/assert";
import { measureBundle } from "../../../bench/ends/bundle.ts";

/** In bytes, somewhat above the current size; one more import can triple it. */
const LIMITS = { minified: 175_000, gzip: 57_000 };

Deno.test({
  name: "the Agent stays small in browsers, and bundles only what it uses",
  timeout: 120_000,
  async fn() {
    const { minified, gzip, parts } = await measureBundle();
    const packages = parts.map(([name]) => name);
    const listing = parts.map((part) => part.join(" ")).join("\n");
    assert(minified < LIMITS.minified, `${minified} bytes:\n${listing}`);
    assert(gzip < LIMITS.gzip, `${gzip} bytes with gzip:\n${listing}`);
    for (const name of ["ajv", "socket.io", "@modelcontextprotocol/sdk"]) {
      assert(!packages.includes(name), listing);
    }
  },
});
