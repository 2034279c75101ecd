import type { ConnectionEvents } from "../../client/options.ts";
import type {
  EnterOfficeNotification,
  LeaveOfficeNotification,
  Notification,
  SMCPTool,
  ToolCallProgress,
  UpdateResources,
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
  /**
   * A watched resource of a Computer has new contents, or without `uri` its resources or prompts are
   * others: `notify:update_resources`.
   */
  updateResources: UpdateResources;
  /** A Computer's skills changed: `notify:update_skills`. */
  updateSkills: { computer: string };
  /** A tool call was cancelled: `notify:tool_call_cancel`. */
  toolCallCancel: { agent: string; req_id: string };
  /** A call that asked for its progress has come further: `notify:tool_call_progress`. */
  toolCallProgress: ToolCallProgress;
  /** The tools of a Computer were fetched; `undefined` if it left (spec §9). */
  tools: { computer: string; tools: readonly SMCPTool[] | undefined };
  /** The tools of a Computer could not be fetched; those known before stay. */
  toolsFailed: { computer: string; error: unknown };
}

/** Turns `snake_case` into `camelCase`. */
type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S;

/** The Agent's event of a notification: its name after the prefix. */
export type AgentEventOf<N extends Notification> = N extends
  `${string}:${infer Name}` ? CamelCase<Name>
  : never;

/** Returns the name of the Agent's event of a notification. */
export const agentEventOf = <N extends Notification>(
  notification: N,
): AgentEventOf<N> =>
  notification.replaceAll(
    /^\w+:|_(.)/g,
    (_, letter?: string) => letter?.toUpperCase() ?? "",
  ) as AgentEventOf<N>;
