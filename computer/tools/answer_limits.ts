import {
  type CallToolResult,
  ErrorCode,
  ProtocolError,
  toolErrorResult,
} from "../../protocol/mod.ts";
import { whyUnsendable } from "../../client/message_limits.ts";

/** Replaces a result that cannot be sent with an error (spec §9). */
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
 * Returns the answer if it can be sent.
 *
 * @throws {ProtocolError} 500 with the reason if it cannot
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
