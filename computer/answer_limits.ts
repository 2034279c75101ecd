import {
  type CallToolResult,
  ErrorCode,
  ProtocolError,
  toolErrorResult,
} from "../protocol/mod.ts";
import { jsonBytes } from "./json_bytes.ts";

/** Bytes of a packet around the answer: type, namespace, ack id. */
const FRAMING = 64;
/** The Server takes 64 open brackets at once, the packet's own array included. */
const MOST_DEPTH = 63;

/**
 * Says why an answer can not be sent: the Server would end the connection instead (spec §9).
 *
 * @param maxPayload bytes, as the Server announced at the handshake; undefined: not known
 * @returns undefined when it can be sent
 */
export function tooMuch(
  answer: object,
  maxPayload: number | undefined,
): string | undefined {
  if (isDeeper(answer, MOST_DEPTH)) {
    return `it is nested deeper than ${MOST_DEPTH} levels`;
  }
  if (maxPayload === undefined) return undefined;
  const bytes = jsonBytes(answer);
  return bytes + FRAMING > maxPayload
    ? `it has ${bytes} bytes, and the server takes messages of at most ${maxPayload}`
    : undefined;
}

/** Puts an error in place of a result that can not be sent (spec §9). */
export function limitResult(
  result: CallToolResult,
  maxPayload: number | undefined,
): CallToolResult {
  const why = tooMuch(result, maxPayload);
  return why === undefined ? result : toolErrorResult(
    ErrorCode.TOOL_EXECUTION_FAILED,
    `The tool ran, but its result can not be sent: ${why}`,
  );
}

/**
 * Passes an answer on that can be sent.
 *
 * @throws {ProtocolError} 500 that says why it can not
 */
export function limitAnswer<T extends object>(
  answer: T,
  maxPayload: number | undefined,
): T {
  const why = tooMuch(answer, maxPayload);
  if (why === undefined) return answer;
  throw new ProtocolError(
    ErrorCode.INTERNAL_ERROR,
    `The answer can not be sent: ${why}`,
  );
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" && value !== null &&
  (levels === 0 ||
    Object.values(value).some((item) => isDeeper(item, levels - 1)));
