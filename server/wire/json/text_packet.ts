import { Buffer } from "node:buffer";
import { SCAN_JSON_WASM } from "./scan_json_wasm.ts";
import { Payload } from "../../shared/payload.ts";
import { SMCP_NAMESPACE, TOOL_CALL_EVENT } from "../../../protocol/mod.ts";

/** Characters of JSON, as bytes and as UTF-16 units. */
export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const OPEN_ARRAY = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

/** Limit of brackets open at once in a packet, its own array included (spec §7). */
export const MAX_DEPTH = 64;

/** Result for text that is invalid or nested too deeply: the caller falls back to another parser. */
export const NO_JSON = -1;

/** Scans JSON without parsing it; offsets are those of {@linkcode load}. */
interface Scanner {
  readonly memory: WebAssembly.Memory;
  /** Returns where the whitespace at `at`, if any, ends. */
  skipSpace(at: number): number;
  /** Returns where the string at `at` ends, after its quote, or {@linkcode NO_JSON}. */
  skipString(at: number): number;
  /** Returns where the value of the member with the key at `at` begins, or {@linkcode NO_JSON}. */
  skipKey(at: number): number;
  /** Returns where the value at `at`, inside `depth` brackets, ends, or {@linkcode NO_JSON}. */
  skipValue(at: number, depth: number): number;
  /** Returns 1 when the text is valid UTF-8. */
  isUtf8(at: number, end: number): number;
  /** Removes a client's mask: four bytes, little-endian. */
  unmask(at: number, end: number, mask: number): void;
}

const module = new WebAssembly.Module(Buffer.from(SCAN_JSON_WASM, "base64"));

/**
 * The scanner. It accepts what `JSON.parse` accepts, except for nesting beyond {@linkcode MAX_DEPTH}, and
 * for numbers of 64 or more digits in values of many parts.
 */
export const scanner: Scanner = new WebAssembly.Instance(module)
  .exports as object as Scanner;

/** Offset of texts in the scanner's memory, after its own data. */
const TEXT_START = 4096;

/** NULs after a text, at which every function of the scanner stops: two blocks. */
const NULS = 128;

/** Bytes that the scanner's `unmask` changes at once. */
const BLOCK = 16;

const PAGE = 65_536;

/** The scanner's memory. */
let memory: Uint8Array = new Uint8Array(scanner.memory.buffer);

/** The text that {@linkcode unmaskBlocks} left in the scanner's memory. */
let unmasked: { bytes: Uint8Array; start: number; end: number } | undefined;

/**
 * Copies a text into the scanner's memory, unless it is there already.
 *
 * @returns where it starts
 */
export function load(bytes: Uint8Array, start: number, end: number): number {
  const there = unmasked;
  unmasked = undefined; // releases its bytes
  if (there?.bytes === bytes && start >= there.start && end === there.end) {
    return TEXT_START + start - there.start;
  }
  const textEnd = TEXT_START + end - start;
  const missing = textEnd + NULS - memory.length;
  if (missing > 0) {
    scanner.memory.grow(Math.ceil(missing / PAGE));
    memory = new Uint8Array(scanner.memory.buffer);
  }
  memory.set(bytes.subarray(start, end), TEXT_START);
  memory.fill(0, textEnd, textEnd + NULS);
  return TEXT_START;
}

/** Removes a client's mask in place, in the scanner's memory, where {@linkcode load} then finds the text. */
export function unmaskBlocks(
  bytes: Uint8Array,
  start: number,
  end: number,
  mask: number,
): void {
  const at = load(bytes, start, end);
  const textEnd = at + end - start;
  scanner.unmask(at, textEnd, mask);
  memory.fill(0, textEnd, textEnd + BLOCK); // it works on whole blocks
  bytes.set(memory.subarray(at, textEnd), start);
  unmasked = { bytes, start, end };
}

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
