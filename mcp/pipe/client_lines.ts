import type { Readable, Writable } from "node:stream";
import {
  INVALID_REQUEST,
  type JSONRPCMessage,
  PARSE_ERROR,
  parseJSONRPCMessage,
  type RequestId,
  STDIO_DEFAULT_MAX_BUFFER_SIZE,
} from "@modelcontextprotocol/client";
import { MAX_BATCH } from "../http/body.ts";
import { envelopeOf } from "../../shared/json/envelope.ts";
import {
  type Line,
  LineDecoder,
  type LongLine,
} from "../../shared/line_decoder.ts";

/** A line of a client that is no message. */
export interface BadLine {
  /** What is wrong with it, in one line. */
  readonly problem: string;
  /** The answer to it. */
  readonly answer: JSONRPCMessage;
}

/** Takes what a client sends. */
interface ClientListener {
  /** Takes a message. */
  onMessage(message: JSONRPCMessage): void;
  /** Takes a line that is no message. */
  onBadLine(line: BadLine): void;
  /** Called once, when the client sends no more. */
  onEnd(): void;
  /** Called once, when the client reads no more. */
  onGone(): void;
}

/** The maximum bytes of a line, as other programs with MCP over stdio have it. */
const MAX_LINE_BYTES = STDIO_DEFAULT_MAX_BUFFER_SIZE;
const LINE_END = new TextEncoder().encode("\n");

/**
 * The messages of a client, a line each, over two streams.
 *
 * Unlike the transport of the MCP SDK it answers lines that are no messages, and can still answer
 * when the client sends no more.
 */
export class ClientLines {
  readonly #stdin: Readable;
  readonly #stdout: Writable;
  readonly #listener: ClientListener;
  readonly #decoder = new LineDecoder(
    { encoding: "utf-8", encoding_error_handler: "replace" },
    MAX_LINE_BYTES,
  );
  #written = Promise.resolve();
  #isGone = false;
  #hasEnded = false;

  /** Begins to read. */
  constructor(stdin: Readable, stdout: Writable, listener: ClientListener) {
    this.#stdin = stdin;
    this.#stdout = stdout;
    this.#listener = listener;
    stdout.on("error", this.#gone);
    stdin.on("data", this.#read);
    for (const event of ["end", "close", "error"]) stdin.on(event, this.#end);
    if (stdin.readableEnded || stdin.destroyed) setImmediate(this.#end);
  }

  /** Writes a message. */
  send(message: JSONRPCMessage): void {
    if (this.#isGone) return;
    this.#written = new Promise((resolve) => {
      this.#stdout.write(`${JSON.stringify(message)}\n`, () => resolve());
    });
  }

  /** Reads no more; resolves when everything is written, or the client has gone. */
  async close(): Promise<void> {
    this.#hasEnded = true;
    this.#stdin.off("data", this.#read);
    this.#stdin.pause();
    if (!this.#isGone) await this.#written;
  }

  readonly #read = (chunk: Uint8Array): void => {
    for (const line of this.#decoder.push(chunk)) this.#take(line);
  };

  readonly #end = (): void => {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#read(LINE_END); // the last line may have none
    this.#listener.onEnd();
  };

  readonly #gone = (): void => {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#listener.onGone();
  };

  #take(line: Line | LongLine): void {
    if ("text" in line && line.text.trim() === "") return;
    const all = "text" in line ? readLine(line.text) : [refuseLong(line)];
    for (const read of all) {
      if ("answer" in read) this.#listener.onBadLine(read);
      else this.#listener.onMessage(read);
    }
  }
}

/** Reads the message of a line, or those of a batch (MCP 2025-03-26), each of which is answered alone. */
function readLine(text: string): (JSONRPCMessage | BadLine)[] {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return [badLine(PARSE_ERROR, null, "is not JSON")];
  }
  if (!Array.isArray(data) || data.length === 0) return [readMessage(data)];
  if (data.length <= MAX_BATCH) return data.map(readMessage);
  const what =
    `has too many messages: ${data.length}, and at most ${MAX_BATCH} are allowed`;
  return [badLine(INVALID_REQUEST, null, what)];
}

function readMessage(data: unknown): JSONRPCMessage | BadLine {
  try {
    return parseJSONRPCMessage(data);
  } catch {
    return badLine(
      INVALID_REQUEST,
      requestIdIn(data),
      'is no message of JSON-RPC: expected an object with "jsonrpc": "2.0" and a "method", "result" or "error"',
    );
  }
}

function refuseLong({ head, tail }: LongLine): BadLine {
  const problem = `is longer than ${MAX_LINE_BYTES} bytes`;
  const envelope = envelopeOf(head, tail);
  const isRequest = envelope.method !== undefined;
  const id = isRequest ? requestIdIn(envelope) : null;
  return badLine(INVALID_REQUEST, id, problem);
}

/** Finds the id of a request; that of an answer of the client is one of the Server's ids. */
function requestIdIn(data: unknown): RequestId | null {
  const { id, result, error } = Object(data);
  if (result !== undefined || error !== undefined) return null;
  return typeof id === "string" || Number.isInteger(id) ? id : null;
}

function badLine(code: number, id: RequestId | null, what: string): BadLine {
  const problem = `a line of the client ${what}`;
  const error = { code, message: `Cannot use the message: it ${what}` };
  // JSON-RPC has `null` where the id is not known; the type of MCP leaves it out.
  const answer = { jsonrpc: "2.0", id, error } as JSONRPCMessage;
  return { problem, answer };
}
