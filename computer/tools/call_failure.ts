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
  HttpAnswerError,
  INVALID_PARAMS,
  mcpErrorCode,
  MessageTooLargeError,
  pagesOf,
  RESOURCE_NOT_FOUND,
  sdkFailure,
  SessionForgottenError,
  UnansweredError,
} from "../host/mcp/errors.ts";
import { describeState, type ServerView } from "../host/server_status.ts";
import { isRecord } from "../../protocol/names.ts";
import { failed } from "./results.ts";

/**
 * Creates the result of a call that the Computer could not complete (protocol §6).
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
    const { name, address } = server;
    return refused(authorizationAnswer(tool, name, error, address));
  }
  const now = server.state === "running" ? "" : ` and ${describeState(server)}`;
  const what = hideSecrets(whatHappened(error));
  return failed(
    `Tool "${tool}" failed: MCP server "${server.name}" ${what}${now}`,
  );
}

/** Why a call is refused. */
export interface Refusal {
  /** The code for programs, such as 4005. */
  readonly code: number;
  /** The reason, for users and models. */
  readonly text: string;
  /** Metadata of the result, for programs. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Creates the result of a call that is refused. */
export const refused = ({ code, text, fields }: Refusal): CallToolResult =>
  toolErrorResult(code, text, fields);

/**
 * Creates the error for a failed MCP request other than a tool call.
 *
 * Invalid params and unknown resources reported by the MCP server become a 400, everything else a 500; its own code
 * goes with it.
 */
export function requestFailure(server: string, error: unknown): ProtocolError {
  const mcp_code = answeredCode(error);
  return new ProtocolError(
    [INVALID_PARAMS, RESOURCE_NOT_FOUND].includes(mcp_code ?? 0)
      ? ErrorCode.BAD_REQUEST
      : ErrorCode.INTERNAL_ERROR,
    `MCP server "${server}" ${hideSecrets(whatHappened(error))}`,
    {
      fields: {
        mcp_server: server,
        ...(mcp_code !== undefined && { mcp_code }),
      },
      cause: error,
    },
  );
}

/** The code that the MCP server itself answered with; `undefined` where it did not answer. */
function answeredCode(error: unknown): number | undefined {
  const code = mcpErrorCode(error);
  const isOwn = error instanceof Error && sdkFailure(error) === undefined;
  return isOwn && Number.isSafeInteger(code) ? code : undefined;
}

function whatHappened(error: unknown): string {
  if (error instanceof MessageTooLargeError) return error.message;
  const pages = requiredPages(error);
  if (pages.length > 0) {
    return `needs a person to open ${
      pages.join(" and ")
    } first; then call again`;
  }
  if (error instanceof UnansweredError) {
    return `asked a question that is not answered: ${error.reason}`;
  }
  if (error instanceof HttpAnswerError) return error.what;
  if (error instanceof SessionForgottenError) return error.answer.what;
  if (!(error instanceof Error) || mcpErrorCode(error) === undefined) {
    return "could not be reached";
  }
  const failure = sdkFailure(error);
  if (failure === "closed") return "was lost meanwhile";
  if (failure === "timeout") return "did not answer in time";
  return `answered: ${error.message}`;
}

/** The pages that a person must open before an MCP server does what it was asked for. */
const requiredPages = (error: unknown): string[] =>
  pagesOf(error).flatMap((page) =>
    isRecord(page) && typeof page.url === "string" ? [page.url] : []
  );
