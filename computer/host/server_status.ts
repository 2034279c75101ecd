import type { ServerConfig } from "../config/server_config.ts";
import type { AuthorizationError } from "./oauth/authorization_error.ts";
import type { McpTool } from "./mcp/tool.ts";

/**
 * Where a hosted MCP server stands.
 *
 * - `starting`: and did not run yet since a person, or the Computer's own start, set it going
 * - `running`: its tools are offered
 * - `restarting`: it ran, was lost, and is on its way back, however many attempts that takes
 * - `failed`: could not start; tried again at `nextAttempt`, or by hand alone when there is none
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
  readonly type: ServerConfig["type"];
  /** Where it stands. */
  readonly state: ServerState;
  /** How many tools it listed last. */
  readonly tools: number;
  /** How often it came back by itself since it was started by hand. */
  readonly restarts: number;
  /** Why it is not running, or what ended the last attempt; may quote its diagnostics, so never to be sent to an Agent. */
  readonly error?: string;
  /** When it is started again, if somebody will. */
  readonly nextAttempt?: Date;
  /** What is odd about it, one sentence each. */
  readonly problems: readonly string[];
}

/** What the rules about tools need to know of an MCP server. */
export interface ServerView {
  /** The key in the configuration. */
  readonly name: string;
  /** As loaded, placeholders and all. */
  readonly config: ServerConfig;
  /** Where it stands. */
  readonly state: ServerState;
  /** What it listed last; empty before its first start. */
  readonly tools: readonly McpTool[];
  /** When it is started again, if somebody will. */
  readonly nextAttempt?: Date | undefined;
  /** What the last attempt to start it ended with, when it did not let the Computer in. */
  readonly refusal?: AuthorizationError | undefined;
}
