import type { ConnectionEvents } from "../../client/options.ts";
import type { ServerStatus } from "../host/server_status.ts";
import type {
  CallToolResult,
  ToolProgress,
  Waiting,
} from "../../protocol/mod.ts";

/** Events of a tool host, with their values. */
export interface ToolHostEvents {
  /** The state of an MCP server changed. */
  serverState: ServerStatus;
  /** The tools that are offered may have changed. */
  toolsChanged: undefined;
  /** Something else was left out of an answer to an Agent than before; the status names it. */
  problemsChanged: undefined;
  /** Skills came, went or changed. */
  skillsChanged: undefined;
  /** MCP servers or inputs were added, replaced or removed. */
  configChanged: undefined;
  /** Something was allowed for later calls, too, or holds no more. */
  permissionsChanged: undefined;
  /** A tool was called. */
  callStarted: ToolCallArrived;
  /** The call has come further, and its caller asked for progress. */
  callProgress: ToolCallAdvanced;
  /** The call waits for a person at this Computer, or no more. */
  callWaiting: ToolCallWaiting;
  /** The call was answered. */
  callEnded: ToolCallEnded;
}

/**
 * Events of a Computer, with their values: those of its tool host, and those of the connection.
 *
 * No name is one of the wire: the Computer itself announces changes to its office (`toolsChanged` as
 * `server:update_tool_list`, `configChanged` as `server:update_config`).
 */
export interface ComputerEvents extends ToolHostEvents, ConnectionEvents {}

/** A tool call that an Agent made, or an operator of the Server. */
export interface ToolCallStarted {
  /** The calling Agent; `operator` where an operator calls. */
  readonly agent: string;
  /** The operator, where one calls. */
  readonly operator?: string;
  /** Unique among the Agent's calls. */
  readonly reqId: string;
  /** The name that the Agent used: the alias, or the tool's own name. */
  readonly tool: string;
}

/** A tool call that has just arrived. */
export interface ToolCallArrived extends ToolCallStarted {
  /** Its arguments; the caller's own, so they are not for a log. */
  readonly params: Readonly<Record<string, unknown>>;
}

/** A tool call that has come further, whose caller asked for progress. */
export interface ToolCallAdvanced extends ToolCallStarted {
  /** How far it is. */
  readonly progress: ToolProgress;
}

/** A tool call that waits for a person, or no more. */
export interface ToolCallWaiting extends ToolCallStarted {
  /** The reason for the wait; `null`: it goes on. */
  readonly waiting: Waiting | null;
}

/** A tool call that was answered. */
export interface ToolCallEnded extends ToolCallStarted {
  /** Milliseconds from its arrival at this Computer to the answer, confirmation included. */
  readonly durationMs: number;
  /** The answer, including failures of the tool; absent when the request itself was refused. */
  readonly result?: CallToolResult;
}
