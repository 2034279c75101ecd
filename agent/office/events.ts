import type { ConnectionEvents } from "../../client/options.ts";
import type { Notifications, SMCPTool } from "../../protocol/mod.ts";

/**
 * Events of an Agent, with their values: every notification, and those of the connection.
 *
 * Notifications arrive in the order in which the Server sent them (spec §3).
 */
export interface AgentEvents
  extends Notifications, Omit<ConnectionEvents, "notification"> {
  /** The tools of a Computer were fetched; `undefined` if it left (spec §9). */
  tools: { computer: string; tools: readonly SMCPTool[] | undefined };
  /** The tools of a Computer could not be fetched; those known before stay. */
  tools_failed: { computer: string; error: unknown };
}
