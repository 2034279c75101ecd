import {
  type CallToolResult,
  ErrorCode,
  ProtocolError,
  toolErrorResult,
} from "../../protocol/mod.ts";
import {
  authorizationAnswer,
  AuthorizationError,
} from "../host/oauth/authorized_fetch.ts";
import { hideSecrets } from "../util/secrets.ts";
import {
  INVALID_PARAMS,
  mcpErrorCode,
  MessageTooLargeError,
  RESOURCE_NOT_FOUND,
  sdkFailure,
  URL_REQUIRED,
} from "../host/mcp/errors.ts";
import { describeState, type ServerView } from "../host/server_status.ts";
import { isRecord } from "../util/values.ts";

/**
 * Creates the result of a call that the Computer could not complete (spec §6).
 *
 * An error of the MCP server itself is repeated; an error of the transport is not, since it may
 * contain addresses and tokens. The state of a server that is not running is added.
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
      server.address,
    );
    return toolErrorResult(code, text, fields);
  }
  const now = server.state === "running" ? "" : ` and ${describeState(server)}`;
  return toolErrorResult(
    ErrorCode.TOOL_EXECUTION_FAILED,
    `Tool "${tool}" failed: MCP server "${server.name}" ${
      hideSecrets(whatHappened(error))
    }${now}`,
  );
}

/** What MCP servers report when the request is at fault. */
const REQUESTERS_FAULT: ReadonlySet<number | undefined> = new Set([
  INVALID_PARAMS,
  RESOURCE_NOT_FOUND,
]);

/**
 * Creates the error for a failed MCP request other than a tool call.
 *
 * Invalid params and unknown resources reported by the MCP server become a 400, everything else a 500.
 */
export const requestFailure = (server: string, error: unknown): ProtocolError =>
  new ProtocolError(
    REQUESTERS_FAULT.has(mcpErrorCode(error))
      ? ErrorCode.BAD_REQUEST
      : ErrorCode.INTERNAL_ERROR,
    `MCP server "${server}" ${hideSecrets(whatHappened(error))}`,
    { fields: { mcp_server: server }, cause: error },
  );

function whatHappened(error: unknown): string {
  if (error instanceof ProtocolError) {
    return `answered with something that is not a tool result (${error.message})`;
  }
  if (error instanceof MessageTooLargeError) return error.message;
  if (!(error instanceof Error) || mcpErrorCode(error) === undefined) {
    return "could not be reached";
  }
  switch (sdkFailure(error)) {
    case "closed":
      return "was lost meanwhile";
    case "timeout":
      return "did not answer in time";
  }
  const pages = pagesOf(error);
  return pages.length > 0
    ? `needs somebody to open ${pages.join(" and ")} first; then call again`
    : `answered: ${error.message}`;
}

/** The pages that a person must open before an MCP server does what it was asked for. */
function pagesOf(error: Error): string[] {
  if (mcpErrorCode(error) !== URL_REQUIRED || !("data" in error)) return [];
  const { elicitations } = isRecord(error.data) ? error.data : {};
  return (Array.isArray(elicitations) ? elicitations : [])
    .flatMap((page) =>
      isRecord(page) && typeof page.url === "string" ? [page.url] : []
    );
}
