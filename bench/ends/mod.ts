/**
 * What the ends cost: a tool call beside the same MCP call made directly, the commands' start-up
 * and memory, the Agent's size in browsers.
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
 * Measures the ends, one thing after another.
 *
 * @param quick proves that it runs, in some 20 seconds: the figures are of a single round
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
