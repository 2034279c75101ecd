import type { Icon, Tool } from "@modelcontextprotocol/server";
import { mcpServerOf, type SMCPTool } from "../../protocol/mod.ts";
import {
  mendInputSchema,
  mendOutputSchema,
  mendToolAnnotations,
} from "../../protocol/mcp/mend.ts";
import { withoutNames } from "../../protocol/mcp/schema_check.ts";
import { withPageUris } from "../../protocol/mcp/apps.ts";
import { mendForModels } from "./model_schema.ts";
import { linkTo } from "../resources/uris.ts";
import { parsed, parseObject } from "./result.ts";

/** Before the keys of our own in `_meta`. */
const VENDOR = "a2c-smcp/";

/** The keys of `SMCPTool.meta` that A2C has put there; all others are the MCP server's. */
const OWN_KEYS = ["MCP_TOOL_ANNOTATION", "a2c_tool_meta", "a2c_mcp_server"];

/**
 * Makes the MCP tool of a Computer's tool.
 *
 * @param how its `name` for clients; `naming`: title and description name the Computer; `lenient`: the
 * output schema is left out, and that of its arguments is mended for the APIs of models
 */
export function toMcpTool(
  tool: SMCPTool,
  { name, computer, naming, lenient }: {
    readonly name: string;
    readonly computer: string;
    readonly naming: boolean;
    readonly lenient: boolean;
  },
): Tool {
  const annotations = mendToolAnnotations(
    parseObject(tool.meta?.MCP_TOOL_ANNOTATION),
    ignore,
  );
  const { schema: params_schema, changes } = lenient
    ? mendForModels(tool.params_schema)
    : { schema: tool.params_schema, changes: [] };
  const input = { ...params_schema, type: "object" as const };
  const outputSchema = tool.return_schema && !lenient
    ? mendOutputSchema(tool.return_schema, ignore)
    : undefined;
  const title = [tool.title, annotations?.title]
    .find((title): title is string =>
      typeof title === "string" && title !== ""
    );
  const icons = iconsOf(tool);
  return {
    name,
    ...(title !== undefined &&
      { title: naming ? `${title} (${computer})` : title }),
    description: naming
      ? `[${computer}] ${tool.description}`.trimEnd()
      : tool.description,
    inputSchema: mendInputSchema(input, ignore) as Tool["inputSchema"],
    // Always, not only where an id occurs twice: what a client compiled must not depend on the other tools.
    ...(outputSchema && { outputSchema: withoutNames(outputSchema) }),
    ...(annotations && { annotations }),
    ...(icons && { icons }),
    _meta: {
      ...metaOf(tool, computer),
      ...(changes.length > 0 && { [`${VENDOR}schema_changes`]: changes }),
    },
  };
}

/** The Computer names what is wrong with its tools. */
const ignore = () => {};

/** The words that a Computer's owner tagged a tool with. */
export function tagsOf({ meta }: SMCPTool): string[] {
  const tags = parseObject(meta?.a2c_tool_meta)?.tags;
  return Array.isArray(tags)
    ? tags.filter((tag) => typeof tag === "string")
    : [];
}

const iconsOf = ({ icons }: SMCPTool): Icon[] | undefined =>
  icons?.map(({ src, mimeType, sizes, theme }) => ({
    src,
    ...(mimeType && { mimeType }),
    ...(sizes && { sizes }),
    ...((theme === "light" || theme === "dark") && { theme }),
  }));

/** The MCP server's own metadata as it was before A2C made simple values of it, and where the tool is. */
function metaOf(tool: SMCPTool, computer: string): Record<string, unknown> {
  const server = mcpServerOf(tool);
  const tags = tagsOf(tool);
  const theirs = Object.entries(tool.meta ?? {})
    .filter(([key]) => !OWN_KEYS.includes(key))
    .map(([key, value]) => [key, structured(value)]);
  const meta: Record<string, unknown> = Object.fromEntries(theirs);
  return {
    ...server === undefined
      ? meta
      : withPageUris(meta, (uri) => linkTo({ computer, server }, uri)),
    [`${VENDOR}computer`]: computer,
    [`${VENDOR}tool`]: tool.name,
    ...(server !== undefined && { [`${VENDOR}mcp_server`]: server }),
    ...(tags.length > 0 && { [`${VENDOR}tags`]: tags }),
  };
}

/** Undoes what a Computer does to objects and lists of `_meta`: it makes JSON strings of them. */
function structured(value: unknown): unknown {
  if (typeof value !== "string" || !/^[[{]/.test(value)) return value;
  return parsed(value) ?? value;
}
