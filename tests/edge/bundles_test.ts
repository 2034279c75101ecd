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
  /** Packages and folders that it must not have: they are large, for Node alone, or switched off. */
  readonly without: readonly string[];
  /** The modules that the platform must have; none by default. */
  readonly native?: readonly string[];
}

/**
 * The modules of Node that the Server takes, all of which workerd has natively:
 * https://developers.cloudflare.com/workers/runtime-apis/nodejs/
 */
const WORKERD = ["buffer", "crypto", "events", "net", "process", "timers"]
  .concat("zlib").map((name) => `node:${name}`);

/** What is in no bundle of a Server that nobody can sign in to. */
const SIGN_IN = ["~/server/sign_in", "~/shared/net"];

/** What is in no bundle of a Server without approvals. */
const APPROVALS = ["~/server/approvals"];

const ROWS: readonly Row[] = [
  {
    name: "the Agent",
    source: `export { SmcpAgent } from "@a2c-smcp/sdk/agent";`,
    platforms: ["browser", "workerd"],
    bound: 50 * 1024,
    without: ["@logtape/logtape", "https-proxy-agent", "std-semver", "ws"],
  },
  {
    name: "a class beside the Agent",
    source: `export { BlobError } from "@a2c-smcp/sdk/agent";`,
    platforms: ["browser", "workerd"],
    bound: 1_000,
    without: ["zod", "socket.io-client"],
  },
  {
    name: "the protocol",
    source: `export * from "@a2c-smcp/sdk/protocol";`,
    platforms: ["browser", "workerd"],
    bound: 20_500,
    without: ["@logtape/logtape", "socket.io-client"],
  },
  {
    name: "the Server behind fetch",
    source: `export { createFetchServer } from "@a2c-smcp/sdk/server/fetch";`,
    platforms: ["workerd"],
    bound: 152_000,
    without: [
      "engine.io",
      "mime-db",
      "socket.io",
      "ws",
      ...SIGN_IN,
      ...APPROVALS,
    ],
    native: [...WORKERD, "node:worker_threads"],
  },
  {
    name: "the Server in Workers",
    source: `export { smcpWorker } from "@a2c-smcp/sdk/server/workers";`,
    platforms: ["workerd"],
    bound: 169_000,
    without: [
      "engine.io",
      "mime-db",
      "socket.io",
      "ws",
      ...SIGN_IN,
      ...APPROVALS,
    ],
    native: WORKERD,
  },
  {
    name: "the Server in Workers, with sign-in",
    source: `export { smcpWorker } from "@a2c-smcp/sdk/server/workers";
      export { signIn } from "@a2c-smcp/sdk/server/workers/sign-in";`,
    platforms: ["workerd"],
    bound: 169_000 + 18_500,
    without: [
      "engine.io",
      "mime-db",
      "oauth4webapi",
      "socket.io",
      "ws",
      ...APPROVALS,
    ],
    native: [...WORKERD, "node:dns/promises", "node:https", "node:tls"],
  },
  {
    name: "the Server in Workers, with approvals",
    source: `export { smcpWorker } from "@a2c-smcp/sdk/server/workers";
      export { approvals } from "@a2c-smcp/sdk/server/approvals";`,
    platforms: ["workerd"],
    bound: 169_000 + 18_500,
    without: ["engine.io", "mime-db", "socket.io", "ws", ...SIGN_IN],
    native: WORKERD,
  },
];

for (const { name, source, platforms, bound, without, native = [] } of ROWS) {
  for (const platform of platforms) {
    Deno.test(`${name} stays small, and complete, for ${platform}`, async () => {
      const { gzip, parts, external, required } = await bundle(
        folder,
        source,
        platform,
      );
      const listing = parts.map((part) => part.join(" ")).join("\n");
      assert(gzip <= bound, `${gzip} bytes with gzip:\n${listing}`);
      const names = parts.map(([part]) => part);
      assertEquals(without.filter((it) => names.includes(it)), [], listing);
      assertEquals(external.filter((it) => !native.includes(it)), []);
      assertEquals(required, []);
    });
  }
}
