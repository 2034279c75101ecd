/**
 * What is measured: for every event a row, with the attacks that are tried one after the other.
 *
 * @module
 */
import {
  CLIENT_EVENTS,
  type ClientEvent,
  GET_CONFIG_EVENT,
  GET_PROMPTS_EVENT,
  GET_TOOLS_EVENT,
  isClientEvent,
  isServerEvent,
  JOIN_OFFICE_EVENT,
  LIST_ROOM_EVENT,
  type ProtocolName,
  SERVER_EVENTS,
  type ServerEvent,
  TOOL_CALL_EVENT,
  UPDATE_CONFIG_EVENT,
  UPDATE_RESOURCES_EVENT,
} from "../../protocol/mod.ts";
import { PROFILES } from "../../protocol/profiles.ts";
import type { Part } from "./bounds.ts";
import { answerOf, reportOf, requestOf, type Sample } from "./events.ts";
import { ANYWHERE, type Shape, WORST } from "./shapes.ts";

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
  /** Whether the first is sent alone, and no further one where that takes a second. */
  readonly isTriedFirst?: boolean;
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

/**
 * Three in flight: of the largest messages, more would exceed what the Server queues for one client, which
 * it disconnects then.
 */
const USUAL: Pace = {
  inFlight: 3,
  least: 3,
  leastMs: 400,
  most: 1000,
  isTriedFirst: true,
};

const AT_ONCE = 30;

/** All of them at once. */
const together = (count: number): Pace => ({
  inFlight: count,
  least: count,
  leastMs: 0,
  most: count,
});

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

const objects = [unknown("objects")];

const ownOf = ({ own = [] }: Sample): Variant[] =>
  own.map(([field, shape]) => ({ field, shape }));

const failure: Variant = {
  shape: "details",
  field: "details",
  isFailure: true,
};

/** Both orders of two members with different versions. */
const MIXED = [
  { agent: NEW, computer: OLD },
  { agent: OLD, computer: NEW },
] as const;

const EQUAL = { agent: NEW, computer: NEW } as const;

/** The events for which every shape is tried: one of each way through the Server. */
const EXAMPLES: readonly Row["event"][] = [
  TOOL_CALL_EVENT,
  JOIN_OFFICE_EVENT,
  UPDATE_CONFIG_EVENT,
];

/** The shapes of a member that no version defines: all of an example, else those that turned out worst. */
const anywhere = (event: Row["event"]): Variant[] =>
  (EXAMPLES.includes(event) ? ANYWHERE : WORST).map(unknown);

/** Every event with an ordinary payload; payloads between equal versions are forwarded as they came. */
const ordinary = (): Row[] => [
  ...clientEvents.map((event): Row => ({
    ...EQUAL,
    event,
    title: `${event} request`,
    part: "request",
    variants: [...anywhere(event), ...ownOf(requestOf(event))],
    pace: USUAL,
  })),
  ...clientEvents.map((event): Row => ({
    ...EQUAL,
    event,
    title: `${event} answer`,
    part: "answer",
    variants: [
      ...anywhere(event),
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
    variants: [...anywhere(event), ...ownOf(reportOf(event, ""))],
    pace: USUAL,
    ...(event === JOIN_OFFICE_EVENT && { way: "outsider" }),
  })),
];

/** The most items that are translated in an answer. */
const TRANSLATED: Readonly<Partial<Record<ClientEvent, readonly Variant[]>>> = {
  [GET_TOOLS_EVENT]: [{ shape: "items", field: "tools" }],
  [GET_PROMPTS_EVENT]: [{ shape: "items", field: "prompts" }],
  [GET_CONFIG_EVENT]: [{ shape: "named", field: "servers" }],
};

/** Every payload between members of different versions, in both orders. */
const translated = (): Row[] =>
  MIXED.flatMap((versions) => {
    const between = `${versions.computer} Computer, ${versions.agent} Agent`;
    const lacks = [versions.agent, versions.computer]
      .flatMap((version) => PROFILES[version].lacks);
    const events = clientEvents.filter((event) => !lacks.includes(event));
    return [
      ...events.map((event): Row => ({
        ...versions,
        event,
        title: `${event} request, ${between}`,
        part: "request",
        variants: [...objects, ...ownOf(requestOf(event))],
        pace: USUAL,
      })),
      ...events.map((event): Row => ({
        ...versions,
        event,
        title: `${event} answer, ${between}`,
        part: "answer",
        variants: [
          ...objects,
          ...ownOf(answerOf(event)),
          ...TRANSLATED[event] ?? [],
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

/** Attacks that were found. */
const found = (): Row[] => [
  {
    ...EQUAL,
    event: JOIN_OFFICE_EVENT,
    title: `${AT_ONCE} ${JOIN_OFFICE_EVENT} at once, by a client in no office`,
    part: "report",
    variants: objects,
    pace: together(AT_ONCE),
    way: "outsider",
  },
  {
    ...EQUAL,
    event: LIST_ROOM_EVENT,
    title: `${LIST_ROOM_EVENT}, by a client in no office`,
    part: "report",
    variants: objects,
    pace: USUAL,
    way: "outsider",
  },
  ...([UPDATE_CONFIG_EVENT, LIST_ROOM_EVENT] as const).map((event): Row => ({
    ...EQUAL,
    event,
    title: `${AT_ONCE} ${event} at once`,
    part: "report",
    variants: objects,
    pace: together(AT_ONCE),
  })),
  {
    ...EQUAL,
    event: TOOL_CALL_EVENT,
    title: `${TOOL_CALL_EVENT} whose agent is not the seat's name`,
    part: "request",
    variants: [
      ...anywhere(TOOL_CALL_EVENT),
      ...ownOf(requestOf(TOOL_CALL_EVENT)),
    ],
    pace: USUAL,
    way: "other-name",
  },
  {
    ...MIXED[0],
    event: GET_TOOLS_EVENT,
    title: `4 ${GET_TOOLS_EVENT} answers at once, translated`,
    part: "answer",
    variants: [{ shape: "objects", field: "tools" }],
    pace: together(4),
  },
  {
    ...MIXED[0],
    event: GET_CONFIG_EVENT,
    title: `${GET_CONFIG_EVENT} answer with another long name each time`,
    part: "answer",
    variants: [{ shape: "name", field: "servers" }],
    pace: inTurn(60),
    way: "renamed",
  },
  {
    ...EQUAL,
    event: GET_TOOLS_EVENT,
    title: "/mcp lists tools whose names become one",
    part: "answer",
    variants: [{ shape: "tools", field: "tools" }],
    pace: inTurn(3),
    way: "mcp",
  },
  {
    ...EQUAL,
    event: GET_TOOLS_EVENT,
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
