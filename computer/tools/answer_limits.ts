import {
  type CallToolResult,
  ErrorCode,
  ProtocolError,
  toolErrorResult,
} from "../../protocol/mod.ts";
import {
  jsonBytes,
  whyTooDeep,
  whyTooLarge,
  whyUnsendable,
} from "../../client/message_limits.ts";

/** A result and its size. */
export interface MeasuredResult {
  /** What the Agent gets. */
  readonly result: CallToolResult;
  /** Its size as JSON in bytes: measured once, since a large result takes long. */
  readonly bytes: number;
}

/** Measures a result; one that is nested too deeply is replaced with an error (spec §9). */
export function measureResult(result: CallToolResult): MeasuredResult {
  const why = whyTooDeep(result);
  const sendable = why === undefined ? result : unsendable(why);
  return { result: sendable, bytes: jsonBytes(sendable) };
}

/** Replaces a result that is too large for the Server with an error (spec §9). */
export function limitResult(
  measured: MeasuredResult,
  maxPayload: number | undefined,
): MeasuredResult {
  if (maxPayload === undefined) return measured;
  const why = whyTooLarge(measured.bytes, maxPayload);
  return why === undefined ? measured : measureResult(unsendable(why));
}

const unsendable = (why: string): CallToolResult =>
  toolErrorResult(
    ErrorCode.TOOL_EXECUTION_FAILED,
    `The tool ran, but its result cannot be sent: ${why}`,
  );

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
