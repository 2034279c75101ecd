import type { ConnectionEvents } from "../../client/options.ts";
import type { ServerStatus } from "../host/server_status.ts";
import type {
  ToolCallAdvanced,
  ToolCallArrived,
  ToolCallEnded,
  ToolCallWaiting,
} from "../tools/call_events.ts";

/** Events of a tool host, with their values. */
export interface ToolHostEvents {
  /** The state of an MCP server changed. */
  serverState: ServerStatus;
  /** The tools that are offered may have changed. */
  toolsChanged: undefined;
  /** Skills came, went or changed. */
  skillsChanged: undefined;
  /** MCP servers or inputs were added, replaced or removed. */
  configChanged: undefined;
  /** A tool was called. */
  callStarted: ToolCallArrived;
  /** The call has come further, and its caller asked to be told. */
  callProgress: ToolCallAdvanced;
  /** The call waits for a person at this Computer, or no more. */
  callWaiting: ToolCallWaiting;
  /** The call was answered. */
  callEnded: ToolCallEnded;
}

/**
 * Events of a Computer, with their values: those of its tool host, and those of the connection.
 *
 * No name is one of the wire: the Computer itself tells its office what changed (`toolsChanged` as
 * `server:update_tool_list`, `configChanged` as `server:update_config`).
 */
export interface ComputerEvents extends ToolHostEvents, ConnectionEvents {}
