import { type CallToolResult, withResultMeta } from "../../protocol/mod.ts";

/** The key of a result's metadata that holds what a VRL program made of it (spec §7.9). */
export const VRL_TRANSFORMED = "a2c_vrl_transformed";

/**
 * What a VRL program gets: the result, with the call that led to it (spec §7.9).
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

/** Adds what a VRL program made, of whatever type, as a JSON string (spec §7.9). */
export const withTransformed = (
  result: CallToolResult,
  event: unknown,
): CallToolResult =>
  withResultMeta(result, { [VRL_TRANSFORMED]: JSON.stringify(event ?? null) });
