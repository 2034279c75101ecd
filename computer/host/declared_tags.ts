import { isRecord } from "../util/values.ts";
import type { McpTool } from "./mcp/tool.ts";

/** The key of a tool's `_meta` in which an MCP server declares tags. */
const KEY = "a2c_tool_meta";

/** What an MCP server declares about a tool. */
export interface Declaration {
  /** Whether it is none, valid, or to be dropped. */
  readonly kind: "absent" | "valid" | "malformed";
  /** The tags; null inherits nothing and clears nothing. */
  readonly tags: readonly string[] | null;
}

/**
 * Reads what an MCP server declares about a tool (0.4 §8.1).
 *
 * Only `tags`: it must not switch confirmation off, or rename a tool.
 */
export function readDeclaration({ meta }: Pick<McpTool, "meta">): Declaration {
  if (!Object.hasOwn(meta, KEY)) return { kind: "absent", tags: null };
  const declared = meta[KEY];
  const tags = isRecord(declared) ? declared.tags ?? null : undefined;
  return tags === null || isTexts(tags)
    ? { kind: "valid", tags }
    : { kind: "malformed", tags: null };
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** Describes malformed declarations in one sentence. */
export function malformedTags(tools: readonly McpTool[]): string | undefined {
  const [first, ...others] = tools.filter((tool) =>
    readDeclaration(tool).kind === "malformed"
  );
  if (!first) return undefined;
  const more = others.length === 0 ? "" : `, and of ${others.length} more`;
  return `its a2c_tool_meta of tool "${first.name}"${more} is ignored; expected an object whose tags are a list of texts`;
}
