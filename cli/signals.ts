/**
 * The signals of commands, and the terminal whose end one of them reports.
 *
 * @module
 */
import { closeSync, openSync, readFileSync } from "node:fs";
import process from "node:process";
import { isatty } from "node:tty";

/** The signals that end a command, with their exit codes in a shell. */
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** A signal that ends a command. */
type EndSignal = keyof typeof EXIT_CODES;

/**
 * Resolves at the first signal with its name and exit code.
 *
 * A second signal ends the process at once, except SIGHUP: when a terminal is closed, both the system
 * and the shell send it. After `nohup` it is ignored, as it is without a handler.
 *
 * @param signals the signals to wait for; a closed terminal sends SIGHUP
 * @param exit ends the process at the second signal
 */
export function firstSignal(
  {
    signals = ["SIGHUP", "SIGINT", "SIGTERM"],
    exit = (code) => process.exit(code),
  }: { signals?: readonly EndSignal[]; exit?: (code: number) => void } = {},
): Promise<{ readonly name: EndSignal; readonly exitCode: number }> {
  const isIgnored = ignoresHangUp();
  return new Promise((resolve) => {
    let isEnding = false;
    for (const name of signals) {
      const exitCode = EXIT_CODES[name];
      process.on(name, () => {
        // Without a handler of its own Deno would end.
        if (isIgnored && name === "SIGHUP") return;
        if (isEnding && name !== "SIGHUP") exit(exitCode);
        isEnding = true;
        resolve({ name, exitCode });
      });
    }
  });
}

/** Checks whether this process was started without SIGHUP; only Linux shows it, and Node resets it. */
function ignoresHangUp(): boolean {
  try {
    const status = readFileSync("/proc/self/status", "utf8");
    const [, mask = "0"] = /^SigIgn:\s*([\da-f]+)/m.exec(status) ?? [];
    return (BigInt(`0x${mask}`) & 1n) === 1n;
  } catch {
    return false;
  }
}

/**
 * Makes Ctrl-C and SIGTERM end the process at once by `process.exit`: the default action would leave
 * the processes of MCP servers behind.
 */
export function exitAtOnce(): void {
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => process.exit(EXIT_CODES[name]));
  }
}

/** The terminal of a process, as it is when this is created. */
export class OwnTerminal {
  /** The descriptors of stdin, stdout and stderr that are terminals; none under a service, or after nohup. */
  readonly #descriptors = [0, 1, 2].filter(isatty);
  readonly #isControlling = hasTerminal() === true;

  /** Whether there was one, and it was closed since: a SIGHUP then comes of that. */
  get isGone(): boolean {
    if (this.#descriptors.length === 0) return false;
    return !this.#descriptors.some(isatty) ||
      this.#isControlling && hasTerminal() === false;
  }
}

/** Checks whether this process has a terminal; `undefined` where it may not look. */
function hasTerminal(): boolean | undefined {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch (error) {
    return Object(error).code === "ENXIO" ? false : undefined;
  }
}
