/**
 * The transport to an MCP server that is a child process: starting, sending, receiving, and ending
 * it with all that it started.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import type {
  JSONRPCMessage,
  RequestId,
} from "@modelcontextprotocol/sdk/types";
import { Buffer } from "node:buffer";
import {
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  spawn,
} from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import type { MCPServerStdioParameters } from "../../../protocol/mod.ts";
import { release } from "../../../shared/bytes.ts";
import { envelopeOf } from "../../../shared/json/envelope.ts";
import {
  type Line,
  LineDecoder,
  type LongLine,
} from "../../../shared/line_decoder.ts";
import { TextTail } from "../../util/diagnostics.ts";
import {
  EXIT_GRACE_MS,
  HAS_GROUPS,
  ProcessGuard,
} from "../../util/processes.ts";
import { inheritedVariables } from "../../util/secrets.ts";
import {
  DEFAULT_MESSAGE_BYTES,
  INVALID_REQUEST,
  MessageTooLargeError,
  NEVER_STARTED,
  tooManyBytes,
} from "./errors.ts";
import { errorAnswer, lineQueue, readInTurns, readMessage } from "./lines.ts";

/** Silence after which the output of an exited child counts as complete. */
const DRAIN_QUIET_MS = 20;
/** How often new output may extend the draining; an escaped grandchild can write forever. */
const MAX_DRAINS = 25;

/** Maximum number of replies that a child has not read; it could ask without end and read nothing. */
const MAX_PENDING_REPLIES = 100;

/** Options of a {@linkcode StdioTransport}. */
interface StdioOptions {
  /** The maximum bytes of a line of the child's output, and of input that it has not read; default 64 MiB. */
  readonly limit?: number | undefined;
  /** Time to exit: after the child's input is closed, and again after SIGTERM; default 2 s. */
  readonly exitGraceMs?: number | undefined;
  /** Takes a sentence about a message that is skipped. */
  readonly warn?: (text: string) => void;
  /** Takes what it printed in place of an answer, to end a sentence. */
  readonly silent?: (printed: string) => void;
  /** Hides secrets in what it printed, before it is cut. */
  readonly hide?: (text: string) => string;
}

/**
 * A transport to an MCP server that is a child process.
 *
 * Unlike the MCP SDK's transport it ends all processes of the child, notices the child's exit even
 * while a grandchild holds its output, takes messages of any size up to a limit, of which one above
 * it costs only its request, and decodes the configured encoding (protocol §4).
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  /** How the child exited, such as `exited with code 1`; undefined while it runs. */
  end: string | undefined;
  /** Why a running child was ended. */
  fault: MessageTooLargeError | undefined;
  /** The number of lines on its output so far, messages or not. */
  answers = 0;
  /** Its output that is no message. */
  readonly stray: StrayOutput;
  readonly #parameters: MCPServerStdioParameters;
  readonly #options: StdioOptions;
  readonly #limit: number;
  readonly #graceMs: number;
  readonly #decoder: LineDecoder;
  readonly #stderr = new TextTail();
  /** The requests that the child has not answered. */
  readonly #pending = new Set<RequestId>();
  #child: ChildProcess | undefined;
  #guard: ProcessGuard | undefined;
  /** Resolves when nothing of the child is left. */
  #ended = Promise.resolve();
  #closing = false;
  #replies = 0;
  /** Bytes that wait for the child to read; `writableLength` is always 0 on Bun. */
  #unwritten = 0;

  /** @throws {TypeError} for an unknown encoding */
  constructor(
    parameters: MCPServerStdioParameters,
    options: StdioOptions = {},
  ) {
    this.#parameters = parameters;
    this.#options = options;
    this.#limit = options.limit ?? DEFAULT_MESSAGE_BYTES;
    this.#graceMs = options.exitGraceMs ?? EXIT_GRACE_MS;
    this.#decoder = new LineDecoder(parameters, this.#limit);
    this.stray = new StrayOutput(options.hide);
  }

  /** The last lines of its stderr; may contain secrets, so never sent to Agents. */
  get diagnostics(): string {
    return this.#stderr.toString();
  }

  /**
   * Starts the child.
   *
   * @throws {Error} that names the missing program or directory
   */
  async start(): Promise<void> {
    const { command, args, env, cwd, inherit_env } = this.#parameters;
    if (cwd !== null && !existsSync(cwd)) {
      throw new Error(
        `Cannot start "${command}": there is no directory ${cwd}`,
      );
    }
    const guard = new ProcessGuard(this.#graceMs);
    this.#guard = guard;
    const child = guard.start(() =>
      spawn(command, args, {
        env: {
          ...getDefaultEnvironment(),
          ...(inherit_env !== false && inheritedVariables(process.env)),
          ...env,
          ...guard.environment,
        },
        ...(cwd !== null && { cwd }),
        stdio: ["pipe", "pipe", "pipe"],
        detached: HAS_GROUPS,
        windowsHide: true,
      })
    );
    this.#child = child;
    const finish = this.#receive(child, guard);
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => {
        this.end = NEVER_STARTED;
        finish();
        reject(explain(command, error));
      });
    });
  }

  /** Returns a function that quotes what the child printed since then in place of messages, to end a sentence. */
  readonly watchOutput = (): () => string => {
    const { count } = this.stray;
    return () => {
      const printed = this.stray.quote(count);
      if (printed !== "") this.#options.silent?.(printed);
      return printed;
    };
  };

  /** Sends one message; resolves when it is written to the pipe. */
  send(message: JSONRPCMessage): Promise<void> {
    const json = JSON.stringify(message);
    const text = this.#decoder.isUtf8 ? json : escapeNonAscii(json);
    return new Promise((resolve, reject) => {
      const stdin = this.#child?.stdin;
      if (!stdin?.writable) {
        return reject(new Error(`The MCP server ${this.end ?? "is closing"}`));
      }
      const isReply = !("method" in message);
      if (
        this.#unwritten > this.#limit ||
        isReply && this.#replies >= MAX_PENDING_REPLIES
      ) {
        return reject(new Error("The MCP server does not read its input"));
      }
      const line = Buffer.from(`${text}\n`);
      this.#follow(message);
      this.#unwritten += line.length;
      if (isReply) this.#replies++;
      stdin.write(line, (error) => {
        this.#unwritten -= line.length;
        if (isReply) this.#replies--;
        if (error) reject(error);
        else resolve();
      });
    });
  }

  /** Keeps account of the requests without an answer. */
  #follow(message: JSONRPCMessage): void {
    if (!("method" in message)) return;
    if ("id" in message) this.#pending.add(message.id);
    else if (message.method === "notifications/cancelled") {
      this.#pending.delete(message.params?.requestId as RequestId);
    }
  }

  /** Ends the child and all that it started: closes its input, then SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const child = this.#child;
    if (!child || this.#closing) return await this.#ended; // never started, exited, or ending
    this.#closing = true;
    child.stdin?.end();
    const timer = setTimeout(() => void this.#guard?.end(), this.#graceMs);
    await this.#ended;
    clearTimeout(timer);
  }

  /** Takes the output of the child until it has exited; returns a function that stops it immediately. */
  #receive(
    child: ChildProcessWithoutNullStreams,
    guard: ProcessGuard,
  ): () => void {
    const ended = Promise.withResolvers<void>();
    this.#ended = ended.promise;
    const streams = [child.stdin, child.stdout, child.stderr];
    const lines = lineQueue(child.stdout, this.#take);
    let drain: ReturnType<typeof setTimeout> | undefined;
    let drains = 0;
    const finish = () => {
      if (!this.#child) return;
      this.#child = undefined;
      lines.end();
      clearTimeout(drain);
      for (const stream of streams) stream.destroy();
      // Only then: the next start may need a port that a remaining process holds.
      void guard.end().then(() => {
        ended.resolve();
        this.onclose?.();
      });
    };
    const finishSoon = () => {
      if (drains++ > MAX_DRAINS) return;
      clearTimeout(drain);
      drain = setTimeout(finish, DRAIN_QUIET_MS);
    };
    child.stdout.on("data", (chunk: Uint8Array) => {
      if (drain !== undefined) finishSoon();
      const { length } = chunk;
      const found = this.#decoder.push(chunk);
      // The garbage collector lets hundreds of megabytes of them wait.
      if (this.#decoder.isSkipping) release(chunk);
      lines.push(found, length);
    });
    readInTurns(child.stderr, (chunk) => this.#stderr.push(chunk));
    for (const stream of streams) {
      stream.on("error", (error) => this.onerror?.(error));
    }
    // `close` would wait for other processes that hold the output.
    child.once("exit", (code, signal) => {
      this.end = this.fault?.message ??
        (signal ? `was ended by ${signal}` : `exited with code ${code}`);
      void guard.end();
      child.stdout.once("close", finish);
      finishSoon();
    });
    return finish;
  }

  /** Takes a line of the child's output. */
  readonly #take = (line: Line | LongLine): void => {
    if ("text" in line && line.text.trim() === "") return;
    this.answers++;
    if (!("text" in line)) return this.#skip(line);
    try {
      const message = readMessage(line, this.#parameters.encoding);
      if (!("method" in message) && message.id !== undefined) {
        this.#pending.delete(message.id);
      }
      this.onmessage?.(message);
    } catch (error) {
      this.stray.push(line.text);
      this.onerror?.(error as Error);
    }
  };

  /** Fails the request whose answer a line above the limit is, or all if it may be that of any. */
  #skip({ head, tail, bytes, ended }: LongLine): void {
    if (!ended) {
      this.fault = new MessageTooLargeError(this.#limit);
      this.#child?.stdout?.destroy();
      return void this.#guard?.end();
    }
    const { isJson, id, method } = envelopeOf(head, tail);
    const problem = `has ${tooManyBytes(this.#limit)}`;
    const what = method ?? (isJson ? "an answer" : "a line");
    this.#options.warn?.(`${what} of ${bytes} bytes is skipped: it ${problem}`);
    if (method !== undefined) {
      if (id === undefined) return;
      const error = { code: INVALID_REQUEST, message: `It ${problem}` };
      this.send({ jsonrpc: "2.0", id, error }).catch(() => {
        // It has exited, or does not read.
      });
      return;
    }
    const any = isJson ? [...this.#pending] : [];
    const failed = id === undefined ? any : any.filter((each) => each === id);
    for (const id of failed) {
      this.#pending.delete(id);
      this.onmessage?.(errorAnswer(id, problem));
    }
  }
}

function explain(command: string, error: Error & { code?: string }): Error {
  const [program = "", ...rest] = command.trim().split(/\s+/);
  const isLine = rest.length > 0 && !/[\\/]/.test(program);
  return new Error(
    error.code === "ENOENT" && isLine
      ? `Cannot start "${command}": there is no such program; write "command": "${program}", and the rest in "args"`
      : error.code === "ENOENT"
      ? `Cannot start "${command}": there is no such program; install it, or give its full path`
      : `Cannot start "${command}": ${error.message}`,
    { cause: error },
  );
}

const escapeNonAscii = (json: string): string =>
  json.replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** How many lines are kept, and characters of each: more than an error quotes. */
const MAX_LINES = 20;
const MAX_LINE = 1_000;
/** Characters that an error quotes. */
const MAX_QUOTED = 200;

/**
 * The last output of a child process that is no message: often it is the answer that
 * is missing elsewhere.
 */
export class StrayOutput {
  readonly #hide: (text: string) => string;
  readonly #lines: string[] = [];
  /** The number of lines so far. */
  count = 0;

  /** @param hide hides secrets in a text, before it is cut */
  constructor(hide = (text: string) => text) {
    this.#hide = hide;
  }

  /** Keeps a line. */
  push(line: string): void {
    this.count++;
    this.#lines.push(line.slice(0, MAX_LINE));
    if (this.#lines.length > MAX_LINES) this.#lines.shift();
  }

  /** Quotes the lines after the first n, to end a sentence about the child; empty if there are none. */
  quote(first = 0): string {
    const dropped = this.count - this.#lines.length;
    const lines = this.#lines.slice(Math.max(0, first - dropped));
    if (lines.length === 0) return "";
    const all = this.#hide(lines.join("\n")).trim();
    const shown = all.length > MAX_QUOTED
      ? `${all.slice(0, MAX_QUOTED)}…`
      : all;
    return `; on its output, which is for messages of MCP alone, it printed ${
      JSON.stringify(shown)
    }`;
  }
}
