import type { GET_TOOLS_EVENT } from "../../../protocol/mod.ts";
import type { McpHost } from "../../host/host.ts";
import type { Handler } from "./handler.ts";

/** What the list of tools is made of. */
export interface GetToolsNeeds {
  /** The MCP servers. */
  readonly host: Pick<McpHost, "tools">;
}

/** Lists the tools that can be called right now (spec §4, §7). */
export const getTools: Handler<typeof GET_TOOLS_EVENT, GetToolsNeeds> = (
  { req_id },
  { host },
) => ({ tools: host.tools(), req_id });
