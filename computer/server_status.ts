import type { MCPServerConfig } from "../protocol/mod.ts";
import type { McpTool } from "./mcp/tool.ts";

/**
 * Where a hosted MCP server stands.
 *
 * - `starting`: for the first time, or by hand
 * - `running`: its tools are offered
 * - `restarting`: lost, and on its way back
 * - `failed`: could not start, or was lost, and nothing tries again
 * - `stopped`: by hand
 * - `disabled`: by its configuration; never started
 */
export type ServerState =
  | "starting"
  | "running"
  | "restarting"
  | "failed"
  | "stopped"
  | "disabled";

/** What a Computer tells about one of its MCP servers. */
export interface ServerStatus {
  /** The key in the configuration. */
  readonly name: string;
  /** How it is reached. */
  readonly type: MCPServerConfig["type"];
  /** Where it stands. */
  readonly state: ServerState;
  /** How many tools it listed last. */
  readonly tools: number;
  /** Why it is not running; may quote its diagnostics, so never to be sent to an Agent. */
  readonly error?: string;
  /** When it is started again, if somebody will. */
  readonly nextAttempt?: Date;
  /** What is odd about it, one sentence each. */
  readonly problems: readonly string[];
}

/** What the rules about tools need to know of a MCP server. */
export interface ServerView {
  /** The key in the configuration. */
  readonly name: string;
  /** As loaded, placeholders and all. */
  readonly config: MCPServerConfig;
  /** Where it stands. */
  readonly state: ServerState;
  /** What it listed last; empty before its first start. */
  readonly tools: readonly McpTool[];
  /** When it is started again, if somebody will. */
  readonly nextAttempt?: Date | undefined;
}
