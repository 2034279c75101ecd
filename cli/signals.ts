import process from "node:process";

/** The signals that end a command, with the exit codes that stand for them in a shell. */
const EXIT_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;

/** A signal that ends a command. */
export type EndSignal = keyof typeof EXIT_CODES;

/** Options for {@linkcode firstSignal}. */
export interface FirstSignalOptions {
  /** Those that are waited for; default all. A closed terminal sends SIGHUP. */
  readonly signals?: readonly EndSignal[];
  /** Ends the process at the second signal; default `process.exit`. */
  readonly exit?: (code: number) => void;
}

/**
 * Resolves at the first signal, to its name and the exit code that stands for it.
 *
 * A second one ends the process at once, unless it is SIGHUP: the system and the shell of a terminal
 * that is closed send that more than once.
 */
export function firstSignal(
  {
    signals = ["SIGHUP", "SIGINT", "SIGTERM"],
    exit = (code) => process.exit(code),
  }: FirstSignalOptions = {},
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
 * Lets Ctrl-C and SIGTERM end the process at once from now on, by its own exit: the default action
 * would leave the processes of MCP servers behind.
 */
export function exitAtOnce(): void {
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => process.exit(EXIT_CODES[name]));
  }
}
