import {
  type CallToolResult,
  ErrorCode,
  ProtocolError,
  toolErrorResult,
} from "../../protocol/mod.ts";
import { AuthorizationError } from "../host/oauth/authorization_error.ts";
import { authorizationAnswer } from "../host/oauth/authorization_answer.ts";
import { hideSecrets } from "../util/hide_secrets.ts";
import {
  CONNECTION_CLOSED,
  INVALID_PARAMS,
  mcpErrorCode,
  REQUEST_TIMEOUT,
} from "../host/mcp/mcp_error.ts";
import { MessageTooLargeError } from "../host/mcp/message_limit.ts";
import type { ServerView } from "../host/server_status.ts";
import { whereabouts } from "../host/describe_state.ts";

/**
 * Makes the result of a call that the Computer could not bring to an end (spec §6).
 *
 * What the MCP server itself said is repeated; an error of the way to it is not, since it can
 * hold addresses and tokens. One that is not running now is said to be so, and until when.
 */
export function callFailure(
  tool: string,
  server: ServerView,
  error: unknown,
): CallToolResult {
  if (error instanceof AuthorizationError) {
    const { code, text, fields } = authorizationAnswer(
      tool,
      server.name,
      error,
    );
    return toolErrorResult(code, text, fields);
  }
  const now = server.state === "running" ? "" : ` and ${whereabouts(server)}`;
  return toolErrorResult(
    ErrorCode.TOOL_EXECUTION_FAILED,
    `Tool "${tool}" failed: MCP server "${server.name}" ${
      hideSecrets(whatHappened(error))
    }${now}`,
  );
}

/**
 * Makes the error of a request other than a tool call that an MCP server did not answer well.
 *
 * What the MCP server finds wrong with the request is a 400, everything else a 500.
 */
export const requestFailure = (server: string, error: unknown): ProtocolError =>
  new ProtocolError(
    mcpErrorCode(error) === INVALID_PARAMS
      ? ErrorCode.BAD_REQUEST
      : ErrorCode.INTERNAL_ERROR,
    `MCP server "${server}" ${hideSecrets(whatHappened(error))}`,
    { fields: { mcp_server: server }, cause: error },
  );

function whatHappened(error: unknown): string {
  if (error instanceof ProtocolError) {
    return `answered with what is no tool result (${error.message})`;
  }
  if (error instanceof MessageTooLargeError) return error.message;
  const code = mcpErrorCode(error);
  if (!(error instanceof Error) || code === undefined) {
    return "could not be reached";
  }
  // What the MCP SDK made up is told by its words: a server may use the same codes.
  const isOf = (made: number, words: string) =>
    code === made && error.message.endsWith(words);
  if (isOf(CONNECTION_CLOSED, "Connection closed")) return "was lost meanwhile";
  if (isOf(REQUEST_TIMEOUT, "Request timed out")) {
    return "did not answer in time";
  }
  return `answered: ${error.message}`;
}
