import { createHash } from "node:crypto";
import type { ToolCallReq } from "../protocol/mod.ts";

/**
 * A short text that is equal for calls of the same tool with the same params, whatever the order
 * of their keys (spec §7.4).
 */
export const callFingerprint = (
  { tool_name, params }: Pick<ToolCallReq, "tool_name" | "params">,
): string =>
  createHash("sha256").update(canonical([tool_name, params])).digest("base64");

const canonical = (value: unknown): string =>
  JSON.stringify(
    value,
    (_key, item) =>
      typeof item === "object" && item !== null && !Array.isArray(item)
        ? Object.fromEntries(
          Object.entries(item).sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0),
        )
        : item,
  );
