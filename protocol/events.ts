/**
 * The names of all events, and the types of their payloads (protocol §3).
 *
 * @module
 */
import type * as config from "./payloads/config.ts";
import type * as blobs from "./payloads/blobs.ts";
import type * as devices from "./payloads/devices.ts";
import type * as desktop from "./payloads/desktop.ts";
import type * as documents from "./payloads/documents.ts";
import type * as finder from "./payloads/finder.ts";
import type * as guidance from "./payloads/guidance.ts";
import type * as offices from "./payloads/offices.ts";
import type { CallToolResult } from "./payloads/tool_result.ts";
import type * as tools from "./payloads/tools.ts";
import type * as prompts from "./payloads/prompts.ts";
import type * as resources from "./payloads/resources.ts";
import type * as skills from "./payloads/skills.ts";

/** Runs a tool of a Computer. */
export const TOOL_CALL_EVENT = "client:tool_call";
/** Lists the tools of a Computer. */
export const GET_TOOLS_EVENT = "client:get_tools";
/** Gets the configuration of a Computer. */
export const GET_CONFIG_EVENT = "client:get_config";
/** Gets the desktop of a Computer. */
export const GET_DESKTOP_EVENT = "client:get_desktop";
/** Lists the resources of one MCP server. */
export const GET_RESOURCES_EVENT = "client:get_resources";
/** Resolves a `dpe://` URI to one that can be fetched. */
export const GET_DPE_EVENT = "client:get_dpe";
/** Lists the documents of a Computer. */
export const GET_FINDER_EVENT = "client:get_finder";
/** Lists the skills of a Computer. */
export const GET_SKILLS_EVENT = "client:get_skills";
/** Gets a file of a skill. */
export const GET_SKILL_EVENT = "client:get_skill";
/** Gets a chunk of bytes that did not fit into an answer. */
export const GET_BLOB_EVENT = "client:get_blob";
/** Sends a chunk of a file to a Computer (0.4). */
export const PUT_BLOB_EVENT = "client:put_blob";
/** Reads a resource of an MCP server; an extension of this package. */
export const READ_RESOURCE_EVENT = "client:read_resource";
/** Begins or ends to watch a resource of an MCP server; an extension of this package. */
export const WATCH_RESOURCE_EVENT = "client:watch_resource";
/** Lists the templates of URIs of a Computer's resources; an extension of this package. */
export const GET_RESOURCE_TEMPLATES_EVENT = "client:get_resource_templates";
/** Lists the prompts of a Computer; an extension of this package. */
export const GET_PROMPTS_EVENT = "client:get_prompts";
/** Gets a prompt of an MCP server; an extension of this package. */
export const GET_PROMPT_EVENT = "client:get_prompt";
/** Completes an argument of a prompt, or a variable of a template; an extension of this package. */
export const COMPLETE_EVENT = "client:complete";
/** Gets the instructions of a Computer's MCP servers; an extension of this package. */
export const GET_INSTRUCTIONS_EVENT = "client:get_instructions";

/**
 * Passes what a person's device has sent on to its Computer; an extension of this package. No client may send
 * it, so that it is in no table: the Server itself does.
 */
export const DEVICE_EVENT = "client:device";

/** Joins an office. */
export const JOIN_OFFICE_EVENT = "server:join_office";
/** Leaves the office. */
export const LEAVE_OFFICE_EVENT = "server:leave_office";
/** Lists the members of the office. */
export const LIST_ROOM_EVENT = "server:list_room";
/** Cancels a tool call. */
export const CANCEL_TOOL_CALL_EVENT = "server:tool_call_cancel";
/** Reports how far a tool call has come. */
export const TOOL_CALL_PROGRESS_EVENT = "server:tool_call_progress";
/** Reports a change of the Computer's configuration. */
export const UPDATE_CONFIG_EVENT = "server:update_config";
/** Reports a change of the Computer's tools. */
export const UPDATE_TOOL_LIST_EVENT = "server:update_tool_list";
/** Reports a change of the Computer's desktop. */
export const UPDATE_DESKTOP_EVENT = "server:update_desktop";
/** Reports a change of the Computer's documents. */
export const UPDATE_FINDER_EVENT = "server:update_finder";
/** Reports a change of resources or prompts; an extension of this package. */
export const UPDATE_RESOURCES_EVENT = "server:update_resources";
/** Reports a change of the Computer's skills. */
export const UPDATE_SKILLS_EVENT = "server:update_skills";

/** Replaces the devices of the Computer; an extension of this package. */
export const UPDATE_DEVICES_EVENT = "server:update_devices";

/** A member joined the office. */
export const ENTER_OFFICE_NOTIFICATION = "notify:enter_office";
/** A member left the office. */
export const LEAVE_OFFICE_NOTIFICATION = "notify:leave_office";
/** A Computer's configuration changed. */
export const UPDATE_CONFIG_NOTIFICATION = "notify:update_config";
/** A Computer's tools changed. */
export const UPDATE_TOOL_LIST_NOTIFICATION = "notify:update_tool_list";
/** A Computer's desktop changed. */
export const UPDATE_DESKTOP_NOTIFICATION = "notify:update_desktop";
/** A Computer's documents changed. */
export const UPDATE_FINDER_NOTIFICATION = "notify:update_finder";
/** Resources or prompts of a Computer changed; an extension of this package. */
export const UPDATE_RESOURCES_NOTIFICATION = "notify:update_resources";
/** A Computer's skills changed. */
export const UPDATE_SKILLS_NOTIFICATION = "notify:update_skills";
/** The Agent cancelled a tool call. */
export const CANCEL_TOOL_CALL_NOTIFICATION = "notify:tool_call_cancel";
/** A tool call of this Agent has come further. */
export const TOOL_CALL_PROGRESS_NOTIFICATION = "notify:tool_call_progress";

/** Request and answer of every event that the Server routes to a Computer (protocol §3). */
export interface ClientEvents {
  /** Runs a tool of a Computer. */
  [TOOL_CALL_EVENT]: {
    request: tools.ToolCallReq;
    answer: CallToolResult;
  };
  /** Lists the tools of a Computer. */
  [GET_TOOLS_EVENT]: { request: tools.GetToolsReq; answer: tools.GetToolsRet };
  /** Gets the configuration of a Computer. */
  [GET_CONFIG_EVENT]: {
    request: config.GetComputerConfigReq;
    answer: config.GetComputerConfigRet;
  };
  /** Gets the desktop of a Computer. */
  [GET_DESKTOP_EVENT]: {
    request: desktop.GetDeskTopReq;
    answer: desktop.GetDeskTopRet;
  };
  /** Lists the resources of one MCP server. */
  [GET_RESOURCES_EVENT]: {
    request: resources.GetResourcesReq;
    answer: resources.GetResourcesRet;
  };
  /** Resolves a `dpe://` URI to one that can be fetched. */
  [GET_DPE_EVENT]: {
    request: documents.GetDPEReq;
    answer: documents.GetDPERet;
  };
  /** Lists the documents of a Computer. */
  [GET_FINDER_EVENT]: {
    request: finder.GetFinderReq;
    answer: finder.GetFinderRet;
  };
  /** Lists the skills of a Computer. */
  [GET_SKILLS_EVENT]: {
    request: skills.GetSkillsReq;
    answer: skills.GetSkillsRet;
  };
  /** Gets a file of a skill. */
  [GET_SKILL_EVENT]: {
    request: skills.GetSkillReq;
    answer: skills.GetSkillRet;
  };
  /** Gets a chunk of bytes that did not fit into an answer. */
  [GET_BLOB_EVENT]: { request: blobs.GetBlobReq; answer: blobs.GetBlobRet };
  /** Sends a chunk of a file to a Computer (0.4). */
  [PUT_BLOB_EVENT]: { request: blobs.PutBlobReq; answer: blobs.PutBlobRet };
  /** Reads a resource of an MCP server; an extension of this package. */
  [READ_RESOURCE_EVENT]: {
    request: resources.ReadResourceReq;
    answer: resources.ReadResourceRet;
  };
  /** Begins or ends to watch a resource of an MCP server; an extension of this package. */
  [WATCH_RESOURCE_EVENT]: {
    request: resources.WatchResourceReq;
    answer: resources.WatchResourceRet;
  };
  /** Lists the templates of URIs of a Computer's resources; an extension of this package. */
  [GET_RESOURCE_TEMPLATES_EVENT]: {
    request: resources.GetResourceTemplatesReq;
    answer: resources.GetResourceTemplatesRet;
  };
  /** Lists the prompts of a Computer; an extension of this package. */
  [GET_PROMPTS_EVENT]: {
    request: prompts.GetPromptsReq;
    answer: prompts.GetPromptsRet;
  };
  /** Gets a prompt of an MCP server; an extension of this package. */
  [GET_PROMPT_EVENT]: {
    request: prompts.GetPromptReq;
    answer: prompts.GetPromptRet;
  };
  /** Completes an argument of a prompt, or a variable of a template; an extension of this package. */
  [COMPLETE_EVENT]: {
    request: guidance.CompleteReq;
    answer: guidance.CompleteRet;
  };
  /** Gets the instructions of a Computer's MCP servers; an extension of this package. */
  [GET_INSTRUCTIONS_EVENT]: {
    request: guidance.GetInstructionsReq;
    answer: guidance.GetInstructionsRet;
  };
}

/** Request of every event that the Server answers itself; `answer` is void for fire and forget (protocol §3). */
export interface ServerEvents {
  /** Joins an office. */
  [JOIN_OFFICE_EVENT]: { request: offices.EnterOfficeReq; answer: void };
  /** Leaves the office. */
  [LEAVE_OFFICE_EVENT]: { request: offices.LeaveOfficeReq; answer: void };
  /** Lists the members of the office. */
  [LIST_ROOM_EVENT]: {
    request: offices.ListRoomReq;
    answer: offices.ListRoomRet;
  };
  /** Cancels a tool call. */
  [CANCEL_TOOL_CALL_EVENT]: { request: tools.ToolCallCancel; answer: void };
  /** Reports how far a tool call has come. */
  [TOOL_CALL_PROGRESS_EVENT]: { request: tools.ToolCallProgress; answer: void };
  /** Reports a change of the Computer's configuration. */
  [UPDATE_CONFIG_EVENT]: {
    request: config.UpdateComputerConfigReq;
    answer: void;
  };
  /** Reports a change of the Computer's tools. */
  [UPDATE_TOOL_LIST_EVENT]: {
    request: config.UpdateToolListNotification;
    answer: void;
  };
  /** Reports a change of the Computer's desktop. */
  [UPDATE_DESKTOP_EVENT]: {
    request: config.UpdateComputerConfigReq;
    answer: void;
  };
  /** Reports a change of the Computer's documents. */
  [UPDATE_FINDER_EVENT]: {
    request: config.UpdateComputerConfigReq;
    answer: void;
  };
  /** Reports a change of resources or prompts; an extension of this package. */
  [UPDATE_RESOURCES_EVENT]: {
    request: resources.UpdateResources;
    answer: void;
  };
  /** Reports a change of the Computer's skills. */
  [UPDATE_SKILLS_EVENT]: {
    request: config.UpdateComputerConfigReq;
    answer: void;
  };
  /** Replaces the devices of the Computer; an extension of this package. */
  [UPDATE_DEVICES_EVENT]: {
    request: devices.UpdateDevicesReq;
    answer: devices.UpdateDevicesRet;
  };
}

/** Payload of every notification (protocol §3). */
export interface Notifications {
  /** A member joined the office. */
  [ENTER_OFFICE_NOTIFICATION]: offices.EnterOfficeNotification;
  /** A member left the office. */
  [LEAVE_OFFICE_NOTIFICATION]: offices.LeaveOfficeNotification;
  /** A Computer's configuration changed. */
  [UPDATE_CONFIG_NOTIFICATION]: config.UpdateMCPConfigNotification;
  /** A Computer's tools changed. */
  [UPDATE_TOOL_LIST_NOTIFICATION]: config.UpdateToolListNotification;
  /** A Computer's desktop changed. */
  [UPDATE_DESKTOP_NOTIFICATION]: config.UpdateComputerConfigReq;
  /** A Computer's documents changed. */
  [UPDATE_FINDER_NOTIFICATION]: config.UpdateComputerConfigReq;
  /** Resources or prompts of a Computer changed; an extension of this package. */
  [UPDATE_RESOURCES_NOTIFICATION]: resources.UpdateResources;
  /** A Computer's skills changed. */
  [UPDATE_SKILLS_NOTIFICATION]: config.UpdateComputerConfigReq;
  /** The Agent cancelled a tool call. */
  [CANCEL_TOOL_CALL_NOTIFICATION]: tools.ToolCallCancel;
  /** A tool call of this Agent has come further. */
  [TOOL_CALL_PROGRESS_NOTIFICATION]: tools.ToolCallProgress;
}

/** Name of an event that the Server routes to a Computer. */
export type ClientEvent = keyof ClientEvents;
/** Name of an event that the Server answers itself. */
export type ServerEvent = keyof ServerEvents;
/** Name of a notification. */
export type Notification = keyof Notifications;
