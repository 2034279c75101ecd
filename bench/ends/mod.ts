/**
 * Measures the ends: a tool call compared with the same direct MCP call, the commands' start-up
 * and memory, and the Agent's size in browsers.
 *
 * @module
 */
import { measureBundle } from "./bundle.ts";
import { measureCommands } from "./commands.ts";
import { measureOverhead } from "./overhead.ts";
import type { EndsResult } from "./result.ts";

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
