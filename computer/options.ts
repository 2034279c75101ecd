/**
 * What a Computer hosts, and how that is doing.
 *
 * @module
 */
import type { MCPServerInput } from "../protocol/mod.ts";
import type { NamesOf } from "../shared/checks.ts";
import { BLOB_NAMES, type BlobOptions } from "./blobs/options.ts";
import type { ServerConfig, ServerSettings } from "./config/config.ts";
import { HOSTING_NAMES, type HostingOptions } from "./host/hosting.ts";
import type { ServerStatus } from "./host/server_status.ts";
import type { OfferedTool } from "./host/tool_table.ts";
import type { PermissionStore } from "./rules/permissions.ts";
import type { Rule } from "./rules/rules.ts";
import type { CallToConfirm, Confirm } from "./tools/confirm.ts";
import type { Elicit } from "./tools/elicitations.ts";

/** What a {@linkcode ToolHost} hosts, and how. */
export interface ToolHostOptions extends HostingOptions, BlobOptions {
  /** MCP servers by name, or a list of them; what has a default may be left out (protocol §4). */
  servers:
    | Readonly<Record<string, ServerSettings>>
    | readonly (ServerSettings & { name: string } | ServerConfig)[];
  /** The definitions of `${input:ID}` placeholders. */
  inputs?: readonly MCPServerInput[];
  /** Asks whether a tool without `auto_apply` may run; without it such calls are answered 4005 (protocol §7). */
  confirm?: Confirm;
  /**
   * Lets those calls run without a question, and is called with each of them; not with calls that a rule
   * denies, or asks about every time.
   */
  allowAsked?: (call: CallToConfirm) => void;
  /**
   * Rules about tool calls, of which the first that matches decides; what none is about, `auto_apply` and
   * `confirm` decide.
   */
  rules?: readonly Rule[];
  /** Keeps what was allowed for later calls, too; without it that ends with the Computer. */
  permissions?: PermissionStore;
  /**
   * The folder of skills, whose part `user` is offered as it is, and watched; those of MCP servers
   * are kept in its part `mcp`. Without it there are no skills.
   */
  skillHome?: string;
  /** Answers questions that MCP servers ask during tool calls; without it they are refused. */
  elicit?: Elicit;
}

/** The names of {@linkcode ToolHostOptions}. */
export const TOOL_HOST_NAMES = {
  ...HOSTING_NAMES,
  ...BLOB_NAMES,
  servers: true,
  inputs: true,
  confirm: true,
  allowAsked: true,
  rules: true,
  permissions: true,
  skillHome: true,
  elicit: true,
} satisfies NamesOf<ToolHostOptions>;

/** How the MCP servers of a {@linkcode ToolHost} are doing. */
export interface ToolHostStatus {
  /** Its MCP servers, in the order of the configuration. */
  readonly servers: readonly ServerStatus[];
  /** The tools that can be called right now. */
  readonly tools: readonly OfferedTool[];
  /** The names of the skills that it offers. */
  readonly skills: readonly string[];
  /** What is wrong as a whole: clashing ids, tool names and hosts of URIs; skills and answers that are left out. */
  readonly problems: readonly string[];
  /** How many tool calls are running. */
  readonly runningCalls: number;
}
