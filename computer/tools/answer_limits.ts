import {
  type CallToolResult,
  ErrorCode,
  ProtocolError,
  toolErrorResult,
} from "../../protocol/mod.ts";
import { whyUnsendable } from "../../client/message_limits.ts";

/** Puts an error in place of a result that cannot be sent (spec §9). */
export function limitResult(
  result: CallToolResult,
  maxPayload: number | undefined,
): CallToolResult {
  const why = whyUnsendable(result, maxPayload);
  return why === undefined ? result : toolErrorResult(
    ErrorCode.TOOL_EXECUTION_FAILED,
    `The tool ran, but its result cannot be sent: ${why}`,
  );
}

/**
 * Passes an answer on that can be sent.
 *
 * @throws {ProtocolError} 500 that says why it cannot
 */
export function limitAnswer<T extends object>(
  answer: T,
  maxPayload: number | undefined,
): T {
  const why = whyUnsendable(answer, maxPayload);
  if (why === undefined) return answer;
  throw new ProtocolError(
    ErrorCode.INTERNAL_ERROR,
    `The answer cannot be sent: ${why}`,
  );
}
