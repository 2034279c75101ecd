/**
 * The schemas of the operator API, of answers and of changes. The OpenAPI document, the views, and the
 * client of the command all follow from them.
 *
 * @module
 */
import { PROTOCOL_NAMES } from "../../protocol/version.ts";
import * as z from "../../protocol/schema.ts";

/** A schema whose description is part of the document of the API. */
const described = <S extends z.ZodMiniType>(schema: S, text: string): S =>
  schema.check(z.describe(text));

/** A field that may be absent. */
const maybe = <S extends z.ZodMiniType>(schema: S, text?: string) =>
  z.exactOptional(text === undefined ? schema : described(schema, text));

/** A text of limited length. */
const text = (max: number) =>
  z.string().check(z.minLength(1), z.maxLength(max));
/** A number of milliseconds. */
const ms = (min: number, max: number) =>
  z.int().check(z.minimum(min), z.maximum(max));

const time = described(z.iso.datetime(), "a time, in ISO 8601");
const count = z.int().check(z.minimum(0));
/** The fields of every answer of a node of a cluster. */
const ofNode = {
  node: maybe(
    z.string(),
    "the node of a cluster that answers, for all of them",
  ),
  unanswered: maybe(
    z.array(z.string()),
    "other nodes that did not answer: their entries are missing",
  ),
  not_operated: maybe(
    z.array(z.string()),
    "other nodes that were started without this API: their entries are missing",
  ),
};

/** How a call ended. */
const endFields = {
  outcome: described(
    z.string(),
    "ok, tool error (of the MCP server itself), cancelled, timeout, agent gone, or error and a code",
  ),
  ended_by: maybe(
    z.enum(["agent", "operator", "server", "computer"]),
    "of cancelled and timeout: who cancelled, or whose timeout",
  ),
};

/** The person that a call waits for. */
const waiting = described(
  z.enum(["confirmation", "answer"]),
  "the person at the Computer that the call waits for: to confirm it, or to answer its MCP server",
);

const reasonText = z.string().check(
  z.trim(),
  z.minLength(1),
  z.maxLength(200),
);

/** The reason of an operator; the member receives it. */
const reason = described(
  reasonText,
  "a text of 1 to 200 characters, which the member receives",
);

/** An office. */
export const office = z.object({
  office: z.string(),
  agent: described(z.nullable(z.string()), "the name of its Agent"),
  computers: described(count, "its Computers"),
  pending_calls: described(count, "its pending calls"),
  node: maybe(z.string(), "the node of a cluster where it has its home"),
});

/** The offices. */
export const offices = z.object({
  ...ofNode,
  offices: z.array(office),
});

/** A member of an office. */
export const member = z.object({
  id: described(z.string(), "its connection; a new one after each reconnect"),
  office: z.string(),
  role: z.enum(["agent", "computer"]),
  name: z.string(),
  version: described(z.string(), "its a2c_version"),
  principal: maybe(z.string(), "its authenticated identity"),
  address: maybe(z.string()),
  since: maybe(time, "when it joined, in ISO 8601"),
  calls: maybe(count, "the calls that it sent or received"),
  pending_calls: maybe(count),
  bytes: maybe(
    z.object({
      received: count,
      sent: count,
      queued: described(count, "sent, and not yet read by it"),
    }),
    "of its WebSocket; absent over polling, and where its connection is at another node",
  ),
  last_error: maybe(
    z.object({
      at: time,
      ...endFields,
      message: maybe(z.string()),
    }),
    "the last of its calls that failed by its own fault; cancelled calls do not count",
  ),
});

/** The members of an office. */
export const members = z.object({
  ...ofNode,
  members: z.array(member),
});

/** A pending call. */
export const call = z.object({
  office: z.string(),
  agent: z.string(),
  computer: z.string(),
  req_id: z.string(),
  request: described(z.string(), "the event, such as client:tool_call"),
  tool: maybe(z.string()),
  principal: maybe(z.string()),
  waiting: maybe(waiting),
  waiting_ms: maybe(
    z.number().check(z.minimum(0)),
    "of a call that waits: milliseconds since the person was asked",
  ),
  ms: described(
    z.number().check(z.minimum(0)),
    "milliseconds since it began",
  ),
});

/** The calls of an office. */
export const calls = z.object({
  ...ofNode,
  calls: z.array(call),
});

/** The calls of all offices. */
export const allCalls = z.extend(calls, {
  partial: maybe(z.literal(true), "more calls are pending, which began later"),
});

/** A process. */
export const process = z.object({
  draining: z.boolean(),
  connections: described(count, "sessions, in an office or not"),
  calls: described(count, "calls so far"),
  streams: described(count, "open streams of events"),
  queued_bytes: described(count, "sent, and not yet read by clients"),
  memory_bytes: described(count, "the resident set"),
  heap_bytes: count,
});

/** The counters. */
export const status = z.object({
  ...ofNode,
  version: described(z.string(), "of this package"),
  protocols: described(
    z.array(z.enum(PROTOCOL_NAMES)),
    "the protocol versions that it accepts",
  ),
  since: described(time, "when the Server was made, in ISO 8601"),
  offices: count,
  members: count,
  pending_calls: count,
  sign_in: maybe(z.literal(true), "programs can sign in"),
  process: maybe(process, "for operators of all offices only"),
  nodes: maybe(
    z.array(z.object({ node: z.string(), process: process })),
    "the other nodes of a cluster, for operators of all offices only",
  ),
});

/** The tools of a Computer, as it lists them for Agents. */
export const tools = z.looseObject({
  tools: z.array(
    z.looseObject({
      name: z.string(),
      description: z.string(),
      params_schema: z.looseObject({}),
    }),
  ),
});

/** The MCP servers of a Computer, as it shows them to Agents: without secrets. */
export const config = z.looseObject({
  servers: z.record(z.string(), z.unknown()),
});

/** The windows of a Computer, most relevant first. */
export const desktop = z.looseObject({
  desktops: z.array(z.unknown()),
});

/** Request to call a tool. */
export const callTool = z.strictObject({
  tool_name: described(text(256), "the name from the Computer's tools"),
  params: described(
    z._default(z.record(z.string(), z.unknown()), {}),
    "the arguments",
  ),
  timeout_ms: described(
    z._default(ms(1000, 3_600_000), 60_000),
    "milliseconds from 1000 to 3600000 that the tool may take, rounded up to whole seconds",
  ),
  req_id: maybe(
    text(256),
    "unique: the id of the call in events; random by default",
  ),
});

/** The result of a tool, failures of the tool included. */
export const result = z.looseObject({
  content: z.array(z.unknown()),
  isError: z.nullish(z.boolean()),
});

/** Request to kick a member. */
export const kick = z.strictObject({
  reason,
  hold_ms: described(
    z._default(ms(0, 86_400_000), 60_000),
    "milliseconds from 0 to 86400000 in which its seat stays closed and a join is answered with the reason",
  ),
});

/** Request to cancel a call. */
export const cancel = z.strictObject({
  req_id: described(text(256), "the req_id of a pending call"),
  reason,
});

/** Request to revoke a key. */
export const revoke = z.strictObject({
  principal: described(
    text(1024),
    '"key:" and the id of an API key, "jwt:" and the sub of tokens, or the principal of a sign-in',
  ),
  reason,
});

/** The outcome of a change. */
export const done = z.object({
  ...ofNode,
  done: described(count, "the number of its targets"),
});

const names = z.readonly(z.array(z.string()));

/** What a person has allowed a program. */
export const grant = z.object({
  id: z.string(),
  principal: described(z.string(), "whose key or account allowed it"),
  office: z.string(),
  program: described(z.string(), "its name, as it states it"),
  vouched_by: maybe(
    z.string(),
    "the host that vouches for the name; absent where nothing does",
  ),
  computers: described(
    z.union([
      z.strictObject({ only: names }),
      z.strictObject({ except: names }),
    ]),
    "the Computers that it may use: only some, or all but some, later ones too",
  ),
  since: time,
  used: described(time, "when it was last used"),
  expires: time,
});

/** The grants. */
export const grants = z.object({
  ...ofNode,
  url: maybe(z.string(), "the URL that a program signs in at"),
  grants: described(z.readonly(z.array(grant)), "the newest first"),
});

/** Request to end grants. */
export const endGrants = z.strictObject({
  id: maybe(text(256), "that of a grant"),
  principal: maybe(
    text(1024),
    'all of a key: "key:" and its id, or of another principal',
  ),
  office: maybe(text(256), "all of an office"),
  reason: described(
    reasonText,
    "a text of 1 to 200 characters, for the audit log",
  ),
}).check(
  z.refine(
    ({ id, principal, office }) =>
      [id, principal, office].filter((each) => each !== undefined).length === 1,
    { error: "expected one of id, principal and office" },
  ),
);

/** The grants that were ended. */
export const ended = z.object({
  ...ofNode,
  ended: z.readonly(z.array(grant)),
});

/** An event of the stream; its other fields are those of the audit log. */
export const event = z.looseObject({
  at: time,
  event: z.string(),
  office: maybe(z.string()),
  waiting: z.exactOptional(z.nullable(waiting)),
  outcome: maybe(endFields.outcome),
  ended_by: endFields.ended_by,
});

/** A problem (RFC 9457). */
export const problem = z.object({
  type: z.literal("about:blank"),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({
    field: z.string(),
    problem: z.string(),
    fix: z.string(),
  })).check(z.minLength(1)),
});
