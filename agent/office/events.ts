import type { ConnectionEvents } from "../../client/options.ts";
import {
  CANCEL_TOOL_CALL_NOTIFICATION,
  ENTER_OFFICE_NOTIFICATION,
  type EnterOfficeNotification,
  LEAVE_OFFICE_NOTIFICATION,
  type LeaveOfficeNotification,
  type Notification,
  type SMCPTool,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_DESKTOP_NOTIFICATION,
  UPDATE_FINDER_NOTIFICATION,
  UPDATE_TOOL_LIST_NOTIFICATION,
} from "../../protocol/mod.ts";

/**
 * Events of an Agent, with their values: the notifications of its office, those of the connection,
 * and those about tools.
 *
 * The event of a notification is its name on the wire without `notify:`, in camelCase
 * (`notify:update_tool_list` is `updateToolList`), with the payload of the wire. Notifications
 * arrive in the order in which the Server sent them (spec §3).
 */
export interface AgentEvents extends ConnectionEvents {
  /** Somebody joined the office: `notify:enter_office`. */
  enterOffice: EnterOfficeNotification;
  /** Somebody left the office: `notify:leave_office`. */
  leaveOffice: LeaveOfficeNotification;
  /** A Computer's configuration changed: `notify:update_config`. */
  updateConfig: { computer: string };
  /** A Computer's tools changed, and are not fetched yet: `notify:update_tool_list`. */
  updateToolList: { computer: string };
  /** A Computer's desktop changed: `notify:update_desktop`. */
  updateDesktop: { computer: string };
  /** A Computer's documents changed: `notify:update_finder`. */
  updateFinder: { computer: string };
  /** A tool call was cancelled: `notify:tool_call_cancel`. */
  toolCallCancel: { agent: string; req_id: string };
  /** The tools of a Computer were fetched; `undefined` if it left (spec §9). */
  tools: { computer: string; tools: readonly SMCPTool[] | undefined };
  /** The tools of a Computer could not be fetched; those known before stay. */
  toolsFailed: { computer: string; error: unknown };
}

/** The event of each notification. */
export const NOTIFICATION_EVENTS = {
  [ENTER_OFFICE_NOTIFICATION]: "enterOffice",
  [LEAVE_OFFICE_NOTIFICATION]: "leaveOffice",
  [UPDATE_CONFIG_NOTIFICATION]: "updateConfig",
  [UPDATE_TOOL_LIST_NOTIFICATION]: "updateToolList",
  [UPDATE_DESKTOP_NOTIFICATION]: "updateDesktop",
  [UPDATE_FINDER_NOTIFICATION]: "updateFinder",
  [CANCEL_TOOL_CALL_NOTIFICATION]: "toolCallCancel",
} as const satisfies Record<Notification, keyof AgentEvents>;
