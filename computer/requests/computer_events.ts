import type { ConnectionEvents } from "../../client/options.ts";
import type { McpHostEvents } from "../host/host.ts";
import type { ToolCallEnded, ToolCallStarted } from "../tools/call_events.ts";

/** Events of a tool host, with their values. */
export interface ToolHostEvents
  extends
    Pick<McpHostEvents, "serverState" | "toolsChanged" | "configChanged"> {
  /** A tool was called. */
  callStarted: ToolCallStarted;
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
