/**
 * What differs between versions of the protocol, as pure functions. A {@linkcode Profile} has the
 * properties of a version: its events, and their names. Payloads of members with equal profiles are never
 * translated, and neither is a tool call, whatever the versions; names of tools are opaque. The one
 * difference in payloads is how an MCP server is named: `translation.ts`.
 *
 * @module
 */
import { ErrorCode, ProtocolError } from "./errors.ts";
import { isClientEvent, isServerEvent } from "./event_table.ts";
import * as events from "./events.ts";
import type { SessionInfo } from "./payloads/offices.ts";
import {
  PROTOCOL_NAMES,
  PROTOCOL_VERSIONS,
  type ProtocolName,
} from "./version.ts";

/** The properties of a protocol version that differ between versions (protocol §12, §14). */
export interface Profile {
  /** The version that the Server announces, and compares with that of clients. */
  readonly version: string;
  /** Whether clients must send `a2c_version`, and see that of others; a sent one is always checked. */
  readonly handshake: boolean;
  /** Whether every connection of a client begins with polling, whatever its options (protocol §2). */
  readonly pollingFirst: boolean;
  /** Older names of events: name in the event table → older name. */
  readonly olderNames: Readonly<
    Partial<
      Record<
        events.ClientEvent | events.ServerEvent | events.Notification,
        string
      >
    >
  >;
  /** Whether an MCP server is identified by its `bundle_id`, which is also the prefix of its tools (protocol §13). */
  readonly bundleIds: boolean;
  /** Events that this version does not have yet. */
  readonly lacks:
    readonly (events.ClientEvent | events.ServerEvent | events.Notification)[];
}

/** All versions that a Server supports (protocol §12). */
export const PROFILES: Readonly<Record<ProtocolName, Profile>> = {
  "0.2": {
    version: PROTOCOL_VERSIONS["0.2"],
    handshake: true,
    pollingFirst: false,
    olderNames: {},
    bundleIds: false,
    lacks: [events.PUT_BLOB_EVENT],
  },
  "0.3": {
    version: PROTOCOL_VERSIONS["0.3"],
    handshake: true,
    pollingFirst: true,
    olderNames: {},
    bundleIds: true,
    lacks: [events.PUT_BLOB_EVENT],
  },
  "0.4": {
    version: PROTOCOL_VERSIONS["0.4"],
    handshake: true,
    pollingFirst: true,
    olderNames: {},
    bundleIds: true,
    lacks: [],
  },
  "0.1": {
    version: PROTOCOL_VERSIONS["0.1"],
    handshake: false,
    pollingFirst: false,
    olderNames: {
      [events.GET_CONFIG_EVENT]: "client:get_mcp_config",
      [events.UPDATE_CONFIG_EVENT]: "server:update_mcp_config",
      [events.UPDATE_CONFIG_NOTIFICATION]: "notify:update_mcp_config",
      [events.UPDATE_DESKTOP_EVENT]: "server:desktop_refresh",
      [events.UPDATE_DESKTOP_NOTIFICATION]: "notify:desktop_refresh",
    },
    bundleIds: false,
    lacks: [
      events.GET_SKILLS_EVENT,
      events.GET_SKILL_EVENT,
      events.GET_BLOB_EVENT,
      events.PUT_BLOB_EVENT,
      events.UPDATE_SKILLS_EVENT,
      events.UPDATE_SKILLS_NOTIFICATION,
      events.GET_RESOURCES_EVENT,
      events.GET_DPE_EVENT,
      events.GET_FINDER_EVENT,
      events.READ_RESOURCE_EVENT,
      events.WATCH_RESOURCE_EVENT,
      events.UPDATE_RESOURCES_EVENT,
      events.UPDATE_RESOURCES_NOTIFICATION,
      events.GET_PROMPTS_EVENT,
      events.GET_PROMPT_EVENT,
      events.GET_RESOURCE_TEMPLATES_EVENT,
      events.COMPLETE_EVENT,
      events.GET_INSTRUCTIONS_EVENT,
      events.UPDATE_FINDER_EVENT,
      events.UPDATE_DEVICES_EVENT,
      events.TOOL_CALL_PROGRESS_EVENT,
      events.TOOL_CALL_PROGRESS_NOTIFICATION,
    ],
  },
};

/** Returns the name of the version that a profile of {@linkcode PROFILES} describes. */
export function nameOfProfile(profile: Profile): ProtocolName {
  const found = PROTOCOL_NAMES.find((name) => PROFILES[name] === profile);
  if (found !== undefined) return found;
  throw new RangeError(`No version has this profile: ${profile.version}`);
}

/**
 * Returns the event of a name, which may be an older one (protocol §12).
 *
 * @returns `undefined` for a name that is not a request of that version
 */
export function eventOf(
  profile: Profile,
  name: string,
): events.ClientEvent | events.ServerEvent | undefined {
  const renamed = Object.entries(profile.olderNames)
    .find(([, older]) => older === name);
  const event = renamed ? renamed[0] : name;
  const known = isClientEvent(event) || isServerEvent(event);
  return known && !profile.lacks.includes(event) ? event : undefined;
}

/** Returns all names under which an event is sent, its current one first, so that clients of any name get it (protocol §12). */
export function namesOf<
  E extends events.ClientEvent | events.ServerEvent | events.Notification,
>(
  profile: Profile,
  event: E,
): readonly [E, ...string[]] {
  const older = profile.olderNames[event];
  return older === undefined ? [event] : [event, older];
}

/** Returns whether an event is one that only the Server may send. */
export const hasNotificationPrefix = (event: string): boolean =>
  event.startsWith("notify:");

// ------------------------------------------------------------------ what a version lacks

/** The answer to a request that the Computer's version does not have. */
export const unknownTo = (
  computer: string,
  { version }: Profile,
  event: events.ClientEvent,
): ProtocolError =>
  new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `${computer} speaks A2C-SMCP ${
      version.replace(/\.\d+$/, "")
    }, which has no ${event}`,
    { fields: { computer } },
  );

/** Shows a member as the version of the reader does: 0.1 has no `a2c_version` (protocol §12). */
export function shownTo(reader: Profile, info: SessionInfo): SessionInfo {
  if (reader.handshake) return info;
  const { a2c_version: _, ...shown } = info;
  return shown;
}
