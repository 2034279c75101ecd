import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { ProcessGuard } from "../../util/process_guard.ts";
import { HAS_GROUPS, signalGroup } from "../../util/process_group.ts";
import { TextTail } from "../../util/text_tail.ts";
import type { CommandLine } from "../command_line.ts";

/** Bytes of output that a value may have. */
const LONGEST = 1_048_576;

/**
 * Runs a command and resolves to what it prints, without white space around it.
 *
 * It gets this process's environment, since it is the user's own, and no input. It may leave
 * others behind that hold its output: all of them end with it.
 *
 * @param signal ends the command and everything that it started
 * @throws {Error} with the last lines of its stderr when it fails, or prints nothing or too much;
 * the signal's reason when that ended it
 */
export async function commandOutput(
  command: CommandLine,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted();
  const guard = new ProcessGuard();
  const child = guard.start(() => start(command, guard.environment));
  const chunks: Uint8Array[] = [];
  const diagnostics = new TextTail();
  let length = 0;
  child.stdout?.on("data", (chunk: Uint8Array) => {
    length += chunk.length;
    if (length > LONGEST) signalGroup(child, "SIGKILL");
    else chunks.push(chunk);
  });
  child.stderr?.on("data", (chunk: Uint8Array) => diagnostics.push(chunk));
  const onAbort = () => {
    signalGroup(child, "SIGKILL");
    child.stdout?.destroy(); // somebody outside of the group may hold them
    child.stderr?.destroy();
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const how = await ended(child);
    signal.throwIfAborted();
    if (length > LONGEST) {
      throw new Error(`it printed more than ${LONGEST} bytes`);
    }
    if (how !== undefined) {
      throw new Error([how, diagnostics.toString()].filter(Boolean).join("\n"));
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    await guard.end();
  }
  const text = new TextDecoder().decode(concat(chunks, length)).trim();
  if (text !== "") return text;
  throw new Error(
    ["it printed nothing", diagnostics.toString()].filter(Boolean).join("\n"),
  );
}

function start(
  command: CommandLine,
  mark: Readonly<Record<string, string>>,
): ChildProcess {
  const options = {
    env: { ...process.env, ...mark },
    stdio: ["ignore", "pipe", "pipe"] as ["ignore", "pipe", "pipe"],
    detached: HAS_GROUPS,
    windowsHide: true,
  };
  return command.kind === "shell"
    ? spawn(command.line, { ...options, shell: true })
    : spawn(command.program, [...command.args], options);
}

/** Resolves to what went wrong, or to nothing. */
function ended(child: ChildProcess): Promise<string | undefined> {
  return new Promise((resolve) => {
    child.once("error", (error: Error & { code?: string }) =>
      resolve(
        error.code === "ENOENT"
          ? `there is no program "${child.spawnfile}"; a line for the shell has no "args"`
          : error.message,
      ));
    child.once("exit", () => signalGroup(child, "SIGKILL"));
    child.once("close", (code, by) => {
      resolve(
        by
          ? `it was ended by ${by}`
          : code === 0
          ? undefined
          : `it exited with code ${code}`,
      );
    });
  });
}

function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
