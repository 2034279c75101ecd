import type {
  ConnectMcp,
  HostedServerOptions,
} from "./hosted_server_options.ts";
import type { RestartPolicy } from "./restart_policy.ts";
import type { ServerStatus } from "./server_status.ts";

/** Options of an `McpHost`. */
export interface McpHostOptions {
  /** Starts and reaches MCP servers; default: `connectMcp`. */
  readonly connect?: ConnectMcp;
  /** Replaces placeholders at each start; default: none has a value, so a configuration with placeholders fails. */
  readonly prepare?: HostedServerOptions["prepare"];
  /** How long an MCP server may take to start; default 60,000, as it may have to be downloaded. */
  readonly startTimeoutMs?: number;
  /** When a server that was lost or failed to start is restarted. */
  readonly restart?: Partial<RestartPolicy> | undefined;
}

/** Events of an `McpHost`, with their values. */
export interface McpHostEvents {
  /** A server's state changed. */
  serverState: ServerStatus;
  /** The offered tools may have changed. */
  toolsChanged: undefined;
  /** Servers were added, replaced or removed. */
  configChanged: undefined;
  /** The list of resources of the server with this `bundle_id` changed. */
  resourcesChanged: { server: string };
  /** Its list of prompts changed. */
  promptsChanged: { server: string };
  /** A subscribed resource of it changed. */
  resourceUpdated: { server: string; uri: string };
}
