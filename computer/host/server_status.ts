import type { ServerConfig } from "../config/server_config.ts";
import type { AuthorizationError } from "./oauth/authorization_error.ts";
import type { ServerFailure } from "./server_failure.ts";
import type { McpTool } from "./mcp/tool.ts";

/**
 * The state of a hosted MCP server.
 *
 * - `starting`: has not run yet since it was started manually, or with the Computer
 * - `running`: its tools are offered
 * - `restarting`: ran, was lost, and is being restarted, with any number of attempts
 * - `failed`: failed to start; retried at `nextAttempt`, or only manually when there is none
 * - `stopped`: stopped manually
 * - `disabled`: never started, by its configuration
 */
export type ServerState =
  | "starting"
  | "running"
  | "restarting"
  | "failed"
  | "stopped"
  | "disabled";

/** The status of one MCP server of a Computer. */
export interface ServerStatus {
  /** Its name in the configuration, for people. */
  readonly name: string;
  /** What identifies it; equal to the name unless that has other characters or it is configured. */
  readonly bundleId: string;
  /** The type of its configuration. */
  readonly type: ServerConfig["type"];
  /** The current state. */
  readonly state: ServerState;
  /** The number of tools in its last list. */
  readonly tools: number;
  /** The number of automatic restarts since its last manual start. */
  readonly restarts: number;
  /** Why it is not running, or why the last attempt failed; may quote diagnostics, so never sent to an Agent. */
  readonly error?: string;
  /** The kind of failure, where it is known. */
  readonly failure?: ServerFailure;
  /** When the next automatic start is, if there is one. */
  readonly nextAttempt?: Date;
  /** Problems of its configuration and tools, one sentence each. */
  readonly problems: readonly string[];
}

/** The state of an MCP server as the rules about tools need it. */
export interface ServerView {
  /** Its name in the configuration, for people. */
  readonly name: string;
  /** What identifies it. */
  readonly bundleId: string;
  /** How the office names it: by its name, and since 0.3 by its `bundle_id`. */
  readonly address: string;
  /** The configuration; since its first start without placeholders, but in its `server_parameters`. */
  readonly config: ServerConfig;
  /** The current state. */
  readonly state: ServerState;
  /** The tools in its last list; empty before its first start. */
  readonly tools: readonly McpTool[];
  /** When the next automatic start is, if there is one. */
  readonly nextAttempt?: Date | undefined;
  /** The error of the last attempt, if the server denied the Computer access. */
  readonly refusal?: AuthorizationError | undefined;
}
