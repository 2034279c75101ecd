import * as z from "../validation/schema.ts";
import {
  agentCallDataShape,
  computerCallShape,
  identifier,
  isIdentifier,
  timeoutSeconds,
} from "../validation/identifiers.ts";
import {
  isPlainObject,
  listOf,
  mapOf,
  maybe,
  plainObject,
} from "../validation/plain_values.ts";
import { type ContentBlock, contentBlockSchema } from "./content.ts";
import { type Parser, parser } from "../validation/parser.ts";

/** What every request of an Agent starts with (spec §4). */
export interface AgentCallData {
  /** Name of the calling Agent; a Computer gets the name of its seat, whatever it calls itself. */
  agent: string;
  /** Unique among the Agent's calls; the key of idempotency and cancellation. */
  req_id: string;
}

/** The name of a tool, as a call has it: its alias, or its MCP name (spec §4). */
export type TOOL_NAME = string;

/** Asks a Computer to run one of its tools (spec §4, §7). */
export interface ToolCallReq extends AgentCallData {
  /** Name of the target Computer, looked up in the caller's office only. */
  computer: string;
  /** The tool's alias, or its MCP name when it has none. */
  tool_name: string;
  /** The tool's arguments, passed on untouched. */
  params: Record<string, unknown>;
  /** Seconds, 1 to 3600. */
  timeout: number;
}

/** Asks a Computer for its tools (spec §4). */
export interface GetToolsReq extends AgentCallData {
  /** Name of the target Computer. */
  computer: string;
}

/** A simple value; anything structured is a JSON string (spec §4). */
export type AttributeValue = string | number | boolean | null;

/** Metadata of a tool: simple values by name (spec §4). */
export type Attributes = Record<string, AttributeValue>;

/** A tool that a Computer offers (spec §4). */
export interface SMCPTool {
  /** The name to call it by: its alias, or its MCP name (spec §7). */
  name: string;
  /** For people and models; may be empty. */
  description: string;
  /** JSON Schema of `params`. */
  params_schema: Record<string, unknown>;
  /** JSON Schema of the structured result, or `null`: never absent. */
  return_schema: Record<string, unknown> | null;
  /**
   * Simple values only: `a2c_tool_meta`, `a2c_mcp_server`, `MCP_TOOL_ANNOTATION`, and the MCP
   * server's own keys.
   */
  meta?: Attributes | null;
}

/** Key of {@linkcode SMCPTool.meta}: the MCP server that has the tool, by its name at the Computer. */
export const MCP_SERVER_KEY = "a2c_mcp_server";

/** The MCP server that has a tool; undefined where its Computer does not say, as older ones. */
export function mcpServerOf({ meta }: SMCPTool): string | undefined {
  const server = meta?.[MCP_SERVER_KEY];
  return typeof server === "string" ? server : undefined;
}

/** The tools of one Computer (spec §4). */
export interface GetToolsRet {
  /** Those that can be called, in the order of the Computer's MCP servers. */
  tools: SMCPTool[];
  /** The request's own. */
  req_id: string;
}

/** What a Computer's configuration says about a tool; travels in `a2c_tool_meta` (spec §4, §7). */
export interface ToolMeta {
  /** Run without asking a person first. */
  auto_apply?: boolean | null;
  /** The name to offer the tool under. */
  alias?: string | null;
  /** Free words for the Agent. */
  tags?: string[] | null;
  /** For the Agent: how to map results; the Computer does not apply it. */
  ret_object_mapper?: Record<string, unknown> | null;
  /** Fields of later versions. */
  [field: string]: unknown;
}

/** What a tool call ends with, failures of the tool included (spec §6). */
export interface CallToolResult {
  /** The pieces of the result. */
  content: ContentBlock[];
  /** The result as data, when the tool gives any. */
  structuredContent?: Record<string, unknown> | null;
  /** Whether the call failed; absent means no. */
  isError?: boolean | null;
  /** Result-level metadata (`error_code`, `a2c_timeout`, …); what the Python SDK reads. */
  meta?: Record<string, unknown> | null;
  /** The same under the name of MCP; read either with {@linkcode resultMeta}. */
  _meta?: Record<string, unknown> | null;
  /** Fields of later versions of MCP. */
  [field: string]: unknown;
}

/** @internal */
export const agentCallDataSchema = z.looseObject(
  agentCallDataShape,
) satisfies z.ZodMiniType<AgentCallData>;

/** @internal */
export const toolCallReqSchema = z.looseObject({
  ...computerCallShape,
  tool_name: identifier,
  params: plainObject,
  timeout: timeoutSeconds,
}) satisfies z.ZodMiniType<ToolCallReq>;

/** @internal */
export const getToolsReqSchema = z.looseObject(
  computerCallShape,
) satisfies z.ZodMiniType<GetToolsReq>;

/** @internal */
export const smcpToolSchema = z.looseObject({
  name: z.string(),
  description: z.string(),
  params_schema: plainObject,
  return_schema: z.pipe(
    z.nullish(plainObject),
    z.transform((schema) => schema ?? null),
  ),
  meta: maybe(
    mapOf(z.union([z.string(), z.number(), z.boolean(), z.null()])),
  ),
});

/** @internal */
export const getToolsRetSchema = z.looseObject({
  tools: listOf(smcpToolSchema),
  req_id: z.string(),
});

/** @internal */
export const callToolResultSchema = z.looseObject({
  content: listOf(contentBlockSchema),
  structuredContent: maybe(plainObject),
  isError: maybe(z.boolean()),
  meta: maybe(plainObject),
  _meta: maybe(plainObject),
});

/** @internal */
export const toolMetaSchema = z.looseObject({
  auto_apply: maybe(z.boolean()),
  alias: maybe(identifier),
  tags: maybe(listOf(z.string())),
  ret_object_mapper: maybe(plainObject),
});

/** Parses an {@linkcode AgentCallData}. */
export const parseAgentCallData: Parser<AgentCallData> = parser(
  agentCallDataSchema,
);
/**
 * Tells whether data is a tool call beyond doubt, as its schema does but without its machinery:
 * every call comes through here twice. What is wrong with anything else the schema says.
 *
 * @internal
 */
export const isToolCallReq = (data: unknown): data is ToolCallReq =>
  isPlainObject(data) &&
  isIdentifier(data.agent) && isIdentifier(data.req_id) &&
  isIdentifier(data.computer) && isIdentifier(data.tool_name) &&
  isPlainObject(data.params) &&
  Number.isInteger(data.timeout) && Number(data.timeout) >= 1 &&
  Number(data.timeout) <= 3600 &&
  !Object.hasOwn(data, "__proto__"); // which the schema leaves out

/** Parses a {@linkcode ToolCallReq}. */
export const parseToolCallReq: Parser<ToolCallReq> = (data): ToolCallReq =>
  isToolCallReq(data) ? data : parseBySchema(data);
const parseBySchema = parser<ToolCallReq>(toolCallReqSchema);

/** Parses a {@linkcode GetToolsReq}. */
export const parseGetToolsReq: Parser<GetToolsReq> = parser(getToolsReqSchema);
/** Parses a {@linkcode GetToolsRet}; an absent `return_schema`, as older SDKs send it, becomes `null`. */
export const parseGetToolsRet: Parser<GetToolsRet> = parser(
  getToolsRetSchema,
);
/** Parses a {@linkcode CallToolResult}; content types that this version does not know pass through. */
export const parseCallToolResult: Parser<CallToolResult> = parser(
  callToolResultSchema,
);
