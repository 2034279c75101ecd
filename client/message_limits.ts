import { ConnectionError } from "./errors.ts";
import { jsonBytes } from "./json_bytes.ts";

/** Upper bound for the bytes of a packet around its message: type, namespace, ack id, event name. */
const FRAMING_BYTES = 64;
/** Maximum nesting of a message: the Server accepts 64 levels, including the packet's own array. */
export const MAX_DEPTH = 63;

/**
 * Returns why a message cannot be sent: the Server would close the connection (spec §9).
 *
 * @param maxPayload bytes, as announced in the handshake; `undefined` if unknown
 * @returns `undefined` when it can be sent
 */
export function whyUnsendable(
  message: object,
  maxPayload: number | undefined,
): string | undefined {
  if (isDeeper(message, MAX_DEPTH)) {
    return `it is nested deeper than ${MAX_DEPTH} levels`;
  }
  if (maxPayload === undefined) return undefined;
  const bytes = jsonBytes(message);
  return bytes + FRAMING_BYTES > maxPayload
    ? `it has ${bytes} bytes, and the server accepts messages of at most ${maxPayload}`
    : undefined;
}

/**
 * Refuses a request for which the Server would close the connection, which would fail all other
 * calls, too.
 *
 * @throws {ConnectionError} `too_large`, naming both sizes
 * @throws {TypeError} when the payload cannot be converted to JSON, such as one with a BigInt
 */
export function checkRequest(
  event: string,
  payload: object,
  maxPayload: number | undefined,
): void {
  let why: string | undefined;
  try {
    why = whyUnsendable(payload, maxPayload);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TypeError(`Cannot send ${event} as JSON: ${reason}`, {
      cause: error,
    });
  }
  if (why !== undefined) {
    throw new ConnectionError("too_large", `Cannot send ${event}: ${why}`);
  }
}

/** Returns whether lists and objects are nested deeper than a number of levels. */
export const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" && value !== null &&
  (levels === 0 ||
    Object.values(value).some((item) => isDeeper(item, levels - 1)));
