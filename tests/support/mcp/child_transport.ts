import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";

/** A program that is an MCP server. */
export interface ChildCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Told when it runs, with what sends it a signal. */
  readonly started?: (signal: (name: "SIGKILL" | "SIGTERM") => void) => void;
}

/**
 * MCP over stdio with a child process. Unlike those of the SDKs it waits until the child has ended by
 * itself, and leaves no timer behind.
 */
export class ChildTransport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #options: ChildCommand;
  #child: ChildProcessByStdio<Writable, Readable, null> | undefined;

  constructor(options: ChildCommand) {
    this.#options = options;
  }

  start(): Promise<void> {
    const { command, args, cwd, env, started } = this.#options;
    const child = this.#child = spawn(command, args, {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...Deno.env.toObject(), ...env },
      ...(cwd !== undefined && { cwd }),
    });
    createInterface(child.stdout).on("line", (line) => {
      this.onmessage?.(JSON.parse(line));
    });
    child.stdin.on("error", () => {}); // it was killed
    started?.((name) => child.kill(name));
    child.on("error", (error) => this.onerror?.(error));
    child.on("exit", () => this.onclose?.());
    return Promise.resolve();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const written = this.#child?.stdin.write(`${JSON.stringify(message)}\n`);
    if (written === false && this.#child) {
      await once(this.#child.stdin, "drain");
    }
  }

  /** Ends the child's stdin, which is how it knows that its client is gone. */
  async close(): Promise<void> {
    const child = this.#child;
    const hasEnded = child?.exitCode !== null || child.signalCode !== null;
    if (child === undefined || hasEnded) return;
    const ended = once(child, "close");
    child.stdin.end();
    await ended;
  }
}
