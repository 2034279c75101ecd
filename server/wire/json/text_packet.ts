import type { Buffer } from "node:buffer";
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COMMA,
  NO_JSON,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from "./script_scanner.ts";
import { load, memory, scanner } from "./scanner.ts";
import { Payload } from "../../shared/payload.ts";
import { SMCP_NAMESPACE, TOOL_CALL_EVENT } from "../../../protocol/mod.ts";

/** The findings of a scan about the members of an object. */
interface Members {
  /** Offsets of large objects and arrays: start, end, start, end, … */
  readonly large: readonly number[];
  /** See {@linkcode Payload.mayBeError}. */
  readonly mayBeError: boolean;
}

/** Bytes in a buffer that came from a client. */
export interface ByteRange {
  readonly bytes: Buffer;
  /** Their first byte in the buffer. */
  readonly start: number;
  /** Their end in the buffer, exclusive. */
  readonly end: number;
  /** Whether the rest of the buffer is unused. */
  readonly ownsBuffer: boolean;
  /** The text that all of the buffer encodes, if it came as text; ASCII before {@linkcode start}. */
  readonly source?: string | undefined;
}

/** A JSON object from the wire: validated, but not parsed, so that the same bytes can be forwarded. */
export class JsonText extends Payload {
  /** The buffer that contains it. */
  readonly bytes: Buffer;
  /** Its first byte in the buffer. */
  readonly start: number;
  /** Its end in the buffer, exclusive. */
  readonly end: number;
  override readonly mayBeError: boolean;
  /** Offsets of the members that {@linkcode JsonText.peek} leaves empty: start, end, … */
  readonly large: readonly number[];
  #ownsBuffer: boolean;
  /** The text that all of the buffer encodes, if it came as text; ASCII before {@linkcode start}. */
  readonly #source: string | undefined;
  #outline: Record<string, unknown> | undefined;

  constructor(
    { bytes, start, end, ownsBuffer, source }: ByteRange,
    { large, mayBeError }: Members,
  ) {
    super();
    this.mayBeError = mayBeError;
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.large = large;
    this.#ownsBuffer = ownsBuffer;
    this.#source = source;
  }

  /** Always true: the fast path accepts only objects. */
  override get isObject(): boolean {
    return true;
  }

  /** Its length in bytes. */
  get length(): number {
    return this.end - this.start;
  }

  override get size(): number {
    return this.length;
  }

  /** Claims the bytes around it for overwriting; returns `true` at most once. */
  claimPadding(before: number, after: number): boolean {
    const ownsBuffer = this.#ownsBuffer && this.start >= before &&
      this.end + after <= this.bytes.length;
    if (ownsBuffer) this.#ownsBuffer = false;
    return ownsBuffer;
  }

  /** Returns its members; large objects and arrays are empty, except those that describe failures. */
  override peek(): Record<string, unknown> {
    return this.#outline ??= JSON.parse(this.#outlineText());
  }

  /** Returns the whole value. */
  override parse(): unknown {
    return JSON.parse(this.text());
  }

  /** Returns the whole text; a part of the source, if there is one, costs nothing. */
  text(): string {
    const source = this.#source;
    if (source === undefined || !isAscii(this.bytes, this.end)) {
      return this.#slice(this.start, this.end);
    }
    return source.slice(
      this.start,
      source.length - (this.bytes.length - this.end),
    );
  }

  #outlineText(): string {
    let text = "";
    let from = this.start;
    for (let i = 0; i < this.large.length; i += 2) {
      // Keep its opening and closing brackets, omit the content between them.
      text += this.#slice(from, this.large[i]! + 1);
      from = this.large[i + 1]! - 1;
    }
    return text + this.#slice(from, this.end);
  }

  #slice(start: number, end: number): string {
    return this.bytes.toString("utf8", start, end);
  }
}

/** Whether the rest of a buffer is ASCII; mostly that is a bracket. */
function isAscii(bytes: Buffer, start: number): boolean {
  for (let at = start; at < bytes.length; at++) {
    if (bytes[at]! > 0x7f) return false;
  }
  return true;
}

/** Maximum number of elements of a packet; the protocol needs two. */
export const MAX_ELEMENTS = 1024;

/** Objects and arrays of at least this size are empty in the result of `peek()`, except {@linkcode KEPT_MEMBERS}. */
const LARGE_MEMBER_BYTES = 256;

/** An event or an ack whose payload is an object that was not parsed. */
export interface TextPacket {
  /** The event's name; `undefined` for an ack. */
  readonly event: string | undefined;
  /** The id of the ack, or of the ack that the sender asked for. */
  readonly id: number | undefined;
  /** The first argument; further ones are dropped. */
  readonly body: JsonText;
}

const EVENT = 0x32;
const ACK = 0x33;
const SPACE = 0x20;

/** Maximum number of an id's digits; a client would have to count for years to need more. */
const MAX_ID_DIGITS = 15;

/** Characters that follow the type in packets of the protocol's namespace. */
const NAMESPACE = [...`${SMCP_NAMESPACE},`].map((char) => char.charCodeAt(0));

/**
 * Reads a packet of Socket.IO's protocol without parsing its payload.
 *
 * This is the fast path for the common case: an event of `events` or an ack, in the one form in which
 * clients write it, with an object first. Everything else, valid or not, is left to the stock parser.
 * Whatever this accepts, the stock parser accepts with the same meaning.
 *
 * @param start offset after the type of Engine.IO's packet
 */
export function readPacket(
  { bytes, end, ownsBuffer, source }: ByteRange,
  start: number,
  events: ReadonlySet<string>,
): TextPacket | undefined {
  const type = bytes[start];
  if (type !== EVENT && type !== ACK) return undefined;
  let at = start + 1;
  for (const c of NAMESPACE) if (bytes[at++] !== c) return undefined;
  const digits = at;
  let id: number | undefined;
  for (let c = bytes[at]! - 0x30; c >= 0 && c <= 9; c = bytes[++at]! - 0x30) {
    id = (id ?? 0) * 10 + c;
  }
  if (at - digits > MAX_ID_DIGITS || bytes[at] !== OPEN_ARRAY) return undefined;
  if (type === ACK && id === undefined) return undefined;
  // From here on, offsets are those of the scanner's memory.
  const textStart = load(bytes, at, end);
  const shift = at - textStart;
  const textEnd = end - shift;
  at = scanner.skipSpace(textStart + 1);
  let event: string | undefined;
  if (type === EVENT) {
    const name = at;
    at = scanner.skipString(at);
    if (at === NO_JSON) return undefined;
    event = standsAt(memory, name, TOOL_CALL)
      ? TOOL_CALL_EVENT
      : bytes.toString("latin1", name + 1 + shift, at - 1 + shift);
    if (!events.has(event)) return undefined;
    at = scanner.skipSpace(at);
    if (memory[at] !== COMMA) return undefined;
    at = scanner.skipSpace(at + 1);
  }
  const body = at;
  const members = { large: [], mayBeError: false };
  at = skipObject(memory, at, shift, members);
  if (at === NO_JSON || !endsAt(memory, at, textEnd)) return undefined;
  if (scanner.isUtf8(textStart, textEnd) !== 1) return undefined;
  return {
    event,
    id,
    // All before the body is ASCII: it stands at the same offset of the source.
    body: new JsonText(
      { bytes, start: body + shift, end: at + shift, ownsBuffer, source },
      members,
    ),
  };
}

/**
 * Returns where the payload ends, or {@linkcode NO_JSON}.
 *
 * @param members filled with the findings, offsets shifted back
 */
function skipObject(
  memory: Uint8Array,
  at: number,
  shift: number,
  members: { large: number[]; mayBeError: boolean },
): number {
  if (memory[at] !== OPEN_OBJECT) return NO_JSON;
  at = scanner.skipSpace(at + 1);
  if (memory[at] === CLOSE_OBJECT) return at + 1;
  while (true) {
    const key = at;
    const value = scanner.skipKey(key);
    if (value === NO_JSON) return NO_JSON;
    at = scanner.skipValue(value, 2);
    if (at === NO_JSON) return NO_JSON;
    const first = memory[value];
    if (
      at - value >= LARGE_MEMBER_BYTES &&
      (first === OPEN_OBJECT || first === OPEN_ARRAY) &&
      !isKept(memory, key)
    ) {
      members.large.push(value + shift, at + shift);
    }
    members.mayBeError ||= mayBeError(memory, key, first);
    if (memory[at]! <= SPACE) at = scanner.skipSpace(at);
    const next = memory[at];
    if (next === CLOSE_OBJECT) return at + 1;
    if (next !== COMMA) return NO_JSON;
    at++;
    if (memory[at]! <= SPACE) at = scanner.skipSpace(at);
  }
}

/** Whether the member at `key` may be `code`, `error` or `isError: true`; may be wrongly `true`. */
function mayBeError(
  memory: Uint8Array,
  key: number,
  value: number | undefined,
): boolean {
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

const inQuotes = (text: string): readonly number[] =>
  [...JSON.stringify(text)].map((char) => char.charCodeAt(0));

/** The name of nearly every event. */
const TOOL_CALL = inQuotes(TOOL_CALL_EVENT);

/** Members that describe how a call ended; `peek()` keeps them regardless of their size. */
const KEPT_MEMBERS = ["meta", "_meta", "error"].map(inQuotes);

/** Whether the key at `key` is one of {@linkcode KEPT_MEMBERS}, or may be, since it has an escape. */
function isKept(memory: Uint8Array, key: number): boolean {
  for (let at = key + 1; memory[at] !== QUOTE; at++) {
    if (memory[at] === BACKSLASH) return true;
  }
  return KEPT_MEMBERS.some((name) => standsAt(memory, key, name));
}

function standsAt(
  memory: Uint8Array,
  at: number,
  text: readonly number[],
): boolean {
  for (let i = 0; i < text.length; i++) {
    if (memory[at + i] !== text[i]) return false;
  }
  return true;
}

/** Whether only further arguments and the end of the packet follow. */
function endsAt(memory: Uint8Array, at: number, end: number): boolean {
  for (let elements = 1; elements <= MAX_ELEMENTS; elements++) {
    at = scanner.skipSpace(at);
    const next = memory[at];
    if (next === CLOSE_ARRAY) return scanner.skipSpace(at + 1) === end;
    if (next !== COMMA) return false;
    at = scanner.skipValue(scanner.skipSpace(at + 1), 1);
    if (at === NO_JSON) return false;
  }
  return false;
}
