import type { McpTool } from "./mcp/mcp_connection.ts";
import type { ServerView } from "./server_status.ts";
import { isRecord } from "../../protocol/names.ts";
import type {
  AttributeValue,
  BaseMCPServerConfig,
  SMCPTool,
  ToolMeta,
} from "../../protocol/mod.ts";
import { MCP_SERVER_KEY } from "../../protocol/payloads/tools.ts";

/** The four fields of `a2c_tool_meta` on the wire (protocol §4). */
export interface EffectiveToolMeta {
  /** Whether the tool runs without user confirmation. */
  readonly auto_apply: boolean | null;
  /** The name under which the tool is offered. */
  readonly alias: string | null;
  /** Free-form tags for the Agent. */
  readonly tags: readonly string[] | null;
  /** How the Agent maps results. */
  readonly ret_object_mapper: Readonly<Record<string, unknown>> | null;
}

/**
 * Merges `tool_meta[tool]` over `default_tool_meta` over the tags that the MCP server declares, field
 * by field; null means absent (protocol §7).
 */
export function effectiveToolMeta(
  { tool_meta, default_tool_meta }: Pick<
    BaseMCPServerConfig,
    "tool_meta" | "default_tool_meta"
  >,
  tool: string,
  declared: Pick<Declaration, "tags"> = { tags: null },
): EffectiveToolMeta {
  const own: ToolMeta = Object.hasOwn(tool_meta, tool)
    ? tool_meta[tool] ?? {}
    : {};
  const fallback: ToolMeta = default_tool_meta ?? {};
  return {
    auto_apply: own.auto_apply ?? fallback.auto_apply ?? null,
    alias: own.alias ?? fallback.alias ?? null,
    tags: own.tags ?? fallback.tags ?? declared.tags,
    ret_object_mapper: own.ret_object_mapper ?? fallback.ret_object_mapper ??
      null,
  };
}

/** A tool with the name by which Agents call it. */
export interface NamedTool {
  /**
   * Its alias, or its MCP name with the prefix of its server; since 0.3 the `bundle_id` of its server,
   * `__`, and its alias or MCP name.
   */
  readonly name: string;
  /** The MCP server that has it. */
  readonly server: ServerView;
  /** The tool as the server lists it. */
  readonly tool: McpTool;
}

/** Describes a tool as Agents see it (protocol §4). */
export const toSMCPTool = (
  { name, tool, server }: NamedTool,
): SMCPTool => ({
  name,
  ...(server.bundleIds && { bundle_id: server.bundleId }),
  description: tool.description,
  params_schema: tool.inputSchema,
  return_schema: tool.outputSchema,
  meta: attributes(tool, server),
  ...(tool.title !== undefined && { title: tool.title }),
  ...(tool.icons && tool.icons.length > 0 && { icons: [...tool.icons] }),
});

/**
 * Builds `SMCPTool.meta`: simple values, structured ones as JSON strings, no nulls (protocol §4).
 *
 * The keys of the protocol override the MCP server's keys of the same name.
 */
function attributes(
  tool: McpTool,
  { config, bundleIds, name: server, address }: ServerView,
): Record<string, AttributeValue> {
  const { meta, annotations, name } = tool;
  const declared = readDeclaration(tool);
  const effective = effectiveToolMeta(config, name, declared);
  const isWritten = declared.kind === "valid" ||
    Object.values(effective).some((v) => v !== null);
  const values: Record<string, unknown> = {
    ...meta,
    MCP_TOOL_ANNOTATION: annotations,
    [MCP_SERVER_KEY]: bundleIds ? server : address,
    a2c_tool_meta: isWritten ? effective : undefined,
  };
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([key, value]) => [
        key,
        isSimple(value) ? value : JSON.stringify(value),
      ]),
  );
}

const isSimple = (value: unknown): value is AttributeValue =>
  ["string", "number", "boolean"].includes(typeof value);

/** The key of a tool's `_meta` in which an MCP server declares tags. */
const KEY = "a2c_tool_meta";

/** The declaration of an MCP server about a tool. */
interface Declaration {
  /** Whether it is none, valid, or to be dropped. */
  readonly kind: "absent" | "valid" | "malformed";
  /** The tags; null inherits nothing and clears nothing. */
  readonly tags: readonly string[] | null;
}

/**
 * Reads what an MCP server declares about a tool (protocol §7).
 *
 * Only `tags`: it must not switch confirmation off, or rename a tool.
 */
function readDeclaration({ meta }: Pick<McpTool, "meta">): Declaration {
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
