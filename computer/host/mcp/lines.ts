/**
 * Messages from a child process: a few of its lines are processed per turn of the event loop, and
 * each becomes a message.
 *
 * @module
 */
import type { Readable } from "node:stream";
// @ts-types="@modelcontextprotocol/sdk/types"
import {
  type JSONRPCMessage,
  JSONRPCMessageSchema,
  type JSONRPCResultResponse,
  type RequestId,
} from "@modelcontextprotocol/sdk/types.js";
import { MAX_MESSAGE_VALUES, PARSE_ERROR, TOO_MANY_VALUES } from "./errors.ts";
import { mendMeta } from "../../../protocol/mcp/mend.ts";
import { isRecord } from "../../../protocol/names.ts";
import { OBJECT } from "../../../shared/json/characters.ts";
import { type Envelope, envelopeOf } from "../../../shared/json/envelope.ts";
import { outlineOf } from "../../../shared/json/outline.ts";
import { countValues } from "../../../shared/json/values.ts";
import { keepWritten } from "../../../shared/json/written.ts";
import type { Line, LongLine } from "../../../shared/line_decoder.ts";

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
  push(lines: readonly (Line | LongLine)[], bytes: number): void;
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
  take: (line: Line | LongLine) => void,
): LineQueue {
  let waiting: (Line | LongLine)[] = [];
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
 * An invalid answer, also one that is no JSON, or one of too many values becomes an error answer if its request
 * is known: that call fails immediately instead of at its timeout, and other calls continue.
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
  let data: unknown;
  try {
    data = JSON.parse(line.text);
  } catch {
    // it stays undefined, as no JSON is
  }
  if (line.valid && isPlainAnswer(data)) {
    keepResult(data, line);
    return data;
  }
  const message = JSONRPCMessageSchema.safeParse(withValidMeta(data));
  if (message.success && line.valid) return message.data;
  const problem = line.valid
    ? `is not ${data === undefined ? "JSON" : "a JSON-RPC message"}`
    : `is not valid ${encoding}; set "encoding", or "encoding_error_handler" to "replace"`;
  return failed(line, data ?? readEnds(line.text), problem);
}

/** What is before and behind the result, where an answer has nothing but its three members. */
const BEFORE =
  /^\{\s*(?:"(?:jsonrpc|id)"\s*:\s*(?:"2\.0"|\d+)\s*,\s*){0,2}"result"\s*:\s*(?=\{)/;
const BEHIND =
  /(?<=\})(?:\s*,\s*"(?:jsonrpc|id)"\s*:\s*(?:"2\.0"|\d+)){0,2}\s*\}\s*$/;
/** Characters in which they are searched for. */
const MAX_AROUND = 200;

/** Keeps the text that the result of an answer was parsed from, which is sent on as it is where nothing changes it. */
function keepResult(
  { result }: JSONRPCResultResponse,
  { text, bytes }: Line,
): void {
  if (bytes?.[0] !== OBJECT) return; // in place of it may be a byte order mark
  const before = BEFORE.exec(text.slice(0, MAX_AROUND))?.[0].length;
  const behind = BEHIND.exec(text.slice(-MAX_AROUND))?.[0].length;
  if (before === undefined || behind === undefined) return;
  keepWritten(
    result,
    bytes.subarray(before, bytes.length - behind),
    (most) => countValues(text, most + VALUES_AROUND) - VALUES_AROUND,
  );
}

/** The values of an answer beside those of its result: three members. */
const VALUES_AROUND = 6;

/** Characters at each end of a line that is no JSON in which its id is searched for. */
const MAX_END = 4_096;

/** Reads what the ends of a line show that is no JSON, such as one with NaN or two objects. */
function readEnds(text: string): Envelope & { jsonrpc?: string } {
  const head = text.slice(0, MAX_END);
  const tail = text.slice(-MAX_END);
  const isMessage = /"jsonrpc"\s*:\s*"2\.0"/.test(head + tail);
  return {
    ...envelopeOf(head, tail),
    ...(isMessage && { jsonrpc: "2.0" }),
  };
}

/**
 * Returns an error in place of an answer.
 *
 * @throws {Error} when the line is no answer
 */
function failed(line: Line, data: unknown, problem: string): JSONRPCMessage {
  const isAnswer = isRecord(data) &&
    ("result" in data || "error" in data ||
      data.jsonrpc === "2.0" && !("method" in data));
  if (isAnswer) {
    const { id } = data;
    if (typeof id === "string" || typeof id === "number") {
      return errorAnswer(id, problem);
    }
  }
  throw new Error(
    `A line of ${line.text.length} characters on its output ${problem}`,
  );
}

/** Returns an error in place of the answer to a request. */
export const errorAnswer = (
  id: RequestId,
  problem: string,
): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  error: {
    code: PARSE_ERROR,
    message: `What the MCP server answered ${problem}`,
  },
});

/**
 * Returns whether data is certainly the answer to a request; a fast path of the MCP SDK's schema, whose
 * union of all messages takes longer than everything else that is done with an answer.
 */
const isPlainAnswer = (data: unknown): data is JSONRPCResultResponse =>
  isRecord(data) && data.jsonrpc === "2.0" && Number.isInteger(data.id) &&
  isRecord(data.result) &&
  data.result._meta === undefined && Object.keys(data).length === 3;

/** Mends `_meta` of a result, such as null, for which the MCP SDK would reject the whole. */
function withValidMeta(data: unknown): unknown {
  if (!isRecord(data) || !isRecord(data.result)) return data;
  const result = mendMeta(data.result, () => {});
  return result === data.result ? data : { ...data, result };
}
