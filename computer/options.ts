import type { ConnectionOptions, ConnectionState } from "../client/options.ts";
import type { ClientProtocol } from "../client/versions.ts";
import type { MCPServerInput } from "../protocol/mod.ts";
import type { BlobOptions } from "./blobs/blobs.ts";
import type { ServerConfig, ServerSettings } from "./config/config.ts";
import type { OfferedTool } from "./host/tool_table.ts";
import type { HostingOptions } from "./host/hosting.ts";
import type { ServerStatus } from "./host/server_status.ts";
import type { Confirm } from "./tools/confirmations.ts";
import type { Elicit } from "./tools/elicitations.ts";

/** What a {@linkcode ToolHost} hosts, and how. */
export interface ToolHostOptions extends HostingOptions, BlobOptions {
  /** MCP servers by name, or a list of them; what has a default may be left out (spec §4). */
  servers:
    | Readonly<Record<string, ServerSettings>>
    | readonly (ServerSettings & { name: string } | ServerConfig)[];
  /** The definitions of `${input:ID}` placeholders. */
  inputs?: readonly MCPServerInput[];
  /** Asks whether a tool without `auto_apply` may run; without it such calls are answered 4005 (spec §7.3). */
  confirm?: Confirm;
  /**
   * The folder of skills, whose part `user` is offered as it is, and watched; those of MCP servers
   * are kept in its part `mcp`. Without it there are no skills.
   */
  skillHome?: string;
  /** Answers questions that MCP servers ask during tool calls; without it they are told that nobody can. */
  elicit?: Elicit;
}

/** What a {@linkcode SmcpComputer} hosts, and where it offers it. */
export interface SmcpComputerOptions
  extends ConnectionOptions, ToolHostOptions {
  /**
   * Whether to answer the Server's operators with 403. By default they may ask what an Agent may: for
   * tools, MCP servers and windows, and for tool calls, which are confirmed as an Agent's are.
   */
  refuseOperators?: boolean;
}

/** How the MCP servers of a {@linkcode ToolHost} are doing. */
export interface ToolHostStatus {
  /** Its MCP servers, in the order of the configuration. */
  readonly servers: readonly ServerStatus[];
  /** The tools that can be called right now. */
  readonly tools: readonly OfferedTool[];
  /** The names of the skills that it offers. */
  readonly skills: readonly string[];
  /** What is wrong with the configuration as a whole: ids, tool names and hosts of URIs that clash, skills that are left out. */
  readonly problems: readonly string[];
  /** How many tool calls are running. */
  readonly runningCalls: number;
}

/** How a Computer is doing. */
export interface ComputerStatus extends ToolHostStatus {
  /** Its name in the office. */
  readonly name: string;
  /** Where the connection to the Server stands. */
  readonly connection: ConnectionState;
  /** The protocol version of the connection, or of the next attempt. */
  readonly protocol: ClientProtocol;
  /** The office that it is in, or comes back to. */
  readonly office?: string;
}
