import type { ConnectionEvents } from "../../client/options.ts";
import type { Notifications, SMCPTool } from "../../protocol/mod.ts";

/**
 * The events of an Agent: every notification under its own name, and more.
 *
 * Notifications arrive in the order in which the Server sent them (spec §3).
 */
export interface AgentEvents
  extends Notifications, Omit<ConnectionEvents, "notification"> {
  /** The tools of a Computer were fetched; `undefined`: it left (spec §9). */
  tools: { computer: string; tools: readonly SMCPTool[] | undefined };
  /** The tools of a Computer could not be fetched; those known before stay. */
  tools_failed: { computer: string; error: unknown };
}
