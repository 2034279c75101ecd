/**
 * The errors of requests for resources, prompts and completions.
 *
 * An error of the MCP server keeps its code. A name that leads to nothing is invalid params, and since a client of
 * before 2026-07-28 expects another code for a resource, that is chosen by its revision. Anything else is an
 * internal error, as that the MCP server is away.
 *
 * @module
 */
import {
  ProtocolError as McpError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import { invalidParams, messageOf } from "../tools/result.ts";

/** The code of an unknown resource in revisions before 2026-07-28, which MCP servers may answer with too. */
const RESOURCE_NOT_FOUND = -32002;

/** The codes of names that lead to nothing. */
const UNKNOWN: ReadonlySet<unknown> = new Set([
  ErrorCode.NOT_FOUND,
  ErrorCode.MCP_SERVER_NOT_FOUND,
  ErrorCode.INVALID_DPE_URI,
  ErrorCode.INVALID_SKILL_NAME,
  ErrorCode.SKILL_NOT_ACCESSIBLE,
  ErrorCode.DOCUMENT_NOT_FOUND,
  ErrorCode.INVALID_FINDER_URI,
]);

/** The codes of requests that cannot be as they are. */
const INVALID: ReadonlySet<unknown> = new Set([
  ErrorCode.BAD_REQUEST,
  ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED,
]);

/** What a failed request was about. */
export interface Failed {
  /** The context of the request. */
  readonly context: ServerContext;
  /** The URI of the resource; absent for a prompt. */
  readonly uri?: string;
}

/** Makes the error of a request that failed. */
export function toRequestError(error: unknown, failed: Failed): unknown {
  if (error instanceof McpError) return error;
  const message = messageOf(error);
  const { code, fields = {} }: Partial<ProtocolError> =
    error instanceof ProtocolError ? error : {};
  const { mcp_code: own, reason } = fields;
  if (own === RESOURCE_NOT_FOUND) return notFound(message, failed);
  const data = failed.uri === undefined ? undefined : { uri: failed.uri };
  if (typeof own === "number" && Number.isSafeInteger(own)) {
    return new McpError(own, message, data);
  }
  // With a reason, it is there and does not run.
  if (UNKNOWN.has(code) && reason === undefined) {
    return notFound(message, failed);
  }
  return INVALID.has(code)
    ? invalidParams(message, data)
    : new McpError(ProtocolErrorCode.InternalError, message, data);
}

/** Makes the error of a name that leads to nothing. */
export function notFound(
  message: string,
  { context: { mcpReq: { envelope } }, uri }: Failed,
): McpError {
  if (uri === undefined) return invalidParams(message);
  // Requests of 2026-07-28 have an envelope.
  return envelope === undefined
    ? new McpError(RESOURCE_NOT_FOUND, message, { uri })
    : invalidParams(message, { uri });
}
