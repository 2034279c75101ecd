import { isRecord } from "../../protocol/names.ts";
import {
  ProtocolError as McpError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import type * as Mcp from "@modelcontextprotocol/server";
import { ConnectionError } from "../../agent/mod.ts";
import {
  type CallToolResult,
  type ContentBlock,
  ErrorCode,
  ProtocolError,
} from "../../protocol/mod.ts";
import { mendContent, mendResult } from "../../protocol/mcp/mend.ts";
import { carriedStructured } from "../../protocol/payloads/tool_result.ts";
import { countValues } from "../../shared/json/values.ts";
import { passWritten } from "../../shared/json/written.ts";

/**
 * Makes the MCP result of what a Computer answered: everything passes as it is, but what MCP does
 * not know, such as `meta` beside `_meta`, and null for nothing; and what clients would refuse the whole
 * result for.
 *
 * @param show returns a block of its content as clients see it
 */
export function toMcpResult(
  result: CallToolResult,
  show: (block: Mcp.ContentBlock) => Mcp.ContentBlock = (block) => block,
): Mcp.CallToolResult {
  const { meta: _, _meta, content, ...rest } = result;
  const { meta, structured } = carriedStructured(result);
  const mended = mendResult({
    ...withoutNulls(rest),
    ...structured,
    content: content.map((block) => show(toMcpBlock(block))),
    ...(Object.keys(meta).length > 0 && { _meta: meta }),
  }, ignore);
  passWritten(result, mended);
  return mended as typeof mended & Mcp.CallToolResult;
}

/** A result has a note about what is left out of it. */
const ignore = () => {};

/** Makes the result of a call that did not reach its tool, or whose answer got lost. */
export function toFailure(error: unknown): Mcp.CallToolResult {
  const isKnown = error instanceof ProtocolError ||
    error instanceof ConnectionError;
  const code = isKnown ? error.code : ErrorCode.INTERNAL_ERROR;
  return failure(code, messageOf(error));
}

/** Makes the error for a request whose params name nothing that is there. */
export const invalidParams = (message: string, data?: object): McpError =>
  new McpError(ProtocolErrorCode.InvalidParams, message, data);

/** The message of an error. */
export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/**
 * Makes a failed result.
 *
 * @param code what programs read, as `error_code` of `_meta`
 * @param text for the model: what happened, and what to do
 */
export const failure = (
  code: number | string,
  text: string,
): Mcp.CallToolResult => ({
  content: [{ type: "text", text }],
  isError: true,
  _meta: { error_code: code },
});

/** Makes the content of MCP of a Computer's: of a kind that clients do not know they refuse the whole. */
export function toMcpBlock(block: ContentBlock): Mcp.ContentBlock {
  const { meta: _, ...rest } = { ...block };
  const cleaned = withoutNulls(rest);
  if (isRecord(cleaned.resource)) {
    cleaned.resource = withoutNulls(cleaned.resource);
  }
  const mended = mendContent(cleaned, ignore);
  return isMcpBlock(mended)
    ? mended
    : { type: "text", text: JSON.stringify(rest) };
}

/** The kinds of content that all clients know. */
const KINDS: ReadonlySet<unknown> = new Set([
  "text",
  "image",
  "audio",
  "resource_link",
  "resource",
]);

const isMcpBlock = (
  block: Record<string, unknown>,
): block is Record<string, unknown> & Mcp.ContentBlock => KINDS.has(block.type);

/** The object of a JSON text; `undefined` for anything else. */
export function parseObject(
  text: unknown,
): Record<string, unknown> | undefined {
  const value = typeof text === "string" ? parsed(text) : undefined;
  return isRecord(value) ? value : undefined;
}

/** The most values of a JSON text within a tool, which would count as one text otherwise. */
const MAX_VALUES = 20_000;

/** The value of a JSON text; `undefined` where it is none, or one of too many values. */
export function parsed(text: string): unknown {
  if (countValues(text, MAX_VALUES) > MAX_VALUES) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** An object without the fields that are null or undefined, which MCP does not know. */
export const withoutNulls = (
  object: Record<string, unknown>,
): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(object).filter(([, value]) =>
      value !== null && value !== undefined
    ),
  );
