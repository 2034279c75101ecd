/**
 * What is measured: for every event a row, with the attacks that are tried one after the other.
 *
 * @module
 */
import {
  CLIENT_EVENTS,
  type ClientEvent,
  isClientEvent,
  isServerEvent,
  JOIN_OFFICE_EVENT,
  type ProtocolName,
  SERVER_EVENTS,
  type ServerEvent,
  UPDATE_RESOURCES_EVENT,
  UPDATE_RESOURCES_NOTIFICATION,
} from "../../protocol/mod.ts";
import { isTranslated, PROFILES } from "../../protocol/profiles.ts";
import type { Part } from "./bounds.ts";
import {
  answerOf,
  FAILURE,
  reportOf,
  requestOf,
  type Sample,
} from "./events.ts";
import { ANYWHERE, type Shape } from "./shapes.ts";

/** Where an attack has its shape. */
export interface Variant {
  readonly shape: Shape;
  /** The member that has it. */
  readonly field: string;
  /** Whether the payload is an error. */
  readonly isFailure?: boolean;
}

/** How often the payload of an attack is sent. */
export interface Pace {
  /** Payloads in flight at once. */
  readonly inFlight: number;
  /** Goes on until so many were sent, and the time has passed. */
  readonly least: number;
  readonly leastMs: number;
  /** Ends after so many at the latest. */
  readonly most: number;
}

/** Who sends which event. */
export interface Row {
  readonly title: string;
  readonly event: ClientEvent | ServerEvent;
  readonly part: Part;
  readonly agent: ProtocolName;
  readonly computer: ProtocolName;
  readonly variants: readonly Variant[];
  readonly pace: Pace;
  /** The way of it, where it is not that of an ordinary member. */
  readonly way?: Way;
}

/**
 * `outsider`: the sender is in no office. `other-name`: `agent` is not the name of the Agent's seat.
 * `renamed`: each payload has another name. `mcp`: an MCP client lists the tools that the Computer
 * answers.
 */
export type Way = "outsider" | "other-name" | "renamed" | "mcp";

/** A member that no version defines. */
const UNKNOWN = "x_unknown";

const NEW = "0.4";
const OLD = "0.2";

/** Four in flight, for half a second. */
const USUAL: Pace = {
  inFlight: 4,
  least: 8,
  leastMs: 500,
  most: 40,
};

const AT_ONCE = 30;

/** All of them at once. */
const TOGETHER: Pace = {
  inFlight: AT_ONCE,
  least: AT_ONCE,
  leastMs: 0,
  most: AT_ONCE,
};

/** One after the other. */
const inTurn = (count: number): Pace => ({
  inFlight: 1,
  least: count,
  leastMs: 0,
  most: count,
});

const clientEvents = Object.keys(CLIENT_EVENTS).filter(isClientEvent);
const serverEvents = Object.keys(SERVER_EVENTS).filter(isServerEvent);

const unknown = (shape: Shape): Variant => ({ shape, field: UNKNOWN });

const ownOf = ({ own = [] }: Sample): Variant[] =>
  own.map(([field, shape]) => ({ field, shape }));

const failure: Variant = {
  shape: "details",
  field: "details",
  isFailure: true,
};

/** The shapes of a translated payload outside of what the translation reads. */
const TRANSLATED: readonly Shape[] = ["objects", "keys", "escapes"];

/** Both orders of two members with different versions. */
const MIXED = [
  { agent: NEW, computer: OLD },
  { agent: OLD, computer: NEW },
] as const;

const EQUAL = { agent: NEW, computer: NEW } as const;

/** Every event with an ordinary payload; payloads between equal versions are forwarded as they came. */
const ordinary = (): Row[] => [
  ...clientEvents.map((event): Row => ({
    ...EQUAL,
    event,
    title: `${event} request`,
    part: "request",
    variants: [...ANYWHERE.map(unknown), ...ownOf(requestOf(event))],
    pace: USUAL,
  })),
  ...clientEvents.map((event): Row => ({
    ...EQUAL,
    event,
    title: `${event} answer`,
    part: "answer",
    variants: [
      ...ANYWHERE.map(unknown),
      ...ownOf(answerOf(event)),
      failure,
    ],
    pace: USUAL,
  })),
  ...serverEvents.map((event): Row => ({
    ...EQUAL,
    event,
    title: event,
    part: "report",
    variants: [...ANYWHERE.map(unknown), ...ownOf(reportOf(event, ""))],
    pace: USUAL,
    ...(event === JOIN_OFFICE_EVENT && { way: "outsider" }),
  })),
];

/** Every payload that is translated, in both orders of versions. */
const translated = (): Row[] =>
  MIXED.flatMap((versions) => {
    const between = `${versions.computer} Computer, ${versions.agent} Agent`;
    const differ = (
      event: ClientEvent | typeof UPDATE_RESOURCES_NOTIFICATION,
    ) =>
      isTranslated(
        event,
        PROFILES[versions.agent],
        PROFILES[versions.computer],
      );
    const events = clientEvents.filter(differ);
    return [
      ...events.map((event): Row => ({
        ...versions,
        event,
        title: `${event} request, ${between}`,
        part: "request",
        variants: [...TRANSLATED.map(unknown), ...ownOf(requestOf(event))],
        pace: USUAL,
      })),
      ...events.map((event): Row => ({
        ...versions,
        event,
        title: `${event} answer, ${between}`,
        part: "answer",
        variants: [
          ...TRANSLATED.map(unknown),
          ...ownOf(answerOf(event)),
          failure,
        ],
        pace: USUAL,
      })),
      {
        ...versions,
        event: UPDATE_RESOURCES_EVENT,
        title: `${UPDATE_RESOURCES_EVENT}, ${between}`,
        part: "report",
        variants: ownOf(reportOf(UPDATE_RESOURCES_EVENT, "")),
        pace: USUAL,
      },
    ];
  });

const objects = [unknown("objects")];

/** Attacks that were found. */
const found = (): Row[] => [
  ...(["server:join_office", "server:list_room"] as const).map((
    event,
  ): Row => ({
    ...EQUAL,
    event,
    title: `30 ${event} at once, in no office`,
    part: "report",
    variants: objects,
    pace: TOGETHER,
    way: "outsider",
  })),
  ...(["server:update_config", "server:list_room"] as const).map((
    event,
  ): Row => ({
    ...EQUAL,
    event,
    title: `30 ${event} at once`,
    part: "report",
    variants: objects,
    pace: TOGETHER,
  })),
  {
    ...EQUAL,
    event: "client:tool_call",
    title: "client:tool_call, agent is not the seat's name",
    part: "request",
    variants: [
      ...ANYWHERE.map(unknown),
      ...ownOf(requestOf("client:tool_call")),
    ],
    pace: USUAL,
    way: "other-name",
  },
  {
    ...EQUAL,
    event: "client:tool_call",
    title: "30 client:tool_call at once, agent is not the seat's name",
    part: "request",
    variants: objects,
    pace: TOGETHER,
    way: "other-name",
  },
  {
    ...MIXED[0],
    event: "client:get_config",
    title: "client:get_config answer with another long name each time",
    part: "answer",
    variants: [{ shape: "name", field: "servers" }],
    pace: inTurn(100),
    way: "renamed",
  },
  {
    ...EQUAL,
    event: "client:get_tools",
    title: "/mcp lists tools whose names become one",
    part: "answer",
    variants: [{ shape: "tools", field: "tools" }],
    pace: inTurn(3),
    way: "mcp",
  },
  {
    ...EQUAL,
    event: "client:get_tools",
    title: "/mcp lists tools, of other shapes",
    part: "answer",
    variants: [
      { shape: "objects", field: "tools" },
      unknown("objects"),
      unknown("keys"),
    ],
    pace: inTurn(3),
    way: "mcp",
  },
];

/** Returns all rows. */
export const allRows =
  (): Row[] => [...ordinary(), ...translated(), ...found()];

/** Returns rows whose titles match. @throws {SyntaxError} for no regular expression */
export const rowsLike = (rows: readonly Row[], pattern: string): Row[] => {
  const like = new RegExp(pattern, "i");
  return rows.filter(({ title }) => like.test(title));
};

/** Returns a row that only proves that it can be measured. */
export const quickly = (row: Row): Row => ({
  ...row,
  variants: row.variants.slice(0, 1),
  pace: {
    inFlight: Math.min(2, row.pace.inFlight),
    least: 2,
    leastMs: 20,
    most: 2,
  },
});
