/**
 * Messages from a child process: bytes become lines of text, a few are processed per turn of the
 * event loop, and each becomes a message.
 *
 * @module
 */
import type { Readable } from "node:stream";
import { isUtf8 } from "node:buffer";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type JSONRPCResultResponse,
} from "@modelcontextprotocol/sdk/types.js";
import {
  DEFAULT_MESSAGE_BYTES,
  MAX_MESSAGE_VALUES,
  MessageTooLargeError,
  PARSE_ERROR,
  TOO_MANY_VALUES,
} from "./errors.ts";
import { mendMeta } from "../../../protocol/mcp/mend.ts";
import { isRecord } from "../../../protocol/names.ts";
import { outlineOf } from "../../../shared/json_outline.ts";
import { countValues } from "../../../shared/json_values.ts";

/** How to decode text; the fields of a stdio configuration (spec §4). */
interface TextOptions {
  /** A label of the Encoding Standard, or Python's spelling of it (`latin_1`). */
  readonly encoding: string;
  /** How to handle bytes that are invalid in `encoding`. */
  readonly encoding_error_handler: "strict" | "ignore" | "replace";
}

/** One line of text, without its line end. */
export interface Line {
  /** The text, with U+FFFD for invalid bytes unless those are ignored. */
  readonly text: string;
  /** False when `strict` is set and bytes are invalid in the encoding. */
  readonly valid: boolean;
}

const NEWLINE = 0x0a;
/**
 * Splits a stream of bytes into lines of text.
 *
 * An unfinished line is kept in one buffer that doubles when it is full, so that the cost of a line
 * is linear in its length, however small the chunks are.
 */
export class LineDecoder {
  /** Whether text can be sent unescaped; otherwise non-ASCII characters must be escaped. */
  readonly isUtf8: boolean;
  readonly #lenient: TextDecoder;
  readonly #strict: TextDecoder | undefined;
  readonly #ignore: boolean;
  readonly #limit: number;
  #buffer: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #length = 0;

  /**
   * @param limit the maximum bytes of a line
   * @throws {TypeError} when the encoding is unknown, or its line ends are not a single byte
   */
  constructor(
    { encoding, encoding_error_handler }: TextOptions,
    limit: number = DEFAULT_MESSAGE_BYTES,
  ) {
    this.#lenient = decoderOf(encoding);
    this.isUtf8 = this.#lenient.encoding === "utf-8";
    this.#strict = encoding_error_handler === "strict"
      ? new TextDecoder(this.#lenient.encoding, { fatal: true })
      : undefined;
    this.#ignore = encoding_error_handler === "ignore";
    this.#limit = limit;
  }

  /**
   * Decodes a chunk; returns the lines that it completes.
   *
   * @throws {MessageTooLargeError} when a line exceeds the limit; the decoder is unusable then
   */
  push(chunk: Uint8Array): Line[] {
    const lines: Line[] = [];
    let start = 0;
    let end: number;
    while ((end = chunk.indexOf(NEWLINE, start)) !== -1) {
      lines.push(this.#take(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) this.#keep(chunk.subarray(start));
    return lines;
  }

  /** Decodes the line that ends with the given bytes. */
  #take(last: Uint8Array): Line {
    if (this.#length === 0) {
      if (last.length > this.#limit) throw this.#tooLarge();
      return this.#decode(last);
    }
    this.#keep(last);
    const line = this.#decode(this.#buffer.subarray(0, this.#length));
    this.#drop();
    return line;
  }

  #keep(bytes: Uint8Array): void {
    const length = this.#length + bytes.length;
    if (length > this.#limit) throw this.#tooLarge();
    if (length > this.#buffer.length) {
      const size = Math.min(Math.max(length, 2 * this.#length), this.#limit);
      this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(size));
    }
    this.#buffer.set(bytes, this.#length);
    this.#length = length;
  }

  #tooLarge(): MessageTooLargeError {
    this.#drop();
    return new MessageTooLargeError(this.#limit);
  }

  /** Frees the buffer at once, since a large one should not wait for the garbage collector. */
  #drop(): void {
    this.#buffer = new Uint8Array(this.#buffer.buffer.transfer(0));
    this.#length = 0;
  }

  #decode(bytes: Uint8Array): Line {
    // Deno's strict decoder makes text of two bytes a character first: four times the memory.
    if (this.#strict && !(this.isUtf8 && isUtf8(bytes))) {
      try {
        return { text: this.#strict.decode(bytes), valid: true };
      } catch {
        return { text: this.#lenient.decode(bytes), valid: false };
      }
    }
    const text = this.#lenient.decode(bytes);
    return {
      text: this.#ignore ? text.replaceAll("\ufffd", "") : text,
      valid: true,
    };
  }
}

function decoderOf(label: string): TextDecoder {
  const bare = label.replaceAll(/[-_]/g, "");
  const decoder = [label, label.replaceAll("_", "-"), bare].map(tryDecoder)
    .find((found) => found !== undefined);
  if (decoder && !decoder.encoding.startsWith("utf-16")) return decoder;
  throw new TypeError(
    `Cannot read text in encoding ${
      JSON.stringify(label)
    }: expected a name such as "utf-8", "gbk" or "latin1"`,
  );
}

function tryDecoder(label: string): TextDecoder | undefined {
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}

/** Lines to process per turn of the event loop. */
const LINES_PER_TURN = 50;
/** Bytes to read per turn of the event loop. */
const BYTES_PER_TURN = 65_536;

/** The lines of a stream that are not processed yet. */
interface LineQueue {
  /**
   * Processes lines, or keeps them for the next turns.
   *
   * @param bytes the size of their chunk
   */
  push(lines: readonly Line[], bytes: number): void;
  /** Processes all remaining lines at once. */
  end(): void;
}

/**
 * Processes the lines of a stream a few per turn of the event loop, and pauses it meanwhile.
 *
 * Otherwise a child that writes without end would block this process: Deno keeps reading within
 * one turn for as long as there is data.
 */
export function lineQueue(
  stream: Readable,
  take: (line: Line) => void,
): LineQueue {
  let waiting: Line[] = [];
  /** Those of them that are processed. */
  let taken = 0;
  let read = 0;
  let turn: ReturnType<typeof setImmediate> | undefined;
  const run = () => {
    turn = undefined;
    const lines = waiting.slice(taken, taken + LINES_PER_TURN);
    taken += lines.length;
    const isDone = taken === waiting.length;
    if (isDone) {
      waiting = [];
      taken = 0;
    }
    lines.forEach(take);
    if (isDone && read < BYTES_PER_TURN) return void stream.resume();
    if (isDone) read = 0;
    stream.pause();
    turn = setImmediate(run);
  };
  return {
    push: (lines, bytes) => {
      for (const line of lines) waiting.push(line);
      read += bytes;
      if (turn === undefined) run();
    },
    end: () => {
      clearImmediate(turn);
      turn = undefined;
      const lines = waiting.slice(taken);
      waiting = [];
      taken = 0;
      lines.forEach(take);
    },
  };
}

/** Reads a stream a limited number of bytes per turn; see {@linkcode lineQueue}. */
export function readInTurns(
  stream: Readable,
  take: (chunk: Uint8Array) => void,
): void {
  let bytes = 0;
  stream.on("data", (chunk: Uint8Array) => {
    take(chunk);
    bytes += chunk.length;
    if (bytes < BYTES_PER_TURN) return;
    bytes = 0;
    stream.pause();
    setImmediate(() => stream.resume());
  });
}

/**
 * Parses the JSON-RPC message in a line from an MCP server.
 *
 * An invalid answer, or one of too many values, becomes an error answer if its request is known: that
 * call fails at once instead of at its timeout, and other calls continue.
 *
 * @throws {Error} when the line is not a message; does not quote the line, as it may contain secrets
 */
export function readMessage(line: Line, encoding: string): JSONRPCMessage {
  const { length } = line.text;
  const isTooMuch = length > MAX_MESSAGE_VALUES &&
    countValues(line.text, MAX_MESSAGE_VALUES) > MAX_MESSAGE_VALUES;
  if (isTooMuch) {
    return failed(line, outlineOf(line.text), `has ${TOO_MANY_VALUES}`);
  }
  const data = parseJson(line.text);
  if (line.valid && isPlainAnswer(data)) return data;
  const message = JSONRPCMessageSchema.safeParse(withValidMeta(data));
  if (message.success && line.valid) return message.data;
  const problem = line.valid
    ? "is not a JSON-RPC message"
    : `is not valid ${encoding}; set "encoding", or "encoding_error_handler" to "replace"`;
  return failed(line, data, problem);
}

/**
 * Returns an error in place of an answer.
 *
 * @throws {Error} when the line is no answer
 */
function failed(line: Line, data: unknown, problem: string): JSONRPCMessage {
  if (isRecord(data) && ("result" in data || "error" in data)) {
    const { id } = data;
    if (typeof id === "string" || typeof id === "number") {
      const message = `What the MCP server answered ${problem}`;
      return { jsonrpc: "2.0", id, error: { code: PARSE_ERROR, message } };
    }
  }
  throw new Error(
    `A line of ${line.text.length} characters on its output ${problem}`,
  );
}

/**
 * Returns whether data is certainly the answer to a request; a fast path of the MCP SDK's schema, whose
 * union of all messages takes longer than everything else that is done with an answer.
 */
const isPlainAnswer = (data: unknown): data is JSONRPCResultResponse =>
  isRecord(data) && data.jsonrpc === "2.0" && Number.isInteger(data.id) &&
  isRecord(data.result) && !Array.isArray(data.result) &&
  data.result._meta === undefined && Object.keys(data).length === 3;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Mends `_meta` of a result, such as null, for which the MCP SDK would reject the whole. */
function withValidMeta(data: unknown): unknown {
  if (!isRecord(data) || !isRecord(data.result)) return data;
  const result = mendMeta(data.result, () => {});
  return result === data.result ? data : { ...data, result };
}
