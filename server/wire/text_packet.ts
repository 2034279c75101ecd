/**
 * The fast path. A packet is copied into the memory of the scanner, which finds where the name of its
 * event, its id and its payload begin and end, and checks that they are JSON; the payload is then a
 * {@linkcode JsonText}, whose bytes are forwarded as they came. What does not fit is left to the stock
 * parser.
 *
 * @module
 */
import { SMCP_NAMESPACE, TOOL_CALL_EVENT } from "../../protocol/mod.ts";
import { Payload } from "../shared/payload.ts";
import {
  type ByteRange,
  type DecodedText,
  type Finding,
  inQuotes,
  JsonText,
  skipObject,
  standsAt,
} from "./json_text.ts";
import { load, loadText, memory, scanner } from "./scanner_memory.ts";
import { Char, NO_JSON } from "./script_scanner.ts";

/** Maximum number of elements of a packet; the protocol needs two. */
export const MAX_ELEMENTS = 1024;

/** An event or an ack whose payload is an object that was not parsed. */
export interface TextPacket {
  /** The event's name; `undefined` for an ack. */
  readonly event: string | undefined;
  /** The id of the ack, or of the ack that the sender requested. */
  readonly id: number | undefined;
  /** The first argument; further ones are dropped. */
  readonly body: Payload;
}

const EVENT = 0x32;
const ACK = 0x33;

/** Maximum number of an id's digits; a client would have to count for years to need more. */
const MAX_ID_DIGITS = 15;

/** Characters that follow the type in packets of the protocol's namespace. */
const NAMESPACE = [...`${SMCP_NAMESPACE},`].map((char) => char.charCodeAt(0));

/** Names that an event of a client may have; those of Socket.IO's own events, which have no colon, are not among them. */
const EVENT_NAME = /^[\w-]+:[\w:-]*$/;

/** The most bytes of the payload of an event that no version has; it is refused whatever it is. */
const MAX_UNKNOWN_BYTES = 65_536;

/**
 * Reads a packet of Socket.IO's protocol without parsing its payload.
 *
 * This is the fast path for the common case: an event or an ack, in the one form in which clients write
 * it, with an object first. Everything else, valid or not, is left to the stock parser. Whatever this
 * accepts, the stock parser accepts with the same meaning, but for what is not read at all: the payload
 * of an event that is larger than it may be.
 *
 * @param start offset after the type of Engine.IO's packet
 * @param events the most bytes of each event's payload, by its name
 */
export function readPacket(
  message: ByteRange | DecodedText,
  start: number,
  events: ReadonlyMap<string, number>,
): TextPacket | undefined {
  const isText = "text" in message;
  // From here on, offsets are those of the scanner's memory.
  const packet = isText
    ? loadText(message.text, message.end) + start
    : load(message.bytes, start, message.end);
  const shift = start - packet;
  const end = message.end - shift;
  const type = memory[packet];
  if (type !== EVENT && type !== ACK) return undefined;
  let at = packet + 1;
  for (const c of NAMESPACE) if (memory[at++] !== c) return undefined;
  const digits = at;
  let id: number | undefined;
  for (let c = memory[at]! - 0x30; c >= 0 && c <= 9; c = memory[++at]! - 0x30) {
    id = (id ?? 0) * 10 + c;
  }
  if (at - digits > MAX_ID_DIGITS) return undefined;
  if (memory[at] !== Char.OPEN_ARRAY) return undefined;
  if (type === ACK && id === undefined) return undefined;
  const array = at;
  at = scanner.skipSpace(array + 1);
  let event: string | undefined;
  if (type === EVENT) {
    const name = at;
    at = scanner.skipString(at);
    if (at === NO_JSON) return undefined;
    event = standsAt(name, TOOL_CALL)
      ? TOOL_CALL_EVENT
      : memory.toString("latin1", name + 1, at - 1);
    const most = events.get(event);
    const isUnknown = most === undefined;
    if (isUnknown && !EVENT_NAME.test(event)) return undefined;
    at = scanner.skipSpace(at);
    if (memory[at] !== Char.COMMA) return undefined;
    at = scanner.skipSpace(at + 1);
    // The bracket that ends the packet is not the payload's.
    const bytes = end - 1 - at;
    if (bytes > (most ?? MAX_UNKNOWN_BYTES)) {
      return isText || scanner.isUtf8(array, end) === 1
        ? { event, id, body: Payload.unread(bytes) }
        : undefined;
    }
    if (isUnknown) return undefined;
  }
  const body = at;
  const found: Finding = {
    large: [],
    mayBeError: false,
    values: 0,
    members: 0,
    outline: 0,
  };
  at = skipObject(at, isText ? -body : shift, found);
  if (at === NO_JSON || !endsAt(at, end)) return undefined;
  if (!isText && scanner.isUtf8(array, end) !== 1) return undefined;
  const source = isText
    ? {
      text: isAscii(at, end)
        ? message.text.slice(body + shift, at - end)
        : memory.toString("utf8", body, at),
      start: 0,
      end: at - body,
    }
    : { ...message, start: body + shift, end: at + shift };
  return { event, id, body: new JsonText(source, found) };
}

/** Whether a part of the scanner's memory is ASCII; what follows a body mostly is one bracket. */
function isAscii(at: number, end: number): boolean {
  while (at < end && memory[at]! <= 0x7f) at++;
  return at === end;
}

/** The name of nearly every event. */
const TOOL_CALL = inQuotes(TOOL_CALL_EVENT);

/** Whether only further arguments and the end of the packet follow. */
function endsAt(at: number, end: number): boolean {
  for (let elements = 1; elements <= MAX_ELEMENTS; elements++) {
    at = scanner.skipSpace(at);
    const next = memory[at];
    if (next === Char.CLOSE_ARRAY) return scanner.skipSpace(at + 1) === end;
    if (next !== Char.COMMA) return false;
    at = scanner.skipValue(scanner.skipSpace(at + 1), 1);
    if (at === NO_JSON) return false;
  }
  return false;
}
