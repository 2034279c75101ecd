import process from "node:process";

/** The signals that end a command, with their exit codes in a shell. */
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** A signal that ends a command. */
type EndSignal = keyof typeof EXIT_CODES;

/**
 * Resolves at the first signal with its name and exit code.
 *
 * A second signal ends the process at once, except SIGHUP: when a terminal is closed, both the system
 * and the shell send it.
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
  return new Promise((resolve) => {
    let isEnding = false;
    for (const name of signals) {
      const exitCode = EXIT_CODES[name];
      process.on(name, () => {
        if (isEnding && name !== "SIGHUP") exit(exitCode);
        isEnding = true;
        resolve({ name, exitCode });
      });
    }
  });
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
