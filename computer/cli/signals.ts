import process from "node:process";

/** A closed terminal sends SIGHUP, which children in groups of their own do not get. */
const SIGNALS = [["SIGHUP", 129], ["SIGINT", 130], ["SIGTERM", 143]] as const;

/**
 * Resolves at the first signal, to the exit code that stands for it.
 *
 * A second one does not wait for anything, unless it is SIGHUP: a terminal that is closed sends
 * it, and so do the shell that ran in it and the system.
 */
export function firstSignal(): Promise<number> {
  return new Promise((resolve) => {
    let ending = false;
    for (const [signal, code] of SIGNALS) {
      process.on(signal, () => {
        if (ending && signal !== "SIGHUP") process.exit(code);
        ending = true;
        resolve(code);
      });
    }
  });
}

/**
 * Lets Ctrl-C and SIGTERM end the process at once from now on, by its own exit: the default action
 * would leave the processes of MCP servers behind.
 */
export function exitAtOnce(): void {
  for (const [signal, code] of SIGNALS) {
    if (signal !== "SIGHUP") process.on(signal, () => process.exit(code));
  }
}
