import { ConnectionError } from "./errors.ts";
import { jsonBytes } from "./json_bytes.ts";

/** Bytes of a packet around the message: type, namespace, ack id, name of the event. */
const FRAMING_BYTES = 64;
/** The Server accepts 64 open brackets at once, including the packet's own array. */
export const MAX_DEPTH = 63;

/**
 * Says why a message cannot be sent: the Server would end the connection instead (spec §9).
 *
 * @param maxPayload bytes, as the Server announced at the handshake; undefined: not known
 * @returns undefined when it can be sent
 */
export function tooMuch(
  message: object,
  maxPayload: number | undefined,
): string | undefined {
  if (isDeeper(message, MAX_DEPTH)) {
    return `it is nested deeper than ${MAX_DEPTH} levels`;
  }
  if (maxPayload === undefined) return undefined;
  const bytes = jsonBytes(message);
  return bytes + FRAMING_BYTES > maxPayload
    ? `it has ${bytes} bytes, and the server takes messages of at most ${maxPayload}`
    : undefined;
}

/**
 * Refuses a request that the Server would answer by ending the connection, and with it every other
 * call.
 *
 * @throws {ConnectionError} `too_large` that says both sizes; nothing was sent
 * @throws {TypeError} when the payload is no JSON, such as one with a BigInt
 */
export function checkRequest(
  event: string,
  payload: object,
  maxPayload: number | undefined,
): void {
  let why: string | undefined;
  try {
    why = tooMuch(payload, maxPayload);
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

/** Tells whether lists and objects are nested deeper than so many levels. */
export const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" && value !== null &&
  (levels === 0 ||
    Object.values(value).some((item) => isDeeper(item, levels - 1)));
