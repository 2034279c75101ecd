/**
 * Which events exist, who sends them, and what parses their payloads (protocol §3): the tables that Server,
 * Agent and Computer share.
 *
 * @module
 */
import * as config from "./payloads/config.ts";
import * as blobs from "./payloads/blobs.ts";
import * as desktop from "./payloads/desktop.ts";
import { updateDevices, type UpdateDevicesRet } from "./payloads/devices.ts";
import * as documents from "./payloads/documents.ts";
import * as events from "./events.ts";
import * as finder from "./payloads/finder.ts";
import * as guidance from "./payloads/guidance.ts";
import * as offices from "./payloads/offices.ts";
import { parseCallToolResult } from "./payloads/tool_result.ts";
import * as tools from "./payloads/tools.ts";
import type { Parser } from "./validation.ts";
import * as prompts from "./payloads/prompts.ts";
import * as resources from "./payloads/resources.ts";
import * as skills from "./payloads/skills.ts";

/**
 * The most that a payload may have. More is refused before it is parsed (protocol §10), so that
 * what one client sends does not make others wait.
 */
export interface Bound {
  /** Bytes of JSON; `Infinity` where the limit of a message is the only one. */
  readonly bytes: number;
  /** Values, and names of members: the commas, colons and opening brackets outside of texts. */
  readonly values: number;
}

/** The most members of a request: a Server's checks would not see those after them. */
export const MAX_MEMBERS = 256;

/** The most bytes of a message to a Server with default limits (protocol §10). */
export const MESSAGE_BYTES: number = 8 * 2 ** 20;

/** For what has a few fields. */
const SMALL: Bound = { bytes: 65_536, values: 1_000 };
/** For what is as large as a message, and made of few values or texts. */
const LARGE: Bound = { bytes: Infinity, values: 100_000 };

/** The bounds of a request that is routed, and of its answer. */
export interface RoutedBounds {
  /** The most that an Agent may send. */
  readonly request: Bound;
  /** The most that a Computer may answer. */
  readonly answer: Bound;
}

/** For requests that ask for something by its name. */
const ASKING: RoutedBounds = { request: SMALL, answer: LARGE };

/** For a tool call: its results may be tables. */
const CALLING: RoutedBounds = {
  request: LARGE,
  answer: { bytes: Infinity, values: 500_000 },
};

/** For lists of tools, each of which has some hundred values. */
const LISTING: RoutedBounds = {
  request: SMALL,
  answer: { bytes: Infinity, values: 1_000_000 },
};

/** For content that a request sends as one text. */
const PUTTING: RoutedBounds = {
  request: { bytes: Infinity, values: 1_000 },
  answer: SMALL,
};

/** For a prompt, whose arguments are texts. */
const PROMPTING: RoutedBounds = {
  request: { bytes: 1_048_576, values: 10_000 },
  answer: LARGE,
};

/** The bounds of `client:device`: its bytes in base64, and a few short fields. */
export const DEVICE_BOUNDS: RoutedBounds = {
  request: { bytes: 131_072, values: 1_000 },
  answer: { bytes: 786_432, values: 1_000 },
};

/** An event that an Agent sends and the Server routes to one Computer. */
export interface ClientEventSpec<E extends events.ClientEvent> {
  /** Parses the Agent's request. */
  readonly parseRequest: Parser<events.ClientEvents[E]["request"]>;
  /** Parses the Computer's answer. */
  readonly parseAnswer: Parser<events.ClientEvents[E]["answer"]>;
  /** The most that the two may have. */
  readonly bounds: RoutedBounds;
}

/** Every event that the Server routes from an Agent to one Computer, with its validators (protocol §3). */
export const CLIENT_EVENTS: {
  readonly [E in events.ClientEvent]: ClientEventSpec<E>;
} = {
  [events.TOOL_CALL_EVENT]: {
    parseRequest: tools.parseToolCallReq,
    parseAnswer: parseCallToolResult,
    bounds: CALLING,
  },
  [events.GET_TOOLS_EVENT]: { ...tools.getTools, bounds: LISTING },
  [events.GET_CONFIG_EVENT]: { ...config.getConfig, bounds: ASKING },
  [events.GET_DESKTOP_EVENT]: { ...desktop.getDesktop, bounds: ASKING },
  [events.GET_RESOURCES_EVENT]: { ...resources.getResources, bounds: ASKING },
  [events.GET_DPE_EVENT]: { ...documents.getDpe, bounds: ASKING },
  [events.GET_FINDER_EVENT]: { ...finder.getFinder, bounds: ASKING },
  [events.GET_SKILLS_EVENT]: { ...skills.getSkills, bounds: ASKING },
  [events.GET_SKILL_EVENT]: { ...skills.getSkill, bounds: ASKING },
  [events.GET_BLOB_EVENT]: { ...blobs.getBlob, bounds: ASKING },
  [events.PUT_BLOB_EVENT]: { ...blobs.putBlob, bounds: PUTTING },
  [events.READ_RESOURCE_EVENT]: { ...resources.readResource, bounds: ASKING },
  [events.WATCH_RESOURCE_EVENT]: { ...resources.watchResource, bounds: ASKING },
  [events.GET_RESOURCE_TEMPLATES_EVENT]: {
    ...resources.getResourceTemplates,
    bounds: ASKING,
  },
  [events.GET_PROMPTS_EVENT]: { ...prompts.getPrompts, bounds: ASKING },
  [events.GET_PROMPT_EVENT]: { ...prompts.getPrompt, bounds: PROMPTING },
  [events.COMPLETE_EVENT]: { ...guidance.complete, bounds: PROMPTING },
  [events.GET_INSTRUCTIONS_EVENT]: {
    ...guidance.getInstructions,
    bounds: ASKING,
  },
};

/** An event that the Server answers itself. */
export interface ServerEventSpec<E extends events.ServerEvent> {
  /** Who may send it. */
  readonly from: offices.Role | "both";
  /** `office`: `(bool, str|null)`; `answer`: an object; `none`: fire and forget (protocol §3). */
  readonly ack: "office" | "answer" | "none";
  /** Parses the client's request. */
  readonly parseRequest: Parser<events.ServerEvents[E]["request"]>;
  /** The most that the request may have. */
  readonly bound: Bound;
  /** Parses the Server's answer, if the ack is an object. */
  readonly parseAnswer?: Parser<events.ServerEvents[E]["answer"]>;
  /** The notification sent to the office, if any; progress goes to one Agent alone. */
  readonly notification?: events.Notification;
}

/** Every event that the Server answers itself, with its validators (protocol §3). */
export const SERVER_EVENTS:
  & { readonly [E in events.ServerEvent]: ServerEventSpec<E> }
  & {
    readonly [events.LIST_ROOM_EVENT]: {
      readonly parseAnswer: Parser<offices.ListRoomRet>;
    };
    readonly [events.UPDATE_DEVICES_EVENT]: {
      readonly parseAnswer: Parser<UpdateDevicesRet>;
    };
  } = {
    [events.JOIN_OFFICE_EVENT]: {
      from: "both",
      ack: "office",
      parseRequest: offices.parseEnterOfficeReq,
      bound: SMALL,
      notification: events.ENTER_OFFICE_NOTIFICATION,
    },
    [events.LEAVE_OFFICE_EVENT]: {
      from: "both",
      ack: "office",
      parseRequest: offices.parseLeaveOfficeReq,
      bound: SMALL,
      notification: events.LEAVE_OFFICE_NOTIFICATION,
    },
    [events.LIST_ROOM_EVENT]: {
      from: "agent",
      ack: "answer",
      parseRequest: offices.parseListRoomReq,
      bound: SMALL,
      parseAnswer: offices.parseListRoomRet,
    },
    [events.CANCEL_TOOL_CALL_EVENT]: {
      from: "agent",
      ack: "none",
      parseRequest: tools.parseToolCallCancel,
      bound: SMALL,
      notification: events.CANCEL_TOOL_CALL_NOTIFICATION,
    },
    [events.TOOL_CALL_PROGRESS_EVENT]: {
      from: "computer",
      ack: "none",
      parseRequest: tools.parseToolCallProgress,
      bound: SMALL,
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
    [events.UPDATE_DEVICES_EVENT]: {
      from: "computer",
      ack: "answer",
      ...updateDevices,
      bound: SMALL,
    },
  };

/** Every notification that the Server sends to members of an office, with its validator (protocol §3). */
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

/** The most that each request may have. */
export const REQUEST_BOUNDS: Readonly<
  Record<events.ClientEvent | events.ServerEvent, Bound>
> = Object.fromEntries([
  ...Object.entries(CLIENT_EVENTS).map(([event, { bounds }]) =>
    [event, bounds.request] as const
  ),
  ...Object.entries(SERVER_EVENTS).map(([event, { bound }]) =>
    [event, bound] as const
  ),
]) as Record<events.ClientEvent | events.ServerEvent, Bound>;

/** The bounds of an event, as a Server shows them (protocol §10). */
export interface ShownBounds {
  readonly request: Bound;
  /** Absent where the Server answers. */
  readonly answer?: Bound;
}

/**
 * Returns the bounds of all events, by their names.
 *
 * @param messageBytes the most bytes of a message, which bounds what has no other bound in bytes
 */
export function shownBounds(
  messageBytes: number,
): Readonly<Record<string, ShownBounds>> {
  const shown = ({ bytes, values }: Bound): Bound => ({
    bytes: Math.min(bytes, messageBytes),
    values,
  });
  return Object.fromEntries(
    Object.entries(REQUEST_BOUNDS).map(([event, bound]) => {
      const request = shown(bound);
      if (!isClientEvent(event)) return [event, { request }];
      const answer = shown(CLIENT_EVENTS[event].bounds.answer);
      return [event, { request, answer }];
    }),
  );
}

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
  bound: Bound;
  notification: events.Notification;
} {
  return {
    from: "computer",
    ack: "none",
    parseRequest: config.parseUpdateComputerConfigReq,
    bound: SMALL,
    notification,
  };
}
