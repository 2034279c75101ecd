/**
 * What differs between the versions of two members of an office, as pure functions: the only place that
 * knows. Payloads of members with equal profiles are never translated, and neither is a tool call or its
 * result, whatever the versions; names of tools are opaque.
 *
 * The one difference in payloads is how an MCP server is named: by its key in `servers`, until 0.2 its
 * name, from 0.3 on its `bundle_id`. A {@linkcode ServerNames} remembers for each Computer what its
 * servers are called by members of the other kind.
 *
 * @module
 */
import { ErrorCode, ProtocolError, toErrorPayload } from "./errors.ts";
import * as events from "./events.ts";
import type { SessionInfo } from "./payloads/offices.ts";
import { MCP_SERVER_KEY } from "./payloads/tools.ts";
import type { Profile } from "./profiles.ts";
import { isBundleId, isPlainObject, nameOnly } from "./validation.ts";

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
