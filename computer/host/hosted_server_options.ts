import type { ServerConfig } from "../config/server_config.ts";
import type { ServerNames } from "./naming/server_set.ts";
import type { McpConnection } from "./mcp/connection.ts";
import type { RestartPolicy } from "./restart_policy.ts";
import type { ServerStatus } from "./server_status.ts";

/** Starts or reaches an MCP server; cleans up before it rejects. */
export type ConnectMcp = (
  config: ServerConfig,
  signal: AbortSignal,
) => Promise<McpConnection>;

/** Options of a {@linkcode HostedServer}. */
export interface HostedServerOptions {
  /** How the servers are named. */
  readonly names: Pick<ServerNames, "addressOf" | "bundleIds">;
  /** Opens the connection. */
  readonly connect: ConnectMcp;
  /** Replaces placeholders with their values at each start. */
  readonly prepare: (
    config: ServerConfig,
    signal: AbortSignal,
  ) => Promise<ServerConfig>;
  /** The time from the end of `prepare` to the list of tools. */
  readonly startTimeoutMs: number;
  /** When the server is restarted automatically. */
  readonly restart: RestartPolicy;
  /** Called when the state changed. */
  readonly onState: (status: ServerStatus) => void;
  /** Called when the list of tools changed. */
  readonly onTools: () => void;
  /** Called with each notification of the server; must not block. */
  readonly onNotification: (
    method: string,
    params: Record<string, unknown>,
  ) => void;
}
