/**
 * The errors of requests for resources, prompts and completions.
 *
 * An error of the MCP server keeps its code. A name that leads to nothing is invalid params, as is an unknown
 * resource, whose URI is in the error's data. Anything else is an internal error, as that the MCP server is away.
 *
 * @module
 */
import {
  ProtocolError as McpError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";
import { invalidParams, messageOf } from "../tools/result.ts";

/** The codes of names that lead to nothing, and of requests that cannot be as they are. */
const INVALID: ReadonlySet<unknown> = new Set([
  ErrorCode.BAD_REQUEST,
  ErrorCode.NOT_FOUND,
  ErrorCode.MCP_SERVER_NOT_FOUND,
  ErrorCode.MCP_CAPABILITY_NOT_SUPPORTED,
  ErrorCode.INVALID_DPE_URI,
  ErrorCode.INVALID_SKILL_NAME,
  ErrorCode.SKILL_NOT_ACCESSIBLE,
  ErrorCode.DOCUMENT_NOT_FOUND,
  ErrorCode.INVALID_FINDER_URI,
]);

/** The code that asks a client to open pages, which are not in these errors: their text names them. */
const URL_REQUIRED = -32042;

/**
 * Makes the error of a request that failed.
 *
 * @param uri the resource that was asked for; absent for other requests
 */
export function toRequestError(error: unknown, uri?: string): McpError {
  if (error instanceof McpError) return error;
  const message = messageOf(error);
  const data = uri === undefined ? undefined : { uri };
  const { code, fields = {} }: Partial<ProtocolError> =
    error instanceof ProtocolError ? error : {};
  const { mcp_code: own, reason } = fields;
  if (Number.isSafeInteger(own) && own !== URL_REQUIRED) {
    return new McpError(Number(own), message, data);
  }
  // With a reason, it is there and does not run.
  return own === undefined && INVALID.has(code) && reason === undefined
    ? invalidParams(message, data)
    : new McpError(ProtocolErrorCode.InternalError, message, data);
}
