import { Buffer } from "node:buffer";
import { SCAN_JSON_WASM } from "./scan_json_wasm.ts";

/** A packet with more brackets open at once than this is refused, its own array included (spec §7). */
export const MAX_DEPTH = 64;

/** No JSON, or nested too deeply: whoever gave it to the scan has to ask another parser. */
export const NO_JSON = -1;

/** Reads JSON without making anything of it; positions are those of {@linkcode load}. */
interface Scanner {
  readonly memory: WebAssembly.Memory;
  /** Where the whitespace at `at`, if any, ends. */
  skipSpace(at: number): number;
  /** Where the string that starts at `at` ends, behind its quote, or {@linkcode NO_JSON}. */
  skipString(at: number): number;
  /** Where the value of the member whose key starts at `at` begins, or {@linkcode NO_JSON}. */
  skipKey(at: number): number;
  /** Where the value that starts at `at`, inside `depth` brackets, ends, or {@linkcode NO_JSON}. */
  skipValue(at: number, depth: number): number;
  /** 1 when all of it is UTF-8. */
  isUtf8(at: number, end: number): number;
  /** Takes a client's mask, four bytes, little-endian, off all of it. */
  unmask(at: number, end: number, mask: number): void;
}

const module = new WebAssembly.Module(Buffer.from(SCAN_JSON_WASM, "base64"));

/**
 * The scanner: it accepts what `JSON.parse` accepts, but for {@linkcode MAX_DEPTH}, and for numbers of
 * 64 digits and more in values of many parts.
 */
export const scanner: Scanner = new WebAssembly.Instance(module)
  .exports as object as Scanner;

/** Where texts begin in the scanner's memory, behind what is its own. */
const TEXT_START = 4096;

/** So many NULs behind a text let every function of the scanner come to its end: two blocks. */
const NULS = 128;

/** Bytes that the scanner's `unmask` changes at once. */
const BLOCK = 16;

const PAGE = 65_536;

/** The scanner's memory. */
export let memory: Uint8Array = new Uint8Array(scanner.memory.buffer);

/** What stands in there, behind {@linkcode unmaskBlocks}. */
let unmasked: { bytes: Uint8Array; start: number; end: number } | undefined;

/**
 * Puts a text into the scanner's memory instead of the one before, unless it stands there already.
 *
 * @returns where it starts
 */
export function load(bytes: Uint8Array, start: number, end: number): number {
  const there = unmasked;
  unmasked = undefined; // or its bytes would stay in memory
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

/** Takes a client's mask off, in place, by way of the scanner's memory: {@linkcode load} finds the text there. */
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
