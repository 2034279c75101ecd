import { bundleIdOf } from "../../config/bundle_id.ts";
import type { ServerConfig } from "../../config/server_config.ts";
import type { McpTool } from "../mcp/tool.ts";
import { isForbidden, MAX_NAME_LENGTH, toolName } from "./tool_naming.ts";

/** Maximum characters of a tool's name that every model provider accepts. */
const RECOMMENDED_LENGTH = 64;

/** Findings about the lengths of names. */
export interface LongNames {
  /** One sentence for each tool that is left out. */
  readonly problems: readonly string[];
  /** A sentence about tools that not every model can call. */
  readonly warning?: string;
}

/**
 * Finds the tools of an MCP server whose offered names are too long.
 *
 * @param bundleIds whether names begin with the `bundle_id` of their server
 */
export function longNames(
  config: ServerConfig,
  tools: readonly Pick<McpTool, "name">[],
  bundleIds = false,
): LongNames {
  const server = { config, bundleId: bundleIdOf(config) };
  const prefix = bundleIds ? "bundle_id" : "tool_prefix";
  const names = tools.filter(({ name }) => !isForbidden(server, name))
    .map(({ name }) => ({ name, offered: toolName(server, name, bundleIds) }));
  const long = names.filter(({ offered }) =>
    offered.length > RECOMMENDED_LENGTH && offered.length <= MAX_NAME_LENGTH
  );
  return {
    problems: names
      .filter(({ offered }) => offered.length > MAX_NAME_LENGTH)
      .map(({ name }) =>
        `tool "${
          name.slice(0, 40)
        }…" is left out: behind its ${prefix} its name is longer than ${MAX_NAME_LENGTH} characters; give it an alias`
      ),
    ...(long.length > 0 && {
      warning:
        `${long.length} of its tools have names of more than ${RECOMMENDED_LENGTH} characters, which not every model can call, such as "${
          long[0]?.offered
        }"; give them an alias, or the server a shorter ${prefix}`,
    }),
  };
}
