import { createHash } from "node:crypto";
import type { ToolCallReq } from "../../protocol/mod.ts";

/** Characters of a text that is kept as it is: to hash a short one takes longer than all else. */
const SHORT = 512;

/**
 * A short text that is equal for calls of the same tool with the same params, whatever the order
 * of their keys (spec §7.4).
 */
export function callFingerprint(
  { tool_name, params }: Pick<ToolCallReq, "tool_name" | "params">,
): string {
  const text = JSON.stringify(sorted([tool_name, params])); // starts with a bracket, as no hash does
  return text.length <= SHORT
    ? text
    : createHash("sha256").update(text).digest("base64");
}

/** The same value with the keys of its objects in order. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)
      .map(([key, item]) => [key, sorted(item)]),
  );
}
