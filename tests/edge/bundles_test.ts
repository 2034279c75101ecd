/**
 * What bundlers make of the entries for browsers and edge platforms: small, and without modules that
 * are missing there.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import {
  bundle,
  installForBundles,
  type Platform,
} from "../../tools/npm/bundle.ts";

const folder = await Deno.makeTempDir({ prefix: "smcp-bundles-" });

Deno.test.beforeAll(() => installForBundles(folder));
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

/** A program, and what its bundle may cost. */
interface Row {
  readonly name: string;
  readonly source: string;
  readonly platforms: readonly Platform[];
  /** Bytes with gzip, a little above those of today. */
  readonly bound: number;
  /** Packages that no module may need, for they are large or for Node only. */
  readonly without: readonly string[];
}

const ROWS: readonly Row[] = [
  {
    name: "the Agent",
    source: `export { SmcpAgent } from "@a2c-smcp/sdk/agent";`,
    platforms: ["browser", "workerd"],
    bound: 57_000,
    without: ["https-proxy-agent", "socket.io", "ws"],
  },
  {
    name: "the protocol",
    source: `export * from "@a2c-smcp/sdk/protocol";`,
    platforms: ["browser", "workerd"],
    bound: 21_500,
    without: ["@logtape/logtape", "socket.io-client"],
  },
];

for (const { name, source, platforms, bound, without } of ROWS) {
  for (const platform of platforms) {
    Deno.test(`${name} stays small, and complete, for ${platform}`, async () => {
      const { gzip, parts, external } = await bundle(folder, source, platform);
      const listing = parts.map((part) => part.join(" ")).join("\n");
      assert(gzip <= bound, `${gzip} bytes with gzip:\n${listing}`);
      const names = parts.map(([part]) => part);
      assertEquals(without.filter((it) => names.includes(it)), [], listing);
      assertEquals(external, []);
    });
  }
}
