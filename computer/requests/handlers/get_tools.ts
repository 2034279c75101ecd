import type { GET_TOOLS_EVENT } from "../../../protocol/mod.ts";
import type { McpHost } from "../../host/host.ts";
import type { Handler } from "./handler.ts";

/** What {@linkcode getTools} needs. */
export interface GetToolsNeeds {
  /** The MCP servers. */
  readonly host: Pick<McpHost, "tools">;
}

/** Lists the tools that can be called at the moment (spec §4, §7). */
export const getTools: Handler<typeof GET_TOOLS_EVENT, GetToolsNeeds> = (
  { req_id },
  { host },
) => ({ tools: host.tools(), req_id });
