import type { McpHost } from "../../host/host.ts";
import type { RecentServers } from "../../resources/recent_servers.ts";
import type { ResourceWatch } from "../../resources/resource_watch.ts";
import type { WarnOnce } from "../../util/warn_once.ts";

/** What the desktop and the finder are made of. */
export interface ResourceNeeds {
  /** The MCP servers. */
  readonly host: McpHost;
  /** Is told which windows and documents they list. */
  readonly watch: Pick<ResourceWatch, "saw">;
  /** The MCP servers of which tools were called. */
  readonly recent: Pick<RecentServers, "history">;
  /** Says what is odd about resources. */
  readonly warnOnce: WarnOnce;
}
