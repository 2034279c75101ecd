import { z } from "zod";
import { PROTOCOL_NAMES } from "../../protocol/version.ts";

const time = z.iso.datetime().describe("a time, in ISO 8601");
const count = z.int().min(0);
/** What every answer of a node of a cluster has. */
const ofNode = {
  node: z.string().exactOptional()
    .describe("the node of a cluster that answers, for all of them"),
  unanswered: z.array(z.string()).exactOptional()
    .describe("other nodes that did not answer: what they have is missing"),
  not_operated: z.array(z.string()).exactOptional().describe(
    "other nodes that were started without this API: what they have is missing",
  ),
};

/** How a call ended. */
const endFields = {
  outcome: z.string().describe(
    "ok, tool error (of the MCP server itself), cancelled, timeout, agent gone, or error and a code",
  ),
  ended_by: z.enum(["agent", "operator", "server", "computer"])
    .exactOptional()
    .describe("of cancelled and timeout: who cancelled, or whose timeout"),
};

/** What a call waits for. */
const waiting = z.enum(["confirmation", "answer"]).describe(
  "the person at the Computer that the call waits for: one who confirms it, or who answers its MCP server",
);

/** Why an operator does something; the member hears it. */
const reason = z.string().trim().min(1).max(200)
  .describe("a text of 1 to 200 characters, which the member is told");

/** An office. */
export const officeSchema = z.object({
  office: z.string(),
  agent: z.string().nullable().describe("the name of its Agent"),
  computers: count.describe("its Computers"),
  pending_calls: count.describe("calls on their way"),
  node: z.string().exactOptional()
    .describe("the node of a cluster where it has its home"),
});

/** The offices. */
export const officesSchema = z.object({
  ...ofNode,
  offices: z.array(officeSchema),
});

/** A member of an office. */
export const memberSchema = z.object({
  id: z.string().describe("its connection; a new one after each reconnect"),
  office: z.string(),
  role: z.enum(["agent", "computer"]),
  name: z.string(),
  version: z.string().describe("the a2c_version that it speaks"),
  principal: z.string().exactOptional().describe("who it is authenticated as"),
  address: z.string().exactOptional(),
  since: time.exactOptional().describe("when it joined, in ISO 8601"),
  calls: count.exactOptional().describe("calls that it has sent or got"),
  pending_calls: count.exactOptional(),
  bytes: z.object({
    received: count,
    sent: count,
    queued: count.describe("waiting for it to read"),
  }).exactOptional().describe(
    "of its WebSocket; absent over polling, and where another node carries it",
  ),
  last_error: z.object({
    at: time,
    ...endFields,
    message: z.string().exactOptional(),
  }).exactOptional().describe(
    "the last of its calls that failed by a fault of it; no cancelled one",
  ),
});

/** The members of an office. */
export const membersSchema = z.object({
  ...ofNode,
  members: z.array(memberSchema),
});

/** A call on its way. */
export const callSchema = z.object({
  office: z.string(),
  agent: z.string(),
  computer: z.string(),
  req_id: z.string(),
  request: z.string().describe("the event, such as client:tool_call"),
  tool: z.string().exactOptional(),
  principal: z.string().exactOptional(),
  waiting: waiting.exactOptional(),
  ms: z.number().min(0).describe("milliseconds since it began"),
});

/** The calls of an office. */
export const callsSchema = z.object({
  ...ofNode,
  calls: z.array(callSchema),
});

/** A process. */
export const processSchema = z.object({
  draining: z.boolean(),
  connections: count.describe("sessions, in an office or not"),
  calls: count.describe("calls so far"),
  streams: count.describe("open streams of events"),
  queued_bytes: count.describe("waiting for clients to read"),
  memory_bytes: count.describe("the resident set"),
  heap_bytes: count,
});

/** The counters. */
export const statusSchema = z.object({
  ...ofNode,
  version: z.string().describe("of this package"),
  protocols: z.array(z.enum(PROTOCOL_NAMES)).describe(
    "the protocol versions of which it lets clients in",
  ),
  since: time.describe("when the Server was made, in ISO 8601"),
  offices: count,
  members: count,
  pending_calls: count,
  process: processSchema.exactOptional()
    .describe("for operators of all offices only"),
  nodes: z.array(z.object({ node: z.string(), process: processSchema }))
    .exactOptional()
    .describe(
      "the other nodes of a cluster, for operators of all offices only",
    ),
});

/** The tools of a Computer, as it lists them for Agents. */
export const toolsSchema = z.looseObject({
  tools: z.array(
    z.looseObject({
      name: z.string(),
      description: z.string(),
      params_schema: z.looseObject({}),
    }),
  ),
});

/** The MCP servers of a Computer, as it shows them to Agents: without secrets. */
export const configSchema = z.looseObject({
  servers: z.record(z.string(), z.unknown()),
});

/** The windows of a Computer, most relevant first. */
export const desktopSchema = z.looseObject({
  desktops: z.array(z.unknown()),
});

/** Asks to call a tool. */
export const callToolSchema = z.strictObject({
  tool_name: z.string().min(1).max(256)
    .describe("the name from the Computer's tools"),
  params: z.record(z.string(), z.unknown()).default({})
    .describe("the arguments"),
  timeout_ms: z.int().min(1000).max(3_600_000).default(60_000)
    .describe(
      "milliseconds from 1000 to 3600000 that the tool may take, rounded up to whole seconds",
    ),
  req_id: z.string().min(1).max(256).exactOptional()
    .describe(
      "unique: by which events name the call; a random one by default",
    ),
});

/** The result of a tool, failures of the tool included. */
export const resultSchema = z.looseObject({
  content: z.array(z.unknown()),
  isError: z.boolean().nullish(),
});

/** Asks to kick a member. */
export const kickSchema = z.strictObject({
  reason,
  hold_ms: z.int().min(0).max(86_400_000).default(60_000)
    .describe(
      "milliseconds from 0 to 86400000 in which its seat stays closed and a join is answered with the reason",
    ),
});

/** Asks to cancel a call. */
export const cancelSchema = z.strictObject({
  req_id: z.string().min(1).max(256)
    .describe("the req_id of a call on its way"),
  reason,
});

/** Asks to revoke a key. */
export const revokeSchema = z.strictObject({
  principal: z.string().min(1).max(1024)
    .describe(
      '"key:" and the id of an API key, or "jwt:" and the sub of tokens',
    ),
  reason,
});

/** Says what was done. */
export const doneSchema = z.object({
  ...ofNode,
  done: count.describe("how many it concerned"),
});

/** An event of the stream; its other fields are those of the audit log. */
export const eventSchema = z.looseObject({
  at: time,
  event: z.string(),
  office: z.string().exactOptional(),
  waiting: waiting.nullable().exactOptional(),
  outcome: endFields.outcome.exactOptional(),
  ended_by: endFields.ended_by,
});

/** A problem (RFC 9457). */
export const problemSchema = z.object({
  type: z.literal("about:blank"),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({
    field: z.string(),
    problem: z.string(),
    fix: z.string(),
  })).min(1),
});
