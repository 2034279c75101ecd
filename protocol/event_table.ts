/**
 * Which events exist, who sends them, and what parses their payloads (spec §3): the tables that Server,
 * Agent and Computer share.
 *
 * @module
 */
import {
  parseGetComputerConfigReq,
  parseGetComputerConfigRet,
  parseUpdateComputerConfigReq,
  type UpdateComputerConfigReq,
} from "./payloads/config.ts";
import {
  parseGetBlobReq,
  parseGetBlobRet,
  parsePutBlobReq,
  parsePutBlobRet,
} from "./payloads/blobs.ts";
import { parseGetDeskTopReq, parseGetDeskTopRet } from "./payloads/desktop.ts";
import { parseGetDPEReq, parseGetDPERet } from "./payloads/documents.ts";
import {
  CANCEL_TOOL_CALL_EVENT,
  CANCEL_TOOL_CALL_NOTIFICATION,
  type ClientEvent,
  type ClientEvents,
  ENTER_OFFICE_NOTIFICATION,
  GET_BLOB_EVENT,
  GET_CONFIG_EVENT,
  GET_DESKTOP_EVENT,
  GET_DPE_EVENT,
  GET_FINDER_EVENT,
  GET_PROMPT_EVENT,
  GET_PROMPTS_EVENT,
  GET_RESOURCES_EVENT,
  GET_SKILL_EVENT,
  GET_SKILLS_EVENT,
  GET_TOOLS_EVENT,
  JOIN_OFFICE_EVENT,
  LEAVE_OFFICE_EVENT,
  LEAVE_OFFICE_NOTIFICATION,
  LIST_ROOM_EVENT,
  type Notification,
  type Notifications,
  PUT_BLOB_EVENT,
  READ_RESOURCE_EVENT,
  type ServerEvent,
  type ServerEvents,
  TOOL_CALL_EVENT,
  TOOL_CALL_PROGRESS_EVENT,
  TOOL_CALL_PROGRESS_NOTIFICATION,
  UPDATE_CONFIG_EVENT,
  UPDATE_CONFIG_NOTIFICATION,
  UPDATE_DESKTOP_EVENT,
  UPDATE_DESKTOP_NOTIFICATION,
  UPDATE_FINDER_EVENT,
  UPDATE_FINDER_NOTIFICATION,
  UPDATE_RESOURCES_EVENT,
  UPDATE_RESOURCES_NOTIFICATION,
  UPDATE_SKILLS_EVENT,
  UPDATE_SKILLS_NOTIFICATION,
  UPDATE_TOOL_LIST_EVENT,
  UPDATE_TOOL_LIST_NOTIFICATION,
  WATCH_RESOURCE_EVENT,
} from "./events.ts";
import { parseGetFinderReq, parseGetFinderRet } from "./payloads/finder.ts";
import {
  type ListRoomRet,
  parseEnterOfficeNotification,
  parseEnterOfficeReq,
  parseLeaveOfficeNotification,
  parseLeaveOfficeReq,
  parseListRoomReq,
  parseListRoomRet,
  type Role,
} from "./payloads/offices.ts";
import {
  parseCallToolResult,
  parseGetToolsReq,
  parseGetToolsRet,
  parseToolCallCancel,
  parseToolCallProgress,
  parseToolCallReq,
} from "./payloads/tools.ts";
import type { Parser } from "./validation.ts";
import {
  parseGetPromptReq,
  parseGetPromptRet,
  parseGetPromptsReq,
  parseGetPromptsRet,
} from "./payloads/prompts.ts";
import {
  parseGetResourcesReq,
  parseGetResourcesRet,
  parseReadResourceReq,
  parseReadResourceRet,
  parseUpdateResources,
  parseWatchResourceReq,
  parseWatchResourceRet,
} from "./payloads/resources.ts";
import {
  parseGetSkillReq,
  parseGetSkillRet,
  parseGetSkillsReq,
  parseGetSkillsRet,
} from "./payloads/skills.ts";

/** An event that an Agent sends and the Server routes to one Computer. */
export interface ClientEventSpec<E extends ClientEvent> {
  /** Parses the Agent's request. */
  readonly parseRequest: Parser<ClientEvents[E]["request"]>;
  /** Parses the Computer's answer. */
  readonly parseAnswer: Parser<ClientEvents[E]["answer"]>;
}

/** Every event that the Server routes from an Agent to one Computer, with its validators (spec §3). */
export const CLIENT_EVENTS: {
  readonly [E in ClientEvent]: ClientEventSpec<E>;
} = {
  [TOOL_CALL_EVENT]: routed(parseToolCallReq, parseCallToolResult),
  [GET_TOOLS_EVENT]: routed(parseGetToolsReq, parseGetToolsRet),
  [GET_CONFIG_EVENT]: routed(
    parseGetComputerConfigReq,
    parseGetComputerConfigRet,
  ),
  [GET_DESKTOP_EVENT]: routed(parseGetDeskTopReq, parseGetDeskTopRet),
  [GET_RESOURCES_EVENT]: routed(parseGetResourcesReq, parseGetResourcesRet),
  [GET_DPE_EVENT]: routed(parseGetDPEReq, parseGetDPERet),
  [GET_FINDER_EVENT]: routed(parseGetFinderReq, parseGetFinderRet),
  [GET_SKILLS_EVENT]: routed(parseGetSkillsReq, parseGetSkillsRet),
  [GET_SKILL_EVENT]: routed(parseGetSkillReq, parseGetSkillRet),
  [GET_BLOB_EVENT]: routed(parseGetBlobReq, parseGetBlobRet),
  [PUT_BLOB_EVENT]: routed(parsePutBlobReq, parsePutBlobRet),
  [READ_RESOURCE_EVENT]: routed(parseReadResourceReq, parseReadResourceRet),
  [WATCH_RESOURCE_EVENT]: routed(parseWatchResourceReq, parseWatchResourceRet),
  [GET_PROMPTS_EVENT]: routed(parseGetPromptsReq, parseGetPromptsRet),
  [GET_PROMPT_EVENT]: routed(parseGetPromptReq, parseGetPromptRet),
};

function routed<Q, A>(parseRequest: Parser<Q>, parseAnswer: Parser<A>) {
  return { parseRequest, parseAnswer };
}

/** An event that the Server answers itself. */
export interface ServerEventSpec<E extends ServerEvent> {
  /** Who may send it. */
  readonly from: Role | "both";
  /** `office`: `(bool, str|null)`; `answer`: an object; `none`: fire and forget (spec §3). */
  readonly ack: "office" | "answer" | "none";
  /** Parses the client's request. */
  readonly parseRequest: Parser<ServerEvents[E]["request"]>;
  /** Parses the Server's answer, if the ack is an object. */
  readonly parseAnswer?: Parser<ServerEvents[E]["answer"]>;
  /** The notification sent to the office, if any; progress goes to one Agent alone. */
  readonly notification?: Notification;
}

/** Every event that the Server answers itself, with its validators (spec §3). */
export const SERVER_EVENTS:
  & { readonly [E in ServerEvent]: ServerEventSpec<E> }
  & {
    readonly [LIST_ROOM_EVENT]: { readonly parseAnswer: Parser<ListRoomRet> };
  } = {
    [JOIN_OFFICE_EVENT]: {
      from: "both",
      ack: "office",
      parseRequest: parseEnterOfficeReq,
      notification: ENTER_OFFICE_NOTIFICATION,
    },
    [LEAVE_OFFICE_EVENT]: {
      from: "both",
      ack: "office",
      parseRequest: parseLeaveOfficeReq,
      notification: LEAVE_OFFICE_NOTIFICATION,
    },
    [LIST_ROOM_EVENT]: {
      from: "agent",
      ack: "answer",
      parseRequest: parseListRoomReq,
      parseAnswer: parseListRoomRet,
    },
    [CANCEL_TOOL_CALL_EVENT]: {
      from: "agent",
      ack: "none",
      parseRequest: parseToolCallCancel,
      notification: CANCEL_TOOL_CALL_NOTIFICATION,
    },
    [TOOL_CALL_PROGRESS_EVENT]: {
      from: "computer",
      ack: "none",
      parseRequest: parseToolCallProgress,
    },
    [UPDATE_CONFIG_EVENT]: update(UPDATE_CONFIG_NOTIFICATION),
    [UPDATE_TOOL_LIST_EVENT]: update(UPDATE_TOOL_LIST_NOTIFICATION),
    [UPDATE_DESKTOP_EVENT]: update(UPDATE_DESKTOP_NOTIFICATION),
    [UPDATE_FINDER_EVENT]: update(UPDATE_FINDER_NOTIFICATION),
    [UPDATE_SKILLS_EVENT]: update(UPDATE_SKILLS_NOTIFICATION),
    [UPDATE_RESOURCES_EVENT]: {
      ...update(UPDATE_RESOURCES_NOTIFICATION),
      parseRequest: parseUpdateResources,
    },
  };

/** Every notification that the Server sends to members of an office, with its validator (spec §3). */
export const NOTIFICATIONS: {
  readonly [N in Notification]: Parser<Notifications[N]>;
} = {
  [ENTER_OFFICE_NOTIFICATION]: parseEnterOfficeNotification,
  [LEAVE_OFFICE_NOTIFICATION]: parseLeaveOfficeNotification,
  [UPDATE_CONFIG_NOTIFICATION]: parseUpdateComputerConfigReq,
  [UPDATE_TOOL_LIST_NOTIFICATION]: parseUpdateComputerConfigReq,
  [UPDATE_DESKTOP_NOTIFICATION]: parseUpdateComputerConfigReq,
  [UPDATE_FINDER_NOTIFICATION]: parseUpdateComputerConfigReq,
  [UPDATE_SKILLS_NOTIFICATION]: parseUpdateComputerConfigReq,
  [UPDATE_RESOURCES_NOTIFICATION]: parseUpdateResources,
  [CANCEL_TOOL_CALL_NOTIFICATION]: parseToolCallCancel,
  [TOOL_CALL_PROGRESS_NOTIFICATION]: parseToolCallProgress,
};

/** Returns whether the Server routes an event from an Agent to a Computer. */
export const isClientEvent = (event: string): event is ClientEvent =>
  Object.hasOwn(CLIENT_EVENTS, event);

/** Returns whether the Server answers an event itself. */
export const isServerEvent = (event: string): event is ServerEvent =>
  Object.hasOwn(SERVER_EVENTS, event);

/** Returns whether an event is a notification of this version. */
export const isNotification = (event: string): event is Notification =>
  Object.hasOwn(NOTIFICATIONS, event);

function update(notification: Notification): {
  from: "computer";
  ack: "none";
  parseRequest: Parser<UpdateComputerConfigReq>;
  notification: Notification;
} {
  return {
    from: "computer",
    ack: "none",
    parseRequest: parseUpdateComputerConfigReq,
    notification,
  };
}
