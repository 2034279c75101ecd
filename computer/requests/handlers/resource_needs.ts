import type { McpHost } from "../../host/host.ts";
import type { RecentServers } from "../../resources/recent_servers.ts";
import type { ResourceWatch } from "../../resources/resource_watch.ts";
import type { WarnOnce } from "../../util/warn_once.ts";

/** What Desktop and Finder need. */
export interface ResourceNeeds {
  /** The MCP servers. */
  readonly host: McpHost;
  /** Receives the resources that each server lists. */
  readonly watch: Pick<ResourceWatch, "saw">;
  /** The MCP servers whose tools were called. */
  readonly recent: Pick<RecentServers, "history">;
  /** Logs warnings about invalid resources. */
  readonly warnOnce: WarnOnce;
}
