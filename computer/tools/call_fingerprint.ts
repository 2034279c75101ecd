import { createHash } from "node:crypto";
import type { ToolCallReq } from "../../protocol/mod.ts";

/** A text up to this length is used unhashed: hashing it would take longer than everything else. */
const MAX_UNHASHED_CHARACTERS = 512;

/**
 * Computes a short text that is equal for calls of the same tool with equal params; the order of
 * keys does not matter (spec §7.4).
 */
export function callFingerprint(
  { tool_name, params, request_state, input_responses }:
    & Pick<ToolCallReq, "tool_name" | "params">
    & Partial<Pick<ToolCallReq, "request_state" | "input_responses">>,
): string {
  const call = request_state === undefined
    ? [tool_name, params]
    : [tool_name, params, request_state, input_responses];
  const text = JSON.stringify(sorted(call)); // starts with a bracket; no hash does
  return text.length <= MAX_UNHASHED_CHARACTERS
    ? text
    : createHash("sha256").update(text).digest("base64");
}

/** Returns an equal value with the keys of all objects sorted. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
      .map(([key, item]) => [key, sorted(item)]),
  );
}
