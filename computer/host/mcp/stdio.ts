/**
 * The transport to an MCP server that is a child process: starting, sending, receiving, and ending
 * it with all that it started.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/client/stdio"
import { getDefaultEnvironment } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types";
import { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import type { MCPServerStdioParameters } from "../../../protocol/mod.ts";
import { inheritedVariables } from "../../util/secrets.ts";
import {
  DEFAULT_MESSAGE_BYTES,
  MessageTooLargeError,
  NEVER_STARTED,
} from "./errors.ts";
import {
  type Line,
  LineDecoder,
  LineQueue,
  readInTurns,
  readMessage,
} from "./lines.ts";
import {
  guardGroup,
  HAS_GROUPS,
  ProcessGuard,
  signalGroup,
  TextTail,
} from "../../util/processes.ts";

/** Time for a child to exit: after its input is closed, and again after SIGTERM. */
const EXIT_GRACE_MS = 500;
/** Silence after which the output of an exited child counts as complete. */
const DRAIN_QUIET_MS = 20;
/** How often new output may extend the draining; an escaped grandchild can write forever. */
const MAX_DRAINS = 25;

/** Maximum number of replies that a child has not read; it could ask without end and read nothing. */
const MAX_PENDING_REPLIES = 100;

/**
 * A transport to an MCP server that is a child process.
 *
 * Unlike the MCP SDK's transport it ends the child's whole process group, notices the child's exit
 * even while a grandchild holds its output, takes messages of any size, and decodes the configured
 * encoding (spec §4).
 */
export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;

  readonly #parameters: MCPServerStdioParameters;
  readonly #limit: number;
  readonly #decoder: LineDecoder;
  readonly #stderr = new TextTail();
  readonly #ended = Promise.withResolvers<void>();
  #child: ChildProcess | undefined;
  #guard: ProcessGuard | undefined;
  #finished: Promise<void> | undefined;
  #lines: LineQueue | undefined;
  #release: () => void = () => {};
  #closing = false;
  #drain: ReturnType<typeof setTimeout> | undefined;
  #drains = 0;
  #replies = 0;
  /** Bytes that wait for the child to read; `writableLength` is always 0 on Bun. */
  #unwritten = 0;
  #end: string | undefined;
  #fault: MessageTooLargeError | undefined;

  /**
   * @param limit the maximum bytes of a line of its output, and of input that it has not read
   * @throws {TypeError} for an unknown encoding
   */
  constructor(
    parameters: MCPServerStdioParameters,
    limit: number = DEFAULT_MESSAGE_BYTES,
  ) {
    this.#parameters = parameters;
    this.#limit = limit;
    this.#decoder = new LineDecoder(parameters, limit);
  }

  /** How the child exited, such as `exited with code 1`; undefined while it runs. */
  get end(): string | undefined {
    return this.#end;
  }

  /** Why a running child was ended. */
  get fault(): Error | undefined {
    return this.#fault;
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
    const guard = new ProcessGuard();
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
    this.#guard = guard;
    this.#child = child;
    this.#release = guardGroup(child);
    const lines = new LineQueue(child.stdout, (line) => this.#receive(line));
    this.#lines = lines;
    child.stdout.on("data", (chunk) => this.#read(chunk, lines));
    readInTurns(child.stderr, (chunk) => this.#stderr.push(chunk));
    for (const stream of [child.stdin, child.stdout, child.stderr]) {
      stream.on("error", (error) => this.onerror?.(error));
    }
    // `close` would wait for other processes that hold the output.
    child.once("exit", (code, signal) => {
      this.#end = this.#fault?.message ??
        (signal ? `was ended by ${signal}` : `exited with code ${code}`);
      signalGroup(child, "SIGKILL");
      void guard.end();
      child.stdout.once("close", () => this.#finish());
      this.#scheduleFinish();
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (error) => {
        this.#end = NEVER_STARTED;
        this.#finish();
        reject(explain(command, error));
      });
    });
  }

  /** Sends one message; resolves when it is written to the pipe. */
  send(message: JSONRPCMessage): Promise<void> {
    const json = JSON.stringify(message);
    const text = this.#decoder.isUtf8 ? json : escapeNonAscii(json);
    return new Promise((resolve, reject) => {
      const stdin = this.#child?.stdin;
      if (!stdin?.writable) {
        return reject(new Error(`The MCP server ${this.#end ?? "is closing"}`));
      }
      const isReply = !("method" in message);
      if (
        this.#unwritten > this.#limit ||
        isReply && this.#replies >= MAX_PENDING_REPLIES
      ) {
        return reject(new Error("The MCP server does not read its input"));
      }
      const line = Buffer.from(`${text}\n`);
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

  /** Ends the child and its process group: closes its input, then SIGTERM, then SIGKILL. */
  async close(): Promise<void> {
    const child = this.#child;
    if (!child) return await this.#finished; // never started, or exited
    if (this.#closing) return this.#ended.promise;
    this.#closing = true;
    child.stdin?.end();
    const term = setTimeout(() => signalGroup(child, "SIGTERM"), EXIT_GRACE_MS);
    const kill = setTimeout(
      () => signalGroup(child, "SIGKILL"),
      2 * EXIT_GRACE_MS,
    );
    await this.#ended.promise;
    clearTimeout(term);
    clearTimeout(kill);
  }

  #read(chunk: Uint8Array, lines: LineQueue): void {
    if (this.#fault) return;
    if (this.#drain !== undefined) this.#scheduleFinish();
    try {
      lines.push(this.#decoder.push(chunk), chunk.length);
    } catch (error) {
      if (!(error instanceof MessageTooLargeError)) throw error;
      this.#fault = error;
      const child = this.#child;
      if (!child) return;
      child.stdout?.destroy(); // output of other processes is no longer read
      signalGroup(child, "SIGKILL");
    }
  }

  #receive(line: Line): void {
    if (line.text.trim() === "") return;
    try {
      const { encoding } = this.#parameters;
      this.onmessage?.(readMessage(line, encoding));
    } catch (error) {
      this.onerror?.(error as Error);
    }
  }

  #scheduleFinish(): void {
    if (this.#drains++ > MAX_DRAINS) return;
    clearTimeout(this.#drain);
    this.#drain = setTimeout(() => this.#finish(), DRAIN_QUIET_MS);
  }

  #finish(): void {
    const child = this.#child;
    if (!child) return;
    this.#child = undefined;
    this.#lines?.end();
    this.#release();
    clearTimeout(this.#drain);
    child.stdin?.destroy();
    child.stdout?.destroy();
    child.stderr?.destroy();
    // Only then: the next start may need a port that a remaining process holds.
    this.#finished = this.#guard?.end().then(() => {
      this.#ended.resolve();
      this.onclose?.();
    });
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
