import { onAbort } from "../../shared/async.ts";
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { TextTail } from "../util/diagnostics.ts";
import { HAS_GROUPS, ProcessGuard, signalGroup } from "../util/processes.ts";
import type { MCPServerCommandInput } from "../../protocol/mod.ts";
import { Buffer } from "node:buffer";

const MAX_OUTPUT_BYTES = 1_048_576;

/**
 * Runs a command and resolves to its trimmed output.
 *
 * The command gets this process's environment, since the user wrote it, and no input. Processes
 * that it leaves running are killed when it exits.
 *
 * @param signal ends the command and everything that it started
 * @throws {Error} with the last lines of its stderr when it fails or prints nothing or too much;
 * the signal's reason on abort
 */
export async function commandOutput(
  { command, args }: CommandLine,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const guard = new ProcessGuard();
  const child = guard.start(() =>
    spawn(command, [...args ?? []], {
      env: { ...process.env, ...guard.environment },
      stdio: ["ignore", "pipe", "pipe"],
      detached: HAS_GROUPS,
      windowsHide: true,
      shell: args === undefined,
    })
  );
  const chunks: Uint8Array[] = [];
  const diagnostics = new TextTail();
  const failed = (reason: string) =>
    new Error([reason, diagnostics.toString()].filter(Boolean).join("\n"));
  let length = 0;
  child.stdout?.on("data", (chunk: Uint8Array) => {
    length += chunk.length;
    if (length > MAX_OUTPUT_BYTES) signalGroup(child, "SIGKILL");
    else chunks.push(chunk);
  });
  child.stderr?.on("data", (chunk: Uint8Array) => diagnostics.push(chunk));
  const off = onAbort(signal, () => {
    signalGroup(child, "SIGKILL");
    child.stdout?.destroy(); // a process outside the group may hold them open
    child.stderr?.destroy();
  });
  try {
    const failure = await ended(child);
    signal.throwIfAborted();
    if (length > MAX_OUTPUT_BYTES) {
      throw new Error(`it printed more than ${MAX_OUTPUT_BYTES} bytes`);
    }
    if (failure !== undefined) throw failed(failure);
  } finally {
    off();
    await guard.end();
  }
  const text = Buffer.concat(chunks).toString().trim();
  if (text !== "") return text;
  throw failed("it printed nothing");
}

/** Resolves to a description of the failure, or to undefined on success. */
function ended(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.once("error", (error: Error & { code?: string }) =>
      resolve(
        error.code === "ENOENT"
          ? `there is no program "${child.spawnfile}"; a shell command line takes no "args"`
          : error.message,
      ));
    child.once("exit", () => signalGroup(child, "SIGKILL"));
    child.once("close", (code, by) => {
      if (by) resolve(`it was killed by ${by}`);
      else resolve(code === 0 ? undefined : `it exited with code ${code}`);
    });
  });
}

/** A program, looked up in `PATH`, with its arguments; without them, a shell command line. */
interface CommandLine {
  readonly command: string;
  readonly args?: readonly string[];
}

/**
 * Determines what an input of type `command` runs (protocol §4).
 *
 * Without `args` the command is a shell command line, as in the Python SDK; with a list, a program
 * and its arguments. A map stands for options: `{"field": "token"}` is `--field token`, a name of
 * one letter gets one dash, and a name with leading dashes keeps them.
 */
export function commandLine(
  { command, args }: Pick<MCPServerCommandInput, "command" | "args">,
): CommandLine {
  if (Array.isArray(args)) return { command, args };
  const options = Object.entries(args ?? {});
  if (options.length === 0) return { command };
  return {
    command,
    args: options.flatMap(([name, value]) => [optionFlag(name), value]),
  };
}

function optionFlag(name: string): string {
  if (name.startsWith("-")) return name;
  return name.length === 1 ? `-${name}` : `--${name}`;
}
