/**
 * Tools, calls of them and their progress (protocol §4, §6, §7).
 *
 * @module
 */
import { type QuestionFields, questionShape } from "./elicitation.ts";
import { toWaiting, type Waiting } from "./tool_result.ts";
import {
  isRequestMeta,
  type RequestMeta,
  requestMeta,
} from "./request_meta.ts";
import * as z from "../validation.ts";
import { areMemberNames } from "../names.ts";

/** The common fields of an Agent's requests (protocol §4). */
export interface AgentCallData {
  /** Name of the calling Agent; the Server replaces it by the name of the Agent's seat. */
  agent: string;
  /** Unique among the Agent's calls; the key of idempotency and cancellation. */
  req_id: string;
}

/** Cancels a running tool call (protocol §7). */
export interface ToolCallCancel extends AgentCallData {
  /**
   * Why, where the Agent did not simply drop the call: its timeout has passed, or an
   * operator of the Server ends the call. An extension of this package; receivers take any other value
   * for absence.
   */
  reason?: "timeout" | "operator";
}

/** The name in `agent` of questions that a Server's operator asks, which has no seat. */
export const OPERATOR_AGENT = "operator";

/**
 * Returns the operator who asks, which the Server writes into `operator`; `undefined` where an Agent asks.
 * A Server removes the field from the requests of clients.
 */
export function operatorOf(request: AgentCallData): string | undefined {
  const { operator } = request as AgentCallData & { operator?: unknown };
  return typeof operator === "string" ? operator : undefined;
}

/** The name of a tool in a call: its alias, or its MCP name (protocol §4). */
export type TOOL_NAME = string;

/** Requests a Computer to run one of its tools (protocol §4, §7). */
export interface ToolCallReq extends AgentCallData, QuestionFields {
  /** Name of the target Computer, looked up in the caller's office only. */
  computer: string;
  /** The tool's alias, or its MCP name when it has none. */
  tool_name: string;
  /** The tool's arguments, passed on unchanged. */
  params: Record<string, unknown>;
  /** The timeout in seconds, 1 to 3600. */
  timeout: number;
  /**
   * How many of these seconds are for a person who confirms the call, and no others: meanwhile the rest
   * stands still. An extension of this package; receivers take what leaves no rest for absence.
   */
  confirmation_timeout?: number;
  /**
   * Asks for progress of the call; with `"waiting"` only for reports that it begins, or ceases,
   * to wait for a person. Receivers take any other value for absence.
   */
  progress?: true | "waiting";
  /**
   * Goes with the call to the MCP server, as `_meta` there; at most 8,192 bytes. Not part of the call's
   * identity. An extension of this package.
   */
  _meta?: RequestMeta;
}

/** Requests a Computer's tools (protocol §4). */
export interface GetToolsReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
  /** The id of the office, from an Agent that serves it over MCP. An extension of this package. */
  _meta?: RequestMeta;
}

/** A simple value; anything structured is a JSON string (protocol §4). */
export type AttributeValue = string | number | boolean | null;

/** Metadata of a tool: simple values by name (protocol §4). */
export type Attributes = Record<string, AttributeValue>;

/** A picture for lists of tools, as in MCP. */
export interface Icon {
  /** An `https:` or `data:` URI. */
  src: string;
  /** The media type, if `src` does not contain it. */
  mimeType?: string | null;
  /** Such as `["48x48"]`, or `["any"]` for what scales. */
  sizes?: string[] | null;
  /** The background that it is made for: `light` or `dark`. */
  theme?: string | null;
}

/** A tool of a Computer (protocol §4). */
export interface SMCPTool {
  /** The name to call: its alias, or its MCP name (protocol §7); since 0.3 behind `bundle_id` and `__`. */
  name: string;
  /** What identifies its MCP server; since 0.3, where it is required. */
  bundle_id?: string | null;
  /** For people and models; may be empty. */
  description: string;
  /** JSON Schema of `params`. */
  params_schema: Record<string, unknown>;
  /** JSON Schema of the structured result, or `null`; never absent. */
  return_schema: Record<string, unknown> | null;
  /**
   * Simple values only: `a2c_tool_meta`, `a2c_mcp_server`, `MCP_TOOL_ANNOTATION`, and the MCP
   * server's own keys.
   */
  meta?: Attributes | null;
  /** The name for people, if the MCP server gives one. */
  title?: string | null;
  /** The tool's pictures, if the MCP server has some. */
  icons?: Icon[] | null;
}

/** Key of {@linkcode SMCPTool.meta} for the name of the tool's MCP server. */
export const MCP_SERVER_KEY = "a2c_mcp_server";

/**
 * Returns how requests name a tool's MCP server: its `bundle_id`, before 0.3 its name; `undefined` if
 * its Computer is older and does not send it.
 */
export function mcpServerOf({ bundle_id, meta }: SMCPTool): string | undefined {
  if (typeof bundle_id === "string") return bundle_id;
  const server = meta?.[MCP_SERVER_KEY];
  return typeof server === "string" ? server : undefined;
}

/**
 * Returns a tool's name without the `bundle_id` that it begins with from 0.3 on (protocol §13): for people,
 * and to compare. Requests need the whole name.
 */
export function ownToolName(
  { name, bundle_id }: Pick<SMCPTool, "name" | "bundle_id">,
): string {
  const owner = `${bundle_id}__`;
  const hasOwner = typeof bundle_id === "string" && name.startsWith(owner) &&
    name.length > owner.length;
  return hasOwner ? name.slice(owner.length) : name;
}

/**
 * Finds the tools of a Computer that a name means: the one of that name, else those whose own name it is,
 * else those that are called so from 0.3 on.
 */
export function toolsMeant(
  tools: readonly SMCPTool[],
  name: string,
): readonly SMCPTool[] {
  const exact = tools.find((tool) => tool.name === name);
  if (exact) return [exact];
  const own = tools.filter((tool) => ownToolName(tool) === name);
  return own.length > 0 ? own : tools.filter((tool) => {
    const id = z.nameOnly(mcpServerOf(tool) ?? "");
    return id !== undefined && `${id}__${ownToolName(tool)}` === name;
  });
}

/**
 * Returns the name to call a tool by, of a Computer that may have it under its name of other versions: the
 * one tool that is meant, else the name as it is.
 *
 * A name with `__` names its MCP server: while that is away, a tool that another one calls so, such as
 * `other__files__read` for `files__read`, must not get the call.
 */
export function nameToCall(tools: readonly SMCPTool[], name: string): string {
  const [only, ...others] = toolsMeant(tools, name);
  if (only === undefined || others.length > 0) return name;
  const isOfOther = name.includes("__") && ownToolName(only) === name;
  return isOfOther ? name : only.name;
}

/** The tools of one Computer (protocol §4). */
export interface GetToolsRet {
  /** The callable tools, in the order of the Computer's MCP servers. */
  tools: SMCPTool[];
  /**
   * Which tools are left out, and why, one sentence each; an extension of this package. Receivers take
   * anything but texts for absence.
   */
  problems?: string[];
  /**
   * How many MCP servers start for the first time, whose tools may follow; absent for none. Each of them
   * that has started, or has failed to, is announced as a change. An extension of this package; receivers
   * take anything but a positive number for none.
   */
  starting?: number;
  /** The `req_id` of the request. */
  req_id: string;
  /** The ids of the offices that its MCP servers lead to, if any do. An extension of this package. */
  _meta?: RequestMeta;
}

/** The configuration of a tool, which Agents get in `a2c_tool_meta` (protocol §4, §7). */
export interface ToolMeta {
  /** Whether to run the tool without a user's confirmation. */
  auto_apply?: boolean | null;
  /** The name under which to offer the tool. */
  alias?: string | null;
  /** Free-form tags for the Agent. */
  tags?: string[] | null;
  /** For the Agent: how to map results; the Computer does not apply it. */
  ret_object_mapper?: Record<string, unknown> | null;
  /** Fields of later versions. */
  [field: string]: unknown;
}

/** @internal */
export const toolCallReqSchema = z.computerCall({
  tool_name: z.identifier,
  params: z.plainObject,
  timeout: z.timeoutSeconds,
  confirmation_timeout: z.exactOptional(z.custom<number>()),
  progress: z.exactOptional(z.custom<true | "waiting">()),
  _meta: z.exactOptional(requestMeta),
  ...questionShape,
}) satisfies z.ZodMiniType<ToolCallReq>;

/** @internal */
export const smcpToolSchema = z.looseObject({
  name: z.string(),
  bundle_id: z.maybe(z.string()),
  description: z.string(),
  params_schema: z.plainObject,
  return_schema: z._default(z.nullable(z.plainObject), null),
  meta: z.maybe(
    z.mapOf(z.nullable(z.union([z.string(), z.number(), z.boolean()]))),
  ),
  title: z.maybe(z.string()),
  icons: z.maybe(z.listOf(z.looseObject({
    src: z.string(),
    mimeType: z.maybe(z.string()),
    sizes: z.maybe(z.listOf(z.string())),
    theme: z.maybe(z.string()),
  }))),
});

/** @internal */
export const toolMetaSchema = z.looseObject({
  auto_apply: z.maybe(z.boolean()),
  alias: z.maybe(z.identifier),
  tags: z.maybe(z.listOf(z.string())),
  ret_object_mapper: z.maybe(z.plainObject),
});

/** Parses a {@linkcode ToolCallCancel}. */
export const parseToolCallCancel = z.parser(z.looseObject({
  ...z.agentCallDataShape,
  reason: z.exactOptional(z.custom<"timeout" | "operator">()),
}));

/**
 * Returns whether data is certainly a valid tool call; a fast path of its schema, since every call is
 * checked twice. For `false`, the schema decides, and names what is invalid.
 *
 * @internal
 */
export const isToolCallReq = (data: unknown): data is ToolCallReq =>
  z.isPlainObject(data) && z.isPlainObject(data.params) &&
  areMemberNames(data.agent, data.computer, data.req_id, data.tool_name) &&
  Number.isInteger(data.timeout) && Number(data.timeout) >= 1 &&
  Number(data.timeout) <= 3600 &&
  data.input_responses === undefined && data.request_state === undefined &&
  (data.accepts === undefined || areTexts(data.accepts)) &&
  (data._meta === undefined || isRequestMeta(data._meta)) &&
  !Object.hasOwn(data, "__proto__"); // the schema drops it

/** Parses a {@linkcode ToolCallReq}. */
export const parseToolCallReq: z.Parser<ToolCallReq> = z.parser(
  toolCallReqSchema,
  isToolCallReq,
);

/** The parsers of `client:get_tools`; an absent `return_schema`, as older SDKs send it, becomes `null`. */
export const getTools = z.routed(
  z.computerCall({ _meta: z.exactOptional(requestMeta) }),
  // Lenient: a list of tools is not lost because of it.
  z.answer({
    tools: z.listOf(smcpToolSchema),
    _meta: z.exactOptional(z.custom<RequestMeta>()),
    problems: z.exactOptional(z.pipe(z.unknown(), z.transform(toTexts))),
    starting: z.exactOptional(z.custom<number>()),
  }),
);

const areTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((text) => typeof text === "string");

function toTexts(value: unknown): string[] {
  return Array.isArray(value)
    ? value.filter((text) => typeof text === "string")
    : [];
}

/** The most characters of {@linkcode ToolProgress.message}; a Computer cuts longer ones. */
export const MAX_PROGRESS_MESSAGE_LENGTH = 1000;

/** How far a running tool call has come, as its MCP server counts it. */
export interface ToolProgress {
  /** Increases with each report of a call that has no `waiting`. */
  progress: number;
  /** What `progress` will be at the end, if known. */
  total?: number;
  /** For people; at most 1,000 characters. */
  message?: string;
  /**
   * Only where this changes: what the call waits for from now on, or `null` when it no longer
   * waits. Also reported to Agents that ask for nothing else.
   */
  waiting?: Waiting | null;
}

/** Describes what a call waits for, such as `waits for confirmation at laptop`. */
export const waitingText = (waiting: Waiting, computer: string): string =>
  `waits for ${
    waiting === "confirmation" ? "confirmation" : "an answer"
  } at ${computer}`;

/** Reports to an Agent how far its call is (protocol §7). */
export interface ToolCallProgress extends AgentCallData, ToolProgress {
  /** Name of the Computer that runs the tool. */
  computer: string;
}

/** Parses a {@linkcode ToolCallProgress}. */
export const parseToolCallProgress = z.parser(z.computerCall({
  progress: z.number(),
  total: z.exactOptional(z.number()),
  message: z.exactOptional(
    // By code point, as zod's own check, which bundles would have for this alone.
    z.string().check(z.refine(
      (text) => [...text].length <= MAX_PROGRESS_MESSAGE_LENGTH,
      `Too big: expected string to have <=${MAX_PROGRESS_MESSAGE_LENGTH} characters`,
    )),
  ),
  waiting: z.exactOptional(z.pipe(z.unknown(), z.transform(toWaiting))),
}));
