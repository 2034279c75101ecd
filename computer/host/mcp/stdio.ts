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
import {
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  spawn,
} from "node:child_process";
import { existsSync } from "node:fs";
import process from "node:process";
import type { MCPServerStdioParameters } from "../../../protocol/mod.ts";
import { inheritedVariables } from "../../util/secrets.ts";
import {
  DEFAULT_MESSAGE_BYTES,
  MessageTooLargeError,
  NEVER_STARTED,
} from "./errors.ts";
import { LineDecoder, lineQueue, readInTurns, readMessage } from "./lines.ts";
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

  /** How the child exited, such as `exited with code 1`; undefined while it runs. */
  end: string | undefined;
  /** Why a running child was ended. */
  fault: MessageTooLargeError | undefined;
  /** The number of lines on its output so far, messages or not. */
  answers = 0;
  readonly #parameters: MCPServerStdioParameters;
  readonly #limit: number;
  readonly #decoder: LineDecoder;
  readonly #stderr = new TextTail();
  #child: ChildProcess | undefined;
  /** Resolves when nothing of the child is left. */
  #ended = Promise.resolve();
  #closing = false;
  #replies = 0;
  /** Bytes that wait for the child to read; `writableLength` is always 0 on Bun. */
  #unwritten = 0;

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
    if (!child || this.#closing) return await this.#ended; // never started, exited, or ending
    this.#closing = true;
    child.stdin?.end();
    const after = (ms: number, signal: "SIGTERM" | "SIGKILL") =>
      setTimeout(() => signalGroup(child, signal), ms);
    const term = after(EXIT_GRACE_MS, "SIGTERM");
    const kill = after(2 * EXIT_GRACE_MS, "SIGKILL");
    await this.#ended;
    clearTimeout(term);
    clearTimeout(kill);
  }

  /** Takes the output of the child until it has exited; returns what gives it up at once. */
  #receive(
    child: ChildProcessWithoutNullStreams,
    guard: ProcessGuard,
  ): () => void {
    const { encoding } = this.#parameters;
    const ended = Promise.withResolvers<void>();
    this.#ended = ended.promise;
    const release = guardGroup(child);
    const streams = [child.stdin, child.stdout, child.stderr];
    const lines = lineQueue(child.stdout, (line) => {
      if (line.text.trim() === "") return;
      this.answers++;
      try {
        this.onmessage?.(readMessage(line, encoding));
      } catch (error) {
        this.onerror?.(error as Error);
      }
    });
    let drain: ReturnType<typeof setTimeout> | undefined;
    let drains = 0;
    const finish = () => {
      if (!this.#child) return;
      this.#child = undefined;
      lines.end();
      release();
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
      if (this.fault) return;
      if (drain !== undefined) finishSoon();
      try {
        lines.push(this.#decoder.push(chunk), chunk.length);
      } catch (error) {
        if (!(error instanceof MessageTooLargeError)) throw error;
        this.fault = error;
        child.stdout.destroy(); // output of other processes is no longer read
        signalGroup(child, "SIGKILL");
      }
    });
    readInTurns(child.stderr, (chunk) => this.#stderr.push(chunk));
    for (const stream of streams) {
      stream.on("error", (error) => this.onerror?.(error));
    }
    // `close` would wait for other processes that hold the output.
    child.once("exit", (code, signal) => {
      this.end = this.fault?.message ??
        (signal ? `was ended by ${signal}` : `exited with code ${code}`);
      signalGroup(child, "SIGKILL");
      void guard.end();
      child.stdout.once("close", finish);
      finishSoon();
    });
    return finish;
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
