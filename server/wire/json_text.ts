/**
 * The fast path. A packet is copied into the memory of the scanner, which finds where the name of its
 * event, its id and its payload begin and end, and checks that they are JSON. The payload is then a
 * {@linkcode JsonText}: outlined, and forwarded or edited as the bytes that came, in place of being
 * parsed. What does not fit is left to the stock parser.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { SMCP_NAMESPACE, TOOL_CALL_EVENT } from "../../protocol/mod.ts";
import { release } from "../../shared/bytes.ts";
import {
  eachMember,
  JsonEdit,
  type JsonSpan,
  keyOf,
  nameIn,
} from "../../protocol/json_bytes.ts";
import { ValueCounter } from "../../shared/json/values.ts";
import { type Changes, Payload } from "../shared/payload.ts";
import { load, loadText, memory, scanner } from "./scanner_memory.ts";
import { Char, NO_JSON } from "./script_scanner.ts";

/** Where a text is, in bytes of UTF-8. */
interface Span {
  /** Its first byte in the buffer; 0 without one. */
  readonly start: number;
  /** Its end, exclusive. */
  readonly end: number;
}

/** Bytes in a buffer that came from a client. */
export interface ByteRange extends Span {
  readonly bytes: Buffer;
  /** Whether the rest of the buffer is unused. */
  readonly ownsBuffer: boolean;
}

/** Text that came from a client, on a platform that decodes messages. */
export interface DecodedText extends Span {
  readonly text: string;
}

/** What a scan finds in an object. */
export interface Found {
  readonly mayBeError: boolean;
  /** As {@linkcode JsonText.large}; absent where it was not scanned in this form: found when it is needed. */
  readonly large?: readonly number[];
  /** Absent where another process has scanned it, or none. */
  readonly values?: number;
  readonly members?: number;
}

/** A JSON object from the wire: validated, but not parsed, so that the same bytes can be forwarded. */
export class JsonText extends Payload implements Span {
  readonly start: number;
  readonly end: number;
  override readonly size: number;
  override readonly isObject: boolean;
  override readonly mayBeError: boolean;
  override readonly members: number | undefined;
  #ownsBuffer: boolean;
  #bytes: Buffer | undefined;
  readonly #text: string | undefined;
  #outline: Record<string, unknown> | undefined;
  #values: number | undefined;
  #large: readonly number[] | undefined;

  constructor(
    source: ByteRange | DecodedText,
    found: Found,
  ) {
    super();
    this.start = source.start;
    this.end = source.end;
    this.size = source.end - source.start;
    this.isObject = true; // the fast path accepts nothing else
    this.#large = found.large;
    this.mayBeError = found.mayBeError;
    this.#values = found.values;
    this.members = found.members;
    const isText = "text" in source;
    this.#ownsBuffer = !isText && source.ownsBuffer;
    this.#bytes = isText ? undefined : source.bytes;
    this.#text = isText ? source.text : undefined;
  }

  /** The buffer that contains it; made at first use if it came as text. */
  get bytes(): Buffer {
    return this.#bytes ??= Buffer.from(this.text());
  }

  /** Frees its buffer, which it must own: it was sent in place, and nothing reads it again. */
  release(): void {
    if (this.#bytes) release(this.#bytes);
    this.#bytes = undefined;
  }

  /** Claims the bytes around it for overwriting; returns `true` at most once. */
  claimPadding(before: number, after: number): boolean {
    const ownsBuffer = this.#ownsBuffer && this.start >= before &&
      this.end + after <= this.bytes.length;
    if (ownsBuffer) this.#ownsBuffer = false;
    return ownsBuffer;
  }

  /**
   * Returns its members, of which only the first {@linkcode MAX_OUTLINE_MEMBERS} are read. Large objects
   * and arrays are empty, except those that describe failures, and so is what would make the whole larger
   * than {@linkcode MAX_OUTLINE_BYTES}.
   */
  override peek(): Record<string, unknown> {
    if (this.#outline !== undefined) return this.#outline;
    let text = "";
    let from = this.start;
    for (let i = 0; i < this.large.length; i += 2) {
      // Keep its opening and closing brackets, omit the content between them.
      text += this.#slice(from, this.large[i]! + 1);
      from = this.large[i + 1]! - 1;
    }
    text += this.#slice(from, this.end);
    return this.#outline = JSON.parse(text) as Record<string, unknown>;
  }

  /** Returns the whole value. */
  override parse(): unknown {
    return JSON.parse(this.text());
  }

  override get values(): number {
    return this.#values ??= scanned(this.json()).values;
  }

  /** Offsets of the members that {@linkcode JsonText.peek} leaves empty: start, end, … */
  get large(): readonly number[] {
    return this.#large ??= scanned(this.json()).large;
  }

  override json(): ByteRange {
    const { bytes, start, end } = this;
    return { bytes, start, end, ownsBuffer: false };
  }

  override with(changes: Changes): Payload {
    const edit = new JsonEdit(this.bytes, this, Infinity);
    const missing = new Map(Object.entries(changes));
    edit.object(this.start, (member) => {
      const name = nameIn(this.bytes, keyOf(member)) ?? "";
      if (!Object.hasOwn(changes, name)) return undefined;
      missing.delete(name);
      const value = changes[name];
      return value === undefined ? null : JSON.stringify(value);
    }, () => {
      const added = [...missing].filter(([, value]) => value !== undefined)
        .map(([name, value]) => `"${name}":${JSON.stringify(value)}`);
      return added.length > 0 ? added.join(",") : undefined;
    });
    return this.edited(edit.finish(this.end));
  }

  override only(names: readonly string[]): Payload {
    const { bytes } = this;
    const last = new Map<string, JsonSpan>();
    eachMember(bytes, this.start, (member) => {
      const name = nameIn(bytes, keyOf(member));
      if (name !== undefined && names.includes(name)) last.set(name, member);
    });
    const members = [...last].map(([name, { start, end }]) =>
      `"${name}":${bytes.toString("utf8", start, end)}`
    );
    return this.edited(Buffer.from(`{${members.join(",")}}`));
  }

  override edited(bytes: Uint8Array): Payload {
    const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const { length: end } = whole;
    const range = { bytes: whole, start: 0, end, ownsBuffer: false };
    // No edit makes an error of what is none; it is scanned again only where it is looked at.
    return new JsonText(range, { mayBeError: this.mayBeError });
  }

  /** Returns the whole text. */
  text(): string {
    if (this.#text !== undefined) return this.#text;
    if (this.#bytes !== undefined) return this.#slice(this.start, this.end);
    throw new Error("The bytes of a message were freed when it was sent");
  }

  #slice(start: number, end: number): string {
    const isAscii = this.#text?.length === this.size;
    return isAscii
      ? this.#text.slice(start, end)
      : this.bytes.toString("utf8", start, end);
  }
}

/** Objects and arrays of at least this size are empty in the result of `peek()`, except {@linkcode KEPT_MEMBERS}. */
const LARGE_MEMBER_BYTES = 256;

/** Members of a payload after these are not in the result of `peek()`. */
export const MAX_OUTLINE_MEMBERS = 256;

/** The most bytes of an identifier, of which each unit may be an escape such as `\\u0041`: none is left empty. */
const MAX_NAME_BYTES = 6 * 256 + 2;

/** The most bytes of longer texts, and of {@linkcode KEPT_MEMBERS}, in the result of `peek()`. */
export const MAX_OUTLINE_BYTES = 131_072;

const SPACE = 0x20;

/** What {@linkcode skipObject} fills in. */
interface Finding extends Found {
  large: number[];
  mayBeError: boolean;
  values: number;
  members: number;
  /** The bytes of large members that are in the outline. */
  outline: number;
}

/** What is found before a scan. */
const NOTHING_FOUND: Finding = {
  large: [],
  mayBeError: false,
  values: 0,
  members: 0,
  outline: 0,
};

/**
 * Returns where the payload ends, or {@linkcode NO_JSON}.
 *
 * @param found filled with what is found, offsets shifted back
 */
function skipObject(at: number, shift: number, found: Finding): number {
  if (memory[at] !== Char.OPEN_OBJECT) return NO_JSON;
  scanner.resetValues();
  at = scanner.skipSpace(at + 1);
  /** The last character of the outline, if it ends before the object. */
  let cut: number | undefined;
  while (true) {
    if (found.members === 0 && memory[at] === Char.CLOSE_OBJECT) break;
    const key = at;
    const value = scanner.skipKey(key);
    if (value === NO_JSON) return NO_JSON;
    at = scanner.skipValue(value, 2);
    if (at === NO_JSON) return NO_JSON;
    found.members++;
    if (cut === undefined) {
      if (at - value >= LARGE_MEMBER_BYTES && isLarge(key, value, at, found)) {
        found.large.push(value + shift, at + shift);
      }
      found.mayBeError ||= mayBeError(key, memory[value]);
      if (found.members === MAX_OUTLINE_MEMBERS) cut = at - 1;
    }
    if (memory[at]! <= SPACE) at = scanner.skipSpace(at);
    const next = memory[at];
    if (next === Char.CLOSE_OBJECT) break;
    if (next !== Char.COMMA) return NO_JSON;
    at++;
    if (memory[at]! <= SPACE) at = scanner.skipSpace(at);
  }
  // Its own bracket, and the commas between its members.
  found.values = scanner.values.value + Math.max(1, found.members);
  const end = at + 1;
  if (cut !== undefined) {
    found.large.push(cut + shift, end + shift);
    found.mayBeError ||= found.members > MAX_OUTLINE_MEMBERS;
  }
  return end;
}

/** Scans an object. */
function scanned({ bytes, start, end }: ByteRange): Finding {
  const at = load(bytes, start, end);
  const found = { ...NOTHING_FOUND, large: [] };
  if (skipObject(at, start - at, found) !== NO_JSON) return found;
  // An edit may have moved a number of 64 digits to where the scanner leaves it to others: nothing of it
  // is looked at then.
  const values = new ValueCounter().push(bytes.subarray(start, end));
  return { ...NOTHING_FOUND, large: [start, end], values };
}

/** Whether a member of at least {@linkcode LARGE_MEMBER_BYTES} is left empty in the outline. */
function isLarge(
  key: number,
  value: number,
  end: number,
  found: Finding,
): boolean {
  const first = memory[value];
  if (first === Char.QUOTE && end - value <= MAX_NAME_BYTES) return false;
  const isContainer = first === Char.OPEN_OBJECT || first === Char.OPEN_ARRAY;
  if (isContainer && !isKept(key)) return true;
  const bytes = end - key;
  if (found.outline + bytes <= MAX_OUTLINE_BYTES) {
    found.outline += bytes;
    return false;
  }
  // A number of any length has no brackets or quotes to keep.
  return isContainer || first === Char.QUOTE;
}

/** Whether the member at `key` may be `code`, `error` or `isError: true`; may be wrongly `true`. */
function mayBeError(key: number, value: number | undefined): boolean {
  switch (memory[key + 1]) {
    case 0x63: // c, as in content
      return memory[key + 2] !== 0x6f || memory[key + 3] !== 0x6e;
    case 0x69: // i
      return value === 0x74;
    case 0x65: // e
    case 0x5c: // an escape
      return true;
    default:
      return false;
  }
}

/** The characters of a text in JSON. */
const inQuotes = (text: string): readonly number[] =>
  [...JSON.stringify(text)].map((char) => char.charCodeAt(0));

/** Members that describe how a call ended; `peek()` keeps them regardless of their size. */
const KEPT_MEMBERS = ["meta", "_meta", "error"].map(inQuotes);

/** Whether the key at `key` is one of {@linkcode KEPT_MEMBERS}, or may be, since it has an escape. */
function isKept(key: number): boolean {
  for (let at = key + 1; memory[at] !== Char.QUOTE; at++) {
    if (memory[at] === Char.BACKSLASH) return true;
  }
  return KEPT_MEMBERS.some((name) => standsAt(key, name));
}

/** Whether these characters stand at `at`. */
function standsAt(at: number, text: readonly number[]): boolean {
  for (let i = 0; i < text.length; i++) {
    if (memory[at + i] !== text[i]) return false;
  }
  return true;
}

// ------------------------------------------------------------------ packets

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
  const found = { ...NOTHING_FOUND, large: [] };
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
