import type { ConnectionOptions, ConnectionState } from "../client/options.ts";
import type { MCPServerConfig, MCPServerInput } from "../protocol/mod.ts";
import type { ServerSettings } from "./config/settings.ts";
import type { OfferedTool } from "./host/host.ts";
import type { HostingOptions } from "./host/hosting_options.ts";
import type { ServerStatus } from "./host/server_status.ts";
import type { Confirm } from "./tools/confirm.ts";

/** What a {@linkcode ToolHost} hosts, and how. */
export interface ToolHostOptions extends HostingOptions {
  /** MCP servers by name, or a list of them; what has a default may be left out (spec §4). */
  servers:
    | Readonly<Record<string, ServerSettings>>
    | readonly (ServerSettings & { name: string } | MCPServerConfig)[];
  /** The definitions of `${input:ID}` placeholders. */
  inputs?: readonly MCPServerInput[];
  /** Asks whether a tool without `auto_apply` may run; without it such calls are answered 4005 (spec §7.3). */
  confirm?: Confirm;
}

/** What a {@linkcode SmcpComputer} hosts, and where it offers it. */
export interface SmcpComputerOptions
  extends ConnectionOptions, ToolHostOptions {}

/** How the MCP servers of a {@linkcode ToolHost} are doing. */
export interface ToolHostStatus {
  /** Its MCP servers, in the order of the configuration. */
  readonly servers: readonly ServerStatus[];
  /** The tools that can be called right now. */
  readonly tools: readonly OfferedTool[];
  /** What is wrong with the configuration as a whole: tool names and hosts of URIs that clash. */
  readonly problems: readonly string[];
  /** How many tool calls are running. */
  readonly runningCalls: number;
}

/** Options for a tool call that this process makes. */
export interface CallHostedToolOptions {
  /** Who calls, as `confirm` and the events are told; default `"local"`. */
  agent?: string;
  /** Cancels the call: the MCP server is told, and the result says that it was cancelled. */
  signal?: AbortSignal;
  /** For the whole call, confirmation included, in whole seconds; up to an hour, default 60,000. */
  timeoutMs?: number;
}

/** What documents are searched for. */
export interface FindDocumentsOptions {
  /** Matches documents with any of them in title, keywords or summary, case-insensitive. */
  keywords?: string[];
  /** Exact file type, such as `pdf`. */
  fileType?: string;
  /** How many to skip; default 0. */
  offset?: number;
  /** How many to return, 1 to 100; default 20. */
  limit?: number;
}

/** How a Computer is doing. */
export interface ComputerStatus extends ToolHostStatus {
  /** Its name in the office. */
  readonly name: string;
  /** Where the connection to the Server stands. */
  readonly connection: ConnectionState;
  /** The office that it is in, or comes back to. */
  readonly office?: string;
}
