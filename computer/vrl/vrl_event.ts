import { type CallToolResult, withResultMeta } from "../../protocol/mod.ts";

/** Key of the result's metadata for the output of its VRL program (spec §7.9). */
export const VRL_TRANSFORMED = "a2c_vrl_transformed";

/**
 * Creates the event that a VRL program gets: the result and the call (spec §7.9).
 *
 * @param tool the original name, not the alias
 */
export const vrlEvent = (
  result: CallToolResult,
  tool: string,
  parameters: Record<string, unknown>,
): Record<string, unknown> => ({
  ...result,
  isError: result.isError ?? false,
  tool_name: tool,
  parameters,
});

/** Adds the output of a VRL program, of any type, as a JSON string (spec §7.9). */
export const withTransformed = (
  result: CallToolResult,
  event: unknown,
): CallToolResult =>
  withResultMeta(result, { [VRL_TRANSFORMED]: JSON.stringify(event ?? null) });
