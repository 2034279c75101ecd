import {
  type GetComputerConfigReq,
  type GetComputerConfigRet,
  parseGetComputerConfigReq,
  parseGetComputerConfigRet,
  parseUpdateComputerConfigReq,
  type UpdateComputerConfigReq,
  type UpdateMCPConfigNotification,
  type UpdateToolListNotification,
} from "./config.ts";
import {
  type GetDeskTopReq,
  type GetDeskTopRet,
  parseGetDeskTopReq,
  parseGetDeskTopRet,
} from "./desktop.ts";
import {
  type GetDPEReq,
  type GetDPERet,
  parseGetDPEReq,
  parseGetDPERet,
} from "./dpe.ts";
import {
  type GetFinderReq,
  type GetFinderRet,
  parseGetFinderReq,
  parseGetFinderRet,
} from "./finder.ts";
import {
  type EnterOfficeNotification,
  type EnterOfficeReq,
  type LeaveOfficeNotification,
  type LeaveOfficeReq,
  type ListRoomReq,
  type ListRoomRet,
  parseEnterOfficeNotification,
  parseEnterOfficeReq,
  parseLeaveOfficeNotification,
  parseLeaveOfficeReq,
  parseListRoomReq,
  parseListRoomRet,
  type Role,
} from "./offices.ts";
import type { Parser } from "./parser.ts";
import {
  type GetResourcesReq,
  type GetResourcesRet,
  parseGetResourcesReq,
  parseGetResourcesRet,
} from "./resources.ts";
import {
  type AgentCallData,
  type CallToolResult,
  type GetToolsReq,
  type GetToolsRet,
  parseAgentCallData,
  parseCallToolResult,
  parseGetToolsReq,
  parseGetToolsRet,
  parseToolCallReq,
  type ToolCallReq,
} from "./tools.ts";

/** Runs a tool of a Computer. */
export const TOOL_CALL_EVENT = "client:tool_call";
/** Lists the tools of a Computer. */
export const GET_TOOLS_EVENT = "client:get_tools";
/** Shows the configuration of a Computer. */
export const GET_CONFIG_EVENT = "client:get_config";
/** Shows the desktop of a Computer. */
export const GET_DESKTOP_EVENT = "client:get_desktop";
/** Lists the resources of one MCP server. */
export const GET_RESOURCES_EVENT = "client:get_resources";
/** Turns a `dpe://` URI into one that can be fetched. */
export const GET_DPE_EVENT = "client:get_dpe";
/** Lists the documents of a Computer. */
export const GET_FINDER_EVENT = "client:get_finder";

/** Joins an office. */
export const JOIN_OFFICE_EVENT = "server:join_office";
/** Leaves the office. */
export const LEAVE_OFFICE_EVENT = "server:leave_office";
/** Lists the members of the office. */
export const LIST_ROOM_EVENT = "server:list_room";
/** Cancels a tool call. */
export const CANCEL_TOOL_CALL_EVENT = "server:tool_call_cancel";
/** Says that the Computer's configuration changed. */
export const UPDATE_CONFIG_EVENT = "server:update_config";
/** Says that the Computer's tools changed. */
export const UPDATE_TOOL_LIST_EVENT = "server:update_tool_list";
/** Says that the Computer's desktop changed. */
export const UPDATE_DESKTOP_EVENT = "server:update_desktop";
/** Says that the Computer's documents changed. */
export const UPDATE_FINDER_EVENT = "server:update_finder";

/** Somebody joined the office. */
export const ENTER_OFFICE_NOTIFICATION = "notify:enter_office";
/** Somebody left the office. */
export const LEAVE_OFFICE_NOTIFICATION = "notify:leave_office";
/** A Computer's configuration changed. */
export const UPDATE_CONFIG_NOTIFICATION = "notify:update_config";
/** A Computer's tools changed. */
export const UPDATE_TOOL_LIST_NOTIFICATION = "notify:update_tool_list";
/** A Computer's desktop changed. */
export const UPDATE_DESKTOP_NOTIFICATION = "notify:update_desktop";
/** A Computer's documents changed. */
export const UPDATE_FINDER_NOTIFICATION = "notify:update_finder";
/** The Agent cancelled a tool call. */
export const CANCEL_TOOL_CALL_NOTIFICATION = "notify:tool_call_cancel";

/** Request and answer of every event that the Server routes to a Computer (spec §3). */
export interface ClientEvents {
  /** Runs a tool of a Computer. */
  [TOOL_CALL_EVENT]: { request: ToolCallReq; answer: CallToolResult };
  /** Lists the tools of a Computer. */
  [GET_TOOLS_EVENT]: { request: GetToolsReq; answer: GetToolsRet };
  /** Shows the configuration of a Computer. */
  [GET_CONFIG_EVENT]: {
    request: GetComputerConfigReq;
    answer: GetComputerConfigRet;
  };
  /** Shows the desktop of a Computer. */
  [GET_DESKTOP_EVENT]: { request: GetDeskTopReq; answer: GetDeskTopRet };
  /** Lists the resources of one MCP server. */
  [GET_RESOURCES_EVENT]: { request: GetResourcesReq; answer: GetResourcesRet };
  /** Turns a `dpe://` URI into one that can be fetched. */
  [GET_DPE_EVENT]: { request: GetDPEReq; answer: GetDPERet };
  /** Lists the documents of a Computer. */
  [GET_FINDER_EVENT]: { request: GetFinderReq; answer: GetFinderRet };
}

/** Request of every event that the Server answers itself; `answer` is void for fire and forget (spec §3). */
export interface ServerEvents {
  /** Joins an office. */
  [JOIN_OFFICE_EVENT]: { request: EnterOfficeReq; answer: void };
  /** Leaves the office. */
  [LEAVE_OFFICE_EVENT]: { request: LeaveOfficeReq; answer: void };
  /** Lists the members of the office. */
  [LIST_ROOM_EVENT]: { request: ListRoomReq; answer: ListRoomRet };
  /** Cancels a tool call. */
  [CANCEL_TOOL_CALL_EVENT]: { request: AgentCallData; answer: void };
  /** Says that the Computer's configuration changed. */
  [UPDATE_CONFIG_EVENT]: { request: UpdateComputerConfigReq; answer: void };
  /** Says that the Computer's tools changed. */
  [UPDATE_TOOL_LIST_EVENT]: {
    request: UpdateToolListNotification;
    answer: void;
  };
  /** Says that the Computer's desktop changed. */
  [UPDATE_DESKTOP_EVENT]: { request: UpdateComputerConfigReq; answer: void };
  /** Says that the Computer's documents changed. */
  [UPDATE_FINDER_EVENT]: { request: UpdateComputerConfigReq; answer: void };
}

/** Payload of every notification (spec §3). */
export interface Notifications {
  /** Somebody joined the office. */
  [ENTER_OFFICE_NOTIFICATION]: EnterOfficeNotification;
  /** Somebody left the office. */
  [LEAVE_OFFICE_NOTIFICATION]: LeaveOfficeNotification;
  /** A Computer's configuration changed. */
  [UPDATE_CONFIG_NOTIFICATION]: UpdateMCPConfigNotification;
  /** A Computer's tools changed. */
  [UPDATE_TOOL_LIST_NOTIFICATION]: UpdateToolListNotification;
  /** A Computer's desktop changed. */
  [UPDATE_DESKTOP_NOTIFICATION]: UpdateComputerConfigReq;
  /** A Computer's documents changed. */
  [UPDATE_FINDER_NOTIFICATION]: UpdateComputerConfigReq;
  /** The Agent cancelled a tool call. */
  [CANCEL_TOOL_CALL_NOTIFICATION]: AgentCallData;
}

/** Name of an event that the Server routes to a Computer. */
export type ClientEvent = keyof ClientEvents;
/** Name of an event that the Server answers itself. */
export type ServerEvent = keyof ServerEvents;
/** Name of a notification. */
export type Notification = keyof Notifications;

/** An event that an Agent sends and the Server routes to one Computer. */
export interface ClientEventSpec<E extends ClientEvent> {
  /** Checks what the Agent sends. */
  readonly parseRequest: Parser<ClientEvents[E]["request"]>;
  /** Checks what the Computer answers. */
  readonly parseAnswer: Parser<ClientEvents[E]["answer"]>;
}

/** Every event that the Server routes from an Agent to one Computer, with its validators (spec §3). */
export const CLIENT_EVENTS: {
  readonly [E in ClientEvent]: ClientEventSpec<E>;
} = {
  [TOOL_CALL_EVENT]: {
    parseRequest: parseToolCallReq,
    parseAnswer: parseCallToolResult,
  },
  [GET_TOOLS_EVENT]: {
    parseRequest: parseGetToolsReq,
    parseAnswer: parseGetToolsRet,
  },
  [GET_CONFIG_EVENT]: {
    parseRequest: parseGetComputerConfigReq,
    parseAnswer: parseGetComputerConfigRet,
  },
  [GET_DESKTOP_EVENT]: {
    parseRequest: parseGetDeskTopReq,
    parseAnswer: parseGetDeskTopRet,
  },
  [GET_RESOURCES_EVENT]: {
    parseRequest: parseGetResourcesReq,
    parseAnswer: parseGetResourcesRet,
  },
  [GET_DPE_EVENT]: {
    parseRequest: parseGetDPEReq,
    parseAnswer: parseGetDPERet,
  },
  [GET_FINDER_EVENT]: {
    parseRequest: parseGetFinderReq,
    parseAnswer: parseGetFinderRet,
  },
};

/** An event that the Server answers itself. */
export interface ServerEventSpec<E extends ServerEvent> {
  /** Who may send it. */
  readonly from: Role | "both";
  /** `office`: `(bool, str|null)`; `answer`: an object; `none`: fire and forget (spec §3). */
  readonly ack: "office" | "answer" | "none";
  /** Checks what the client sends. */
  readonly parseRequest: Parser<ServerEvents[E]["request"]>;
  /** Checks what the Server answers, where the ack is an object. */
  readonly parseAnswer?: Parser<ServerEvents[E]["answer"]>;
  /** What the office is told about it. */
  readonly notification?: Notification;
}

/** Every event that the Server answers itself, with its validators (spec §3). */
export const SERVER_EVENTS: {
  readonly [E in ServerEvent]: ServerEventSpec<E>;
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
    parseRequest: parseAgentCallData,
    notification: CANCEL_TOOL_CALL_NOTIFICATION,
  },
  [UPDATE_CONFIG_EVENT]: update(UPDATE_CONFIG_NOTIFICATION),
  [UPDATE_TOOL_LIST_EVENT]: update(UPDATE_TOOL_LIST_NOTIFICATION),
  [UPDATE_DESKTOP_EVENT]: update(UPDATE_DESKTOP_NOTIFICATION),
  [UPDATE_FINDER_EVENT]: update(UPDATE_FINDER_NOTIFICATION),
};

/** Every notification that the Server sends to the members of an office, with its validator (spec §3). */
export const NOTIFICATIONS: {
  readonly [N in Notification]: Parser<Notifications[N]>;
} = {
  [ENTER_OFFICE_NOTIFICATION]: parseEnterOfficeNotification,
  [LEAVE_OFFICE_NOTIFICATION]: parseLeaveOfficeNotification,
  [UPDATE_CONFIG_NOTIFICATION]: parseUpdateComputerConfigReq,
  [UPDATE_TOOL_LIST_NOTIFICATION]: parseUpdateComputerConfigReq,
  [UPDATE_DESKTOP_NOTIFICATION]: parseUpdateComputerConfigReq,
  [UPDATE_FINDER_NOTIFICATION]: parseUpdateComputerConfigReq,
  [CANCEL_TOOL_CALL_NOTIFICATION]: parseAgentCallData,
};

/** Tells whether an event goes from an Agent to a Computer. */
export const isClientEvent = (event: string): event is ClientEvent =>
  Object.hasOwn(CLIENT_EVENTS, event);

/** Tells whether an event is answered by the Server itself. */
export const isServerEvent = (event: string): event is ServerEvent =>
  Object.hasOwn(SERVER_EVENTS, event);

/** Tells whether an event is a notification of this version. */
export const isNotification = (event: string): event is Notification =>
  Object.hasOwn(NOTIFICATIONS, event);

/** Tells whether a client sent what only the Server may send. */
export const hasNotificationPrefix = (event: string): boolean =>
  event.startsWith("notify:");

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
