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
  type ProtocolName,
  SERVER_EVENTS,
  type ServerEvent,
} from "../../protocol/mod.ts";
import { PROFILES } from "../../protocol/profiles.ts";
import { answerOf, requestOf, type Sample } from "./events.ts";
import { ANYWHERE, type Bound, type Shape, WORST } from "./shapes.ts";

/** A payload of an event, as its sender sees it. */
export type PayloadPart = "request" | "answer" | "report";

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
  readonly part: PayloadPart;
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

const paceOf = (inFlight: number, count: number): Pace => ({
  inFlight,
  least: count,
  leastMs: 0,
  most: count,
});

/** All of them at once. */
const together = (count: number): Pace => paceOf(count, count);

/** One after the other. */
const inTurn = (count: number): Pace => paceOf(1, count);

const EQUAL = { agent: "0.4", computer: "0.4" } as const;

/** Both orders of two members with different versions. */
const MIXED = [
  { agent: "0.4", computer: "0.2" },
  { agent: "0.2", computer: "0.4" },
] as const;

/** A row of two members of the newest version, at the usual pace. */
const row = (
  title: string,
  [event, part]: readonly [Row["event"], PayloadPart],
  variants: readonly Variant[],
  over: Partial<Row> = {},
): Row => ({
  title,
  event,
  part,
  ...EQUAL,
  variants,
  pace: USUAL,
  ...over,
});

const clientEvents = Object.keys(CLIENT_EVENTS).filter(isClientEvent);
const serverEvents = Object.keys(SERVER_EVENTS).filter(isServerEvent);

const unknown = (shape: Shape): Variant => ({ shape, field: UNKNOWN });

const objects = [unknown("objects")];

const ownOf = ({ own }: Sample): Variant[] =>
  own.map(([field, shape]) => ({ field, shape }));

const failure: Variant = {
  shape: "details",
  field: "details",
  isFailure: true,
};

/** The events for which every shape is tried: one of each way through the Server. */
const EXAMPLES: readonly Row["event"][] = [];

/** The shapes of a member that no version defines: all of an example, else those that turned out worst. */
const anywhere = (event: Row["event"]): Variant[] =>
  (EXAMPLES.includes(event) ? ANYWHERE : WORST).map(unknown);

/** The most items that are translated in an answer. */
const TRANSLATED: Readonly<Partial<Record<ClientEvent, Variant>>> = {
  "client:get_tools": { shape: "items", field: "tools" },
  "client:get_prompts": { shape: "items", field: "prompts" },
  "client:get_resource_templates": {
    shape: "items",
    field: "resource_templates",
  },
  "client:get_instructions": { shape: "items", field: "instructions" },
  "client:get_config": { shape: "named", field: "servers" },
};

/** Requests and answers between two members: forwarded as they came, or translated. */
function between(versions: Pick<Row, "agent" | "computer">): Row[] {
  const { agent, computer } = versions;
  const isMixed = agent !== computer;
  const names = isMixed ? `, ${computer} Computer, ${agent} Agent` : "";
  const lacks = [agent, computer].flatMap((name) => PROFILES[name].lacks);
  const events = clientEvents.filter((event) => !lacks.includes(event));
  return events.flatMap((event) => {
    const shapes = isMixed ? objects : anywhere(event);
    const most = isMixed ? TRANSLATED[event] : undefined;
    const request = [...shapes, ...ownOf(requestOf(event))];
    const answer = [...shapes, ...ownOf(answerOf(event)), failure];
    if (most !== undefined) answer.push(most);
    return [
      row(`${event} request${names}`, [event, "request"], request, versions),
      row(`${event} answer${names}`, [event, "answer"], answer, versions),
    ];
  });
}

/** Every event with an ordinary payload, and every payload that is translated. */
const ordinary = (): Row[] => [
  ...between(EQUAL),
  ...serverEvents.map((event) =>
    row(
      event,
      [event, "report"],
      [...anywhere(event), ...ownOf(requestOf(event))],
      event === "server:join_office" ? { way: "outsider" } : {},
    )
  ),
  ...MIXED.flatMap((versions) => [
    ...between(versions),
    row(
      `server:update_resources, ${versions.computer} Computer, ${versions.agent} Agent`,
      ["server:update_resources", "report"],
      ownOf(requestOf("server:update_resources")),
      versions,
    ),
  ]),
];

const AT_ONCE = 30;

/** Attacks that were found. */
const found = (): Row[] => [
  row(
    `${AT_ONCE} server:join_office at once, by a client in no office`,
    ["server:join_office", "report"],
    objects,
    { pace: together(AT_ONCE), way: "outsider" },
  ),
  row(
    `server:list_room, by a client in no office`,
    ["server:list_room", "report"],
    objects,
    { way: "outsider" },
  ),
  ...(["server:update_config", "server:list_room"] as const).map((event) =>
    row(`${AT_ONCE} ${event} at once`, [event, "report"], objects, {
      pace: together(AT_ONCE),
    })
  ),
  row(
    `client:tool_call whose agent is not the seat's name`,
    ["client:tool_call", "request"],
    [...anywhere("client:tool_call"), ...ownOf(requestOf("client:tool_call"))],
    { way: "other-name" },
  ),
  row(
    `4 client:get_tools answers at once, translated`,
    ["client:get_tools", "answer"],
    [{ shape: "objects", field: "tools" }],
    { ...MIXED[0], pace: together(4) },
  ),
  row(
    `client:get_config answer with another long name each time`,
    ["client:get_config", "answer"],
    [{ shape: "name", field: "servers" }],
    { ...MIXED[0], pace: inTurn(60), way: "renamed" },
  ),
  row(
    "/mcp lists tools whose names become one",
    ["client:get_tools", "answer"],
    [{ shape: "tools", field: "tools" }],
    { pace: inTurn(3), way: "mcp" },
  ),
  row("/mcp lists tools, of other shapes", ["client:get_tools", "answer"], [
    { shape: "objects", field: "tools" },
    ...objects,
    unknown("keys"),
  ], { pace: inTurn(3), way: "mcp" }),
];

/** Returns all rows. */
export const allRows = (): Row[] => [...ordinary(), ...found()];

/** Returns a row that only proves that it can be measured. */
export const quickly = (row: Row): Row => ({
  ...row,
  variants: row.variants.slice(0, 1),
  pace: { ...paceOf(Math.min(2, row.pace.inFlight), 2), leastMs: 20 },
});

/** The largest message of a Server's default configuration. */
const MESSAGE_BYTES = 8 * 2 ** 20;

/** Room for what is around a payload in a message: the packet, the event's name, the id. */
const AROUND_BYTES = 256;

/** The bound of a message of any event. */
export const WHOLE_MESSAGE: Bound = { bytes: MESSAGE_BYTES - AROUND_BYTES };
