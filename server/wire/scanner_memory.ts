/**
 * The scanner, and its memory: a text is copied there before it is scanned.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { SCAN_JSON_WASM } from "./scan_json_wasm.ts";
import { type Scanner, ScriptScanner } from "./script_scanner.ts";

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
