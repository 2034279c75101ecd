import { checkNumbers } from "../../shared/checks.ts";
import { ErrorCode, ProtocolError } from "../../protocol/mod.ts";

const MAX_TIMEOUT_MS = 3_600_000;

/**
 * Writes the time of a request as the wire does: in whole seconds, rounded up (spec §4).
 *
 * @throws {TypeError} when it is no number
 * @throws {ProtocolError} 400 that names the option, when the time is none or too long
 */
export function wireTimeout(timeoutMs: number): number {
  checkNumbers({ timeoutMs });
  if (timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS) {
    return Math.ceil(timeoutMs / 1000);
  }
  throw new ProtocolError(
    ErrorCode.BAD_REQUEST,
    `Invalid timeoutMs: expected more than 0, at most ${MAX_TIMEOUT_MS}, got ${timeoutMs}`,
  );
}
