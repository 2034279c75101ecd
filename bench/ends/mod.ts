/**
 * Measures the ends: a tool call compared with the same direct MCP call, the commands' start-up
 * and memory, and the Agent's size in browsers.
 *
 * @module
 */
import { brotliCompressSync } from "node:zlib";
import { bundle, installForBundles } from "../../tools/npm/bundle.ts";
import { measureCommands } from "./commands.ts";
import { measureOverhead } from "./overhead.ts";
import type { BundleSize, EndsResult } from "./result.ts";

export { renderEnds } from "./render.ts";
export type { EndsResult } from "./result.ts";

/**
 * Measures the ends, one part after another.
 *
 * @param quick only check that it works, in about 20 seconds, with a single round
 */
export async function measureEnds(
  { quick }: { quick: boolean },
): Promise<EndsResult> {
  return {
    overhead: await measureOverhead({ quick }),
    commands: await measureCommands({ quick }),
    bundle: await measureBundle(),
  };
}

/** Bundles the Agent of the npm package for browsers, and measures the share of each package. */
async function measureBundle(): Promise<BundleSize> {
  const folder = await Deno.makeTempDir({ prefix: "smcp-ends-" });
  try {
    await installForBundles(folder);
    const { code, minified, gzip, parts } = await bundle(
      folder,
      'export { SmcpAgent } from "@a2c-smcp/sdk/agent";',
      "browser",
    );
    return { minified, gzip, brotli: brotliCompressSync(code).length, parts };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
