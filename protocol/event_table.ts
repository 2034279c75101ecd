/**
 * Which events exist, who sends them, and what parses their payloads (spec §3): the tables that Server,
 * Agent and Computer share.
 *
 * @module
 */
import * as config from "./payloads/config.ts";
import * as blobs from "./payloads/blobs.ts";
import * as desktop from "./payloads/desktop.ts";
import * as documents from "./payloads/documents.ts";
import * as events from "./events.ts";
import * as finder from "./payloads/finder.ts";
import * as offices from "./payloads/offices.ts";
import * as tools from "./payloads/tools.ts";
import type { Parser } from "./validation.ts";
import * as prompts from "./payloads/prompts.ts";
import * as resources from "./payloads/resources.ts";
import * as skills from "./payloads/skills.ts";

/** An event that an Agent sends and the Server routes to one Computer. */
export interface ClientEventSpec<E extends events.ClientEvent> {
  /** Parses the Agent's request. */
  readonly parseRequest: Parser<events.ClientEvents[E]["request"]>;
  /** Parses the Computer's answer. */
  readonly parseAnswer: Parser<events.ClientEvents[E]["answer"]>;
}

/** Every event that the Server routes from an Agent to one Computer, with its validators (spec §3). */
export const CLIENT_EVENTS: {
  readonly [E in events.ClientEvent]: ClientEventSpec<E>;
} = {
  [events.TOOL_CALL_EVENT]: {
    parseRequest: tools.parseToolCallReq,
    parseAnswer: tools.parseCallToolResult,
  },
  [events.GET_TOOLS_EVENT]: tools.getTools,
  [events.GET_CONFIG_EVENT]: config.getConfig,
  [events.GET_DESKTOP_EVENT]: desktop.getDesktop,
  [events.GET_RESOURCES_EVENT]: resources.getResources,
  [events.GET_DPE_EVENT]: documents.getDpe,
  [events.GET_FINDER_EVENT]: finder.getFinder,
  [events.GET_SKILLS_EVENT]: skills.getSkills,
  [events.GET_SKILL_EVENT]: skills.getSkill,
  [events.GET_BLOB_EVENT]: blobs.getBlob,
  [events.PUT_BLOB_EVENT]: blobs.putBlob,
  [events.READ_RESOURCE_EVENT]: resources.readResource,
  [events.WATCH_RESOURCE_EVENT]: resources.watchResource,
  [events.GET_PROMPTS_EVENT]: prompts.getPrompts,
  [events.GET_PROMPT_EVENT]: prompts.getPrompt,
};

/** An event that the Server answers itself. */
export interface ServerEventSpec<E extends events.ServerEvent> {
  /** Who may send it. */
  readonly from: offices.Role | "both";
  /** `office`: `(bool, str|null)`; `answer`: an object; `none`: fire and forget (spec §3). */
  readonly ack: "office" | "answer" | "none";
  /** Parses the client's request. */
  readonly parseRequest: Parser<events.ServerEvents[E]["request"]>;
  /** Parses the Server's answer, if the ack is an object. */
  readonly parseAnswer?: Parser<events.ServerEvents[E]["answer"]>;
  /** The notification sent to the office, if any; progress goes to one Agent alone. */
  readonly notification?: events.Notification;
}

/** Every event that the Server answers itself, with its validators (spec §3). */
export const SERVER_EVENTS:
  & { readonly [E in events.ServerEvent]: ServerEventSpec<E> }
  & {
    readonly [events.LIST_ROOM_EVENT]: {
      readonly parseAnswer: Parser<offices.ListRoomRet>;
    };
  } = {
    [events.JOIN_OFFICE_EVENT]: {
      from: "both",
      ack: "office",
      parseRequest: offices.parseEnterOfficeReq,
      notification: events.ENTER_OFFICE_NOTIFICATION,
    },
    [events.LEAVE_OFFICE_EVENT]: {
      from: "both",
      ack: "office",
      parseRequest: offices.parseLeaveOfficeReq,
      notification: events.LEAVE_OFFICE_NOTIFICATION,
    },
    [events.LIST_ROOM_EVENT]: {
      from: "agent",
      ack: "answer",
      parseRequest: offices.parseListRoomReq,
      parseAnswer: offices.parseListRoomRet,
    },
    [events.CANCEL_TOOL_CALL_EVENT]: {
      from: "agent",
      ack: "none",
      parseRequest: tools.parseToolCallCancel,
      notification: events.CANCEL_TOOL_CALL_NOTIFICATION,
    },
    [events.TOOL_CALL_PROGRESS_EVENT]: {
      from: "computer",
      ack: "none",
      parseRequest: tools.parseToolCallProgress,
    },
    [events.UPDATE_CONFIG_EVENT]: update(events.UPDATE_CONFIG_NOTIFICATION),
    [events.UPDATE_TOOL_LIST_EVENT]: update(
      events.UPDATE_TOOL_LIST_NOTIFICATION,
    ),
    [events.UPDATE_DESKTOP_EVENT]: update(events.UPDATE_DESKTOP_NOTIFICATION),
    [events.UPDATE_FINDER_EVENT]: update(events.UPDATE_FINDER_NOTIFICATION),
    [events.UPDATE_SKILLS_EVENT]: update(events.UPDATE_SKILLS_NOTIFICATION),
    [events.UPDATE_RESOURCES_EVENT]: {
      ...update(events.UPDATE_RESOURCES_NOTIFICATION),
      parseRequest: resources.parseUpdateResources,
    },
  };

/** Every notification that the Server sends to members of an office, with its validator (spec §3). */
export const NOTIFICATIONS: {
  readonly [N in events.Notification]: Parser<events.Notifications[N]>;
} = {
  [events.ENTER_OFFICE_NOTIFICATION]: offices.parseEnterOfficeNotification,
  [events.LEAVE_OFFICE_NOTIFICATION]: offices.parseLeaveOfficeNotification,
  [events.UPDATE_CONFIG_NOTIFICATION]: config.parseUpdateComputerConfigReq,
  [events.UPDATE_TOOL_LIST_NOTIFICATION]: config.parseUpdateComputerConfigReq,
  [events.UPDATE_DESKTOP_NOTIFICATION]: config.parseUpdateComputerConfigReq,
  [events.UPDATE_FINDER_NOTIFICATION]: config.parseUpdateComputerConfigReq,
  [events.UPDATE_SKILLS_NOTIFICATION]: config.parseUpdateComputerConfigReq,
  [events.UPDATE_RESOURCES_NOTIFICATION]: resources.parseUpdateResources,
  [events.CANCEL_TOOL_CALL_NOTIFICATION]: tools.parseToolCallCancel,
  [events.TOOL_CALL_PROGRESS_NOTIFICATION]: tools.parseToolCallProgress,
};

/** Returns whether the Server routes an event from an Agent to a Computer. */
export const isClientEvent = (event: string): event is events.ClientEvent =>
  Object.hasOwn(CLIENT_EVENTS, event);

/** Returns whether the Server answers an event itself. */
export const isServerEvent = (event: string): event is events.ServerEvent =>
  Object.hasOwn(SERVER_EVENTS, event);

/** Returns whether an event is a notification of this version. */
export const isNotification = (event: string): event is events.Notification =>
  Object.hasOwn(NOTIFICATIONS, event);

function update(notification: events.Notification): {
  from: "computer";
  ack: "none";
  parseRequest: Parser<config.UpdateComputerConfigReq>;
  notification: events.Notification;
} {
  return {
    from: "computer",
    ack: "none",
    parseRequest: config.parseUpdateComputerConfigReq,
    notification,
  };
}
