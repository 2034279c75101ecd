import type { ConnectionEvents } from "../../client/options.ts";
import type { McpHostEvents } from "../host/host.ts";
import type { ToolCallEnded, ToolCallStarted } from "../tools/call_events.ts";

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
