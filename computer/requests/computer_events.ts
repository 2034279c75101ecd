import type { ConnectionEvents } from "../../client/options.ts";
import type { McpHostEvents } from "../host/host.ts";
import type { ToolCallEnded, ToolCallStarted } from "../tools/call_events.ts";

/** What happens to a tool host. */
export interface ToolHostEvents
  extends
    Pick<McpHostEvents, "server_state" | "tools_changed" | "config_changed"> {
  /** A tool was called. */
  call_started: ToolCallStarted;
  /** The call was answered. */
  call_ended: ToolCallEnded;
}

/** What happens to a Computer. */
export interface ComputerEvents extends
  ToolHostEvents,
  Pick<
    ConnectionEvents,
    "connected" | "disconnected" | "joined" | "rejoin_failed" | "refused"
  > {}
