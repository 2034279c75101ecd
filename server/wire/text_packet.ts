/**
 * The fast path. A packet is copied into the memory of the scanner, which finds where the name of its
 * event, its id and its payload begin and end, and checks that they are JSON; the payload is then a
 * {@linkcode JsonText}, whose bytes are forwarded as they came. What does not fit is left to the stock
 * parser.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { SMCP_NAMESPACE, TOOL_CALL_EVENT } from "../../protocol/mod.ts";
import { Payload } from "../shared/payload.ts";
import { SCAN_JSON_WASM } from "./scan_json_wasm.ts";
import {
  Char,
  NO_JSON,
  type Scanner,
  ScriptScanner,
} from "./script_scanner.ts";
import { release } from "../../shared/bytes.ts";

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

/** A JSON object from the wire: validated, but not parsed, so that the same bytes can be forwarded. */
export class JsonText extends Payload implements Span {
  readonly start: number;
  readonly end: number;
  override readonly size: number;
  override readonly isObject: boolean;
  override readonly mayBeError: boolean;
  /** Offsets of the members that {@linkcode JsonText.peek} leaves empty: start, end, … */
  readonly large: readonly number[];
  #ownsBuffer: boolean;
  #bytes: Buffer | undefined;
  readonly #text: string | undefined;
  #outline: Record<string, unknown> | undefined;

  constructor(
    source: ByteRange | DecodedText,
    found: Pick<JsonText, "large" | "mayBeError">,
  ) {
    super();
    this.start = source.start;
    this.end = source.end;
    this.size = source.end - source.start;
    this.isObject = true; // the fast path accepts nothing else
    this.large = found.large;
    this.mayBeError = found.mayBeError;
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

  /** Returns its members; large objects and arrays are empty, except those that describe failures. */
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
  message: ByteRange | DecodedText,
  start: number,
  events: ReadonlySet<string>,
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
    if (!events.has(event)) return undefined;
    at = scanner.skipSpace(at);
    if (memory[at] !== Char.COMMA) return undefined;
    at = scanner.skipSpace(at + 1);
  }
  const body = at;
  const found = { large: [], mayBeError: false };
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

/**
 * Returns where the payload ends, or {@linkcode NO_JSON}.
 *
 * @param found filled with what is found, offsets shifted back
 */
function skipObject(
  at: number,
  shift: number,
  found: { large: number[]; mayBeError: boolean },
): number {
  if (memory[at] !== Char.OPEN_OBJECT) return NO_JSON;
  at = scanner.skipSpace(at + 1);
  if (memory[at] === Char.CLOSE_OBJECT) return at + 1;
  while (true) {
    const key = at;
    const value = scanner.skipKey(key);
    if (value === NO_JSON) return NO_JSON;
    at = scanner.skipValue(value, 2);
    if (at === NO_JSON) return NO_JSON;
    const first = memory[value];
    if (
      at - value >= LARGE_MEMBER_BYTES &&
      (first === Char.OPEN_OBJECT || first === Char.OPEN_ARRAY) &&
      !isKept(key)
    ) found.large.push(value + shift, at + shift);
    found.mayBeError ||= mayBeError(key, first);
    if (memory[at]! <= SPACE) at = scanner.skipSpace(at);
    const next = memory[at];
    if (next === Char.CLOSE_OBJECT) return at + 1;
    if (next !== Char.COMMA) return NO_JSON;
    at++;
    if (memory[at]! <= SPACE) at = scanner.skipSpace(at);
  }
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

const inQuotes = (text: string): readonly number[] =>
  [...JSON.stringify(text)].map((char) => char.charCodeAt(0));

/** The name of nearly every event. */
const TOOL_CALL = inQuotes(TOOL_CALL_EVENT);

/** Members that describe how a call ended; `peek()` keeps them regardless of their size. */
const KEPT_MEMBERS = ["meta", "_meta", "error"].map(inQuotes);

/** Whether the key at `key` is one of {@linkcode KEPT_MEMBERS}, or may be, since it has an escape. */
function isKept(key: number): boolean {
  for (let at = key + 1; memory[at] !== Char.QUOTE; at++) {
    if (memory[at] === Char.BACKSLASH) return true;
  }
  return KEPT_MEMBERS.some((name) => standsAt(key, name));
}

function standsAt(at: number, text: readonly number[]): boolean {
  for (let i = 0; i < text.length; i++) {
    if (memory[at + i] !== text[i]) return false;
  }
  return true;
}

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

/**
 * Returns the scanner in WebAssembly, which refuses numbers of 64 or more digits in values of many parts,
 * too; `undefined` where the platform forbids code that is made at run time, as Cloudflare does.
 */
function compiled(): Scanner | undefined {
  try {
    const bytes = Buffer.from(SCAN_JSON_WASM, "base64");
    const module = new WebAssembly.Module(bytes);
    return new WebAssembly.Instance(module).exports as object as Scanner;
  } catch {
    return undefined;
  }
}

/** The scanner. */
export const scanner: Scanner = compiled() ?? new ScriptScanner();

/** Offset of texts in the scanner's memory, after its own data. */
const TEXT_START = 4096;

/** NULs after a text, at which every function of the scanner stops: two blocks. */
const NULS = 128;

/** Bytes that the scanner's `unmask` changes at once. */
const BLOCK = 16;

const PAGE = 65_536;

/** The scanner's memory. */
export let memory: Buffer = Buffer.from(scanner.memory.buffer);

/** Where texts are. */
let room = memory.subarray(TEXT_START);

const encoder = new TextEncoder();

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
  prepare(end - start);
  memory.set(bytes.subarray(start, end), TEXT_START);
  return TEXT_START;
}

/**
 * Encodes a text into the scanner's memory.
 *
 * @param length its bytes in UTF-8
 * @returns where it starts
 */
export function loadText(text: string, length: number): number {
  unmasked = undefined;
  prepare(length);
  encoder.encodeInto(text, room);
  return TEXT_START;
}

/** Makes room for a text, with NULs behind it. */
function prepare(length: number): void {
  const end = TEXT_START + length;
  const missing = end + NULS - memory.length;
  if (missing > 0) {
    scanner.memory.grow(Math.ceil(missing / PAGE));
    memory = Buffer.from(scanner.memory.buffer);
    room = memory.subarray(TEXT_START);
  }
  memory.fill(0, end, end + NULS);
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
