import type { ServerConfig } from "../config/server_config.ts";
import type { McpConnection } from "./mcp/connection.ts";
import type { RestartPolicy } from "./restart_policy.ts";
import type { ServerStatus } from "./server_status.ts";

/** Starts or reaches an MCP server; nothing of it is left when it rejects. */
export type ConnectMcp = (
  config: ServerConfig,
  signal: AbortSignal,
) => Promise<McpConnection>;

/** What a {@linkcode HostedServer} needs, and whom it tells what. */
export interface HostedServerOptions {
  /** Makes the connection. */
  readonly connect: ConnectMcp;
  /** Replaces placeholders by their values, each time the server starts. */
  readonly prepare: (
    config: ServerConfig,
    signal: AbortSignal,
  ) => Promise<ServerConfig>;
  /** Milliseconds from the end of `prepare` to the list of tools. */
  readonly startTimeoutMs: number;
  /** When it is started again by itself. */
  readonly restart: RestartPolicy;
  /** Its state changed. */
  readonly onState: (status: ServerStatus) => void;
  /** What tools it offers changed. */
  readonly onTools: () => void;
  /** A notification of the server; must not wait for anything. */
  readonly onNotification: (
    method: string,
    params: Record<string, unknown>,
  ) => void;
}
