import type {
  ConnectionEvents,
  ConnectionOptions,
  ConnectionState,
} from "../client/options.ts";
import type {
  CallToolResult,
  MCPServerConfig,
  MCPServerInput,
} from "../protocol/mod.ts";
import type { OAuthOptions } from "./host/oauth/authorizations.ts";
import type { Confirm } from "./tools/confirm.ts";
import type { AskInput } from "./config/inputs/input_store.ts";
import type { ServerSettings } from "./config/settings.ts";
import type { McpHostEvents, OfferedTool } from "./host/host.ts";
import type { RestartPolicy } from "./host/restart_policy.ts";
import type { ServerStatus } from "./host/server_status.ts";

/** What a {@linkcode SmcpComputer} hosts, and where it offers it. */
export interface SmcpComputerOptions extends ConnectionOptions {
  /** MCP servers by name, or a list of them; what has a default may be left out (spec §4). */
  servers:
    | Readonly<Record<string, ServerSettings>>
    | readonly (ServerSettings & { name: string } | MCPServerConfig)[];
  /** The definitions of `${input:ID}` placeholders. */
  inputs?: readonly MCPServerInput[];
  /** Values of inputs by id; they come before the environment's `SMCP_INPUT_<ID>` (spec §4). */
  inputValues?: Readonly<Record<string, unknown>>;
  /** Asks a person for the value of an input that neither of them has; its `default` comes last. */
  askInput?: AskInput;
  /** Asks whether a tool without `auto_apply` may run; without it such calls are answered 4005 (spec §7.3). */
  confirm?: Confirm;
  /**
   * Lets people authorize MCP servers over HTTP that answer 401 and have no `Authorization` header
   * in their configuration; without it such calls are answered 4006 (spec §6).
   */
  oauth?: OAuthOptions;
  /** Milliseconds that a MCP server gets to start; default 60,000: it may have to be downloaded. */
  startTimeoutMs?: number;
  /**
   * Bytes that one message of an MCP server may have: a line of a child, an event or a body over
   * HTTP; default 64 MiB. A child that writes more is restarted, over HTTP the request fails.
   */
  maxMessageBytes?: number;
  /**
   * When a MCP server that was lost or could not start is started again; default: after 0.1 s,
   * then twice as long each time up to 60 s, ± 50 %, forgotten once it ran for 10 s.
   */
  restart?: Partial<RestartPolicy>;
}

/** How a Computer is doing. */
export interface ComputerStatus {
  /** Its name in the office. */
  readonly name: string;
  /** Where the connection to the Server stands. */
  readonly connection: ConnectionState;
  /** The office that it is in, or comes back to. */
  readonly office?: string;
  /** Its MCP servers, in the order of the configuration. */
  readonly servers: readonly ServerStatus[];
  /** The tools that can be called right now. */
  readonly tools: readonly OfferedTool[];
  /** What is wrong with the configuration as a whole: tool names and hosts of URIs that clash. */
  readonly problems: readonly string[];
  /** How many tool calls are running. */
  readonly runningCalls: number;
}

/** A tool call that an Agent made. */
export interface ToolCallStarted {
  /** The calling Agent. */
  readonly agent: string;
  /** Unique among the Agent's calls. */
  readonly req_id: string;
  /** The name that the tool was called by. */
  readonly tool: string;
}

/** A tool call that was answered. */
export interface ToolCallEnded extends ToolCallStarted {
  /** How long it took. */
  readonly milliseconds: number;
  /** What was answered, failures of the tool included; absent when the request itself was refused. */
  readonly result?: CallToolResult;
}

/** What happens to a Computer. */
export interface ComputerEvents extends
  Pick<
    ConnectionEvents,
    "connected" | "disconnected" | "joined" | "rejoin_failed" | "refused"
  >,
  Pick<
    McpHostEvents,
    "server_state" | "tools_changed" | "config_changed"
  > {
  /** An Agent called a tool. */
  call_started: ToolCallStarted;
  /** The call was answered. */
  call_ended: ToolCallEnded;
}
