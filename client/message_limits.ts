import { ConnectionError } from "./errors.ts";

const encoder = new TextEncoder();

/** Upper bound for the bytes of a packet around its message: type, namespace, ack id, event name. */
export const FRAMING_BYTES = 64;
/** Maximum nesting of a message: the Server accepts 64 levels, including the packet's own array. */
export const MAX_DEPTH = 63;

/**
 * Returns why a message cannot be sent: the Server would close the connection (protocol §9).
 *
 * @param maxPayload bytes, as announced in the handshake; `undefined` if unknown
 * @returns `undefined` when it can be sent
 */
export function whyUnsendable(
  message: object,
  maxPayload: number | undefined,
): string | undefined {
  const room = (maxPayload ?? Number.MAX_VALUE) - FRAMING_BYTES;
  if (atMostBytes(message, MAX_DEPTH) <= room) return undefined;
  const why = whyTooDeep(message);
  if (why !== undefined || maxPayload === undefined) return why;
  return whyTooLarge(jsonBytes(message), maxPayload);
}

/** Returns why no Server accepts a message, whatever its size; `undefined` when it is not nested too deeply. */
export const whyTooDeep = (message: object): string | undefined =>
  isDeeper(message, MAX_DEPTH)
    ? `it is nested deeper than ${MAX_DEPTH} levels`
    : undefined;

/** Returns why a message of so many bytes cannot be sent; `undefined` when it can. */
export const whyTooLarge = (
  bytes: number,
  maxPayload: number,
): string | undefined =>
  bytes + FRAMING_BYTES > maxPayload
    ? `it has ${bytes} bytes, and the server accepts messages of at most ${maxPayload}`
    : undefined;

/**
 * Returns a number of bytes that an object as JSON certainly does not exceed, without writing it: a text is
 * not read. `Infinity` where only `JSON.stringify` can count, or below more than so many levels.
 */
function atMostBytes(value: object, levels: number): number {
  if (levels === 0 || "toJSON" in value) return Infinity;
  let bytes = 2;
  for (const [name, item] of Object.entries(value)) {
    bytes += 6 * name.length + 4; // each character may be one such as \u0001
    switch (typeof item) {
      case "string":
        bytes += 6 * item.length + 2;
        break;
      case "number":
      case "boolean":
      case "undefined":
        bytes += 25;
        break;
      case "object":
        bytes += item === null ? 4 : atMostBytes(item, levels - 1);
        break;
      default:
        return Infinity;
    }
  }
  return bytes;
}

/** Returns the size of a message as JSON in bytes. */
export const jsonBytes = (message: object): number =>
  encoder.encode(JSON.stringify(message)).length;

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
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const item of Object.values(value)) {
    if (typeof item === "object" && isDeeper(item, levels - 1)) return true;
  }
  return false;
}

/**
 * Returns how many bytes still fit into a message as base64.
 *
 * @param message with an empty string in their place
 * @param maxPayload bytes, as announced in the handshake; `undefined` if unknown
 */
export const roomForBase64 = (
  message: object,
  maxPayload: number | undefined,
): number =>
  maxPayload === undefined
    ? Infinity
    : Math.floor((maxPayload - FRAMING_BYTES - jsonBytes(message)) / 4) * 3;
