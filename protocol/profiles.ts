/**
 * What differs between versions of the protocol, as pure functions: the only place that knows. A
 * {@linkcode Profile} has the properties of a version: its events, and their names. Payloads of members
 * with equal profiles are never translated, and neither is a tool call or its result, whatever the
 * versions; names of tools are opaque.
 *
 * The one difference in payloads is how an MCP server is named: by its key in `servers`, until 0.2 its
 * name, from 0.3 on its `bundle_id`. A {@linkcode ServerNames} remembers for each Computer what its
 * servers are called by members of the other kind.
 *
 * @module
 */
import { ErrorCode, ProtocolError, toErrorPayload } from "./errors.ts";
import { isClientEvent, isServerEvent } from "./event_table.ts";
import * as events from "./events.ts";
import type { SessionInfo } from "./payloads/offices.ts";
import { MCP_SERVER_KEY } from "./payloads/tools.ts";
import { isBundleId, isPlainObject, nameOnly } from "./validation.ts";
import {
  PROTOCOL_NAMES,
  PROTOCOL_VERSIONS,
  type ProtocolName,
} from "./version.ts";

/** The properties of a protocol version that differ between versions (spec §12; 0.4 §18). */
export interface Profile {
  /** The version that the Server announces, and compares with that of clients. */
  readonly version: string;
  /** Whether clients must send `a2c_version`, and see that of others; a sent one is always checked. */
  readonly handshake: boolean;
  /** Whether every connection of a client begins with polling, whatever its user wants (0.4 §1.4). */
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
  /** Whether an MCP server is identified by its `bundle_id`, which is also the prefix of its tools (0.4 §3). */
  readonly bundleIds: boolean;
  /** Events that this version does not have yet. */
  readonly lacks:
    readonly (events.ClientEvent | events.ServerEvent | events.Notification)[];
}

/** All versions that a Server supports (spec §12). */
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
      events.UPDATE_FINDER_EVENT,
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
 * Returns the event of a name, which may be an older one (spec §12).
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

/** Returns all names under which an event is sent, its current one first, so that clients of any name get it (spec §12). */
export function namesOf<E extends events.ClientEvent | events.Notification>(
  profile: Profile,
  event: E,
): readonly [E, ...string[]] {
  const older = profile.olderNames[event];
  return older === undefined ? [event] : [event, older];
}

/** Returns whether an event is one that only the Server may send. */
export const hasNotificationPrefix = (event: string): boolean =>
  event.startsWith("notify:");

/** A JSON object of a client, of which nothing is certain. */
type Loose = Record<string, unknown>;

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

/** Shows a member as the version of the reader does: 0.1 has no `a2c_version` (spec §12). */
export function shownTo(reader: Profile, info: SessionInfo): SessionInfo {
  if (reader.handshake) return info;
  const { a2c_version: _, ...shown } = info;
  return shown;
}

// ------------------------------------------------------------------ names of MCP servers

/**
 * What the MCP servers of one Computer are called by members that name them the other way. A name that
 * was once given keeps its meaning as long as the Computer has its seat.
 */
export interface ServerNames {
  /** The Computer's own name of a server, by the given one. */
  readonly own: Map<string, string>;
  /** The given name of a server, by the Computer's own. */
  readonly given: Map<string, string>;
  /** The number to try next for a name that is taken; keeps a hostile list from taking quadratic time. */
  readonly numbers: Map<string, number>;
}

/** The most servers of a Computer whose names are remembered; beyond, they pass unchanged. */
const MAX_SERVERS = 1000;
/** The id of a server that has no letter or digit, and of tools whose server is unknown. */
const NAMELESS = "mcp";

/** Creates a table for a Computer of which no server is known yet. */
export const newServerNames = (): ServerNames => ({
  own: new Map(),
  given: new Map(),
  numbers: new Map(),
});

/** The requests and answers that name MCP servers. */
const NAMING: ReadonlySet<events.ClientEvent | events.Notification> = new Set<
  events.ClientEvent | events.Notification
>([
  events.GET_TOOLS_EVENT,
  events.GET_CONFIG_EVENT,
  events.GET_RESOURCES_EVENT,
  events.READ_RESOURCE_EVENT,
  events.WATCH_RESOURCE_EVENT,
  events.GET_PROMPTS_EVENT,
  events.GET_PROMPT_EVENT,
  events.UPDATE_RESOURCES_NOTIFICATION,
]);

/** Returns whether a payload of this event must be translated between two members. */
export const isTranslated = (
  event: events.ClientEvent | events.Notification,
  one: Profile,
  other: Profile,
): boolean => one.bundleIds !== other.bundleIds && NAMING.has(event);

/** Translates a request for a Computer: its `mcp_server`. */
export const translateRequest = (
  request: unknown,
  { own }: ServerNames,
): unknown => renamed(request, own);

/** Translates a notification of a Computer: its `mcp_server`. */
export const translateNotice = (
  notice: unknown,
  { given }: ServerNames,
): unknown => renamed(notice, given);

/**
 * Translates the answer of a Computer, and adds the names in it to the table. What is no answer to the
 * event passes unchanged.
 *
 * @param reader the version of the member that gets it
 */
export function translateAnswer(
  event: events.ClientEvent,
  answer: unknown,
  names: ServerNames,
  reader: Profile,
): unknown {
  if (!isPlainObject(answer)) return answer;
  if (toErrorPayload(answer)) return renamed(answer, names.given);
  const translated = translateBody(event, answer, names, reader);
  if (names.given.size > MAX_SERVERS) {
    for (const table of Object.values(names)) table.clear();
  }
  return translated;
}

function translateBody(
  event: events.ClientEvent,
  answer: Loose,
  names: ServerNames,
  reader: Profile,
): unknown {
  switch (event) {
    case events.GET_TOOLS_EVENT:
      return reader.bundleIds ? toolsWithIds(answer, names) : answer;
    case events.GET_CONFIG_EVENT:
      return configFor(reader, answer, names);
    case events.GET_PROMPTS_EVENT:
      return mapList(answer, "prompts", (each) => renamed(each, names.given));
    default:
      return answer;
  }
}

/** Replaces `mcp_server`, if the table has it. */
function renamed(payload: unknown, table: ReadonlyMap<string, string>) {
  if (!isPlainObject(payload)) return payload;
  const { mcp_server } = payload;
  const name = typeof mcp_server === "string"
    ? table.get(mcp_server)
    : undefined;
  return name === undefined ? payload : { ...payload, mcp_server: name };
}

/** Replaces the objects in a list of an answer, if it is one. */
function mapList(
  answer: Loose,
  field: string,
  map: (item: Loose) => unknown,
): Loose {
  const list = answer[field];
  if (!Array.isArray(list)) return answer;
  return {
    ...answer,
    [field]: list.map((item) => isPlainObject(item) ? map(item) : item),
  };
}

// ------------------------------------------------------------------ get_tools

/** Adds the `bundle_id` that 0.3 requires to the tools of an older Computer (0.4 §3.6). */
const toolsWithIds = (answer: Loose, names: ServerNames): Loose =>
  mapList(
    answer,
    "tools",
    (tool) =>
      typeof tool.bundle_id === "string"
        ? tool
        : { ...tool, bundle_id: serverOf(tool, names) },
  );

/** The tag of this package's Computers says which server a tool is of; else a single one is all of them. */
function serverOf({ meta }: Loose, names: ServerNames): string {
  const tag = isPlainObject(meta) ? meta[MCP_SERVER_KEY] : undefined;
  if (typeof tag === "string") return idOf(tag, names);
  const [only, another] = names.given.values();
  return only !== undefined && another === undefined ? only : NAMELESS;
}

/** Returns the `bundle_id` that a server was given, or gives it the one of its name. */
const idOf = (name: string, names: ServerNames): string =>
  names.given.get(name) ?? give(name, nameOnly(name) ?? NAMELESS, names);

/** Gives a server a name, with a number if another one has it; the same one for the same wish. */
function give(server: string, wanted: string, names: ServerNames): string {
  const { own, given, numbers } = names;
  const before = given.get(server);
  if (before === wanted || before?.startsWith(`${wanted}-`)) return before;
  let name = wanted;
  while ((own.get(name) ?? server) !== server) {
    const number = numbers.get(wanted) ?? 2;
    numbers.set(wanted, number + 1);
    name = `${wanted}-${number}`;
  }
  own.set(name, server);
  given.set(server, name);
  return name;
}

// ------------------------------------------------------------------ get_config

/** Writes keys, ids and options as the reader's version has them (0.4 §3.6, §9). */
function configFor(reader: Profile, answer: Loose, names: ServerNames): Loose {
  const { servers } = answer;
  if (!isPlainObject(servers)) return answer;
  return {
    ...mapList(answer, "inputs", (input) => inputFor(reader, input)),
    servers: reader.bundleIds ? byId(servers, names) : byName(servers, names),
  };
}

/**
 * Takes the explicit `bundle_id`, else derives it from the name. Where nothing is left of a name, only its
 * Computer can make the digest of 0.4 §3.2: others see its connection in a redacted form.
 */
const byId = (servers: Loose, names: ServerNames): Loose =>
  Object.fromEntries(
    Object.entries(servers).map(([name, server]) => {
      if (!isPlainObject(server)) return [name, server];
      const bundle_id = isBundleId(server.bundle_id)
        ? give(name, server.bundle_id, names)
        : idOf(name, names);
      return [bundle_id, { ...server, bundle_id }];
    }),
  );

/** A key of 0.2 is the name, and must be unique: servers that share a name keep their id in its place. */
function byName(servers: Loose, names: ServerNames): Loose {
  const count = new Map<unknown, number>();
  for (const server of Object.values(servers)) {
    const { name } = Object(server);
    count.set(name, (count.get(name) ?? 0) + 1);
  }
  const isUnique = (name: unknown, id: string): name is string =>
    typeof name === "string" && name !== "" && count.get(name) === 1 &&
    (name === id || !Object.hasOwn(servers, name));
  return Object.fromEntries(
    Object.entries(servers).map(([id, server]) => {
      if (!isPlainObject(server)) return [id, server];
      const wanted = isUnique(server.name, id) ? server.name : id;
      const name = give(id, wanted, names);
      return [name, { ...server, name }];
    }),
  );
}

/** The options of a pickString have labels since 0.3 (0.4 §9). */
function inputFor(reader: Profile, input: Loose): Loose {
  if (input.type !== "pickString") return input;
  const { options } = input;
  if (!Array.isArray(options)) return input;
  return {
    ...input,
    options: options.map((option: unknown) => {
      if (reader.bundleIds) {
        return typeof option === "string"
          ? { label: option, value: option }
          : option;
      }
      return isPlainObject(option) ? option.value : option;
    }),
  };
}
