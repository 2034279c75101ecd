import type { ConnectionEvents } from "../../client/options.ts";
import type { McpHostEvents } from "../host/host.ts";
import type { ToolCallEnded, ToolCallStarted } from "../tools/call_events.ts";

/** Events of a tool host, with their values. */
export interface ToolHostEvents
  extends
    Pick<McpHostEvents, "server_state" | "tools_changed" | "config_changed"> {
  /** A tool was called. */
  call_started: ToolCallStarted;
  /** The call was answered. */
  call_ended: ToolCallEnded;
}

/** Events of a Computer, with their values. */
export interface ComputerEvents extends
  ToolHostEvents,
  Pick<
    ConnectionEvents,
    "connected" | "disconnected" | "joined" | "rejoin_failed" | "refused"
  > {}
