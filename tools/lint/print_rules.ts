import type { Fault } from "./layering_rules.ts";

/** Where the console may be used, and why. */
const PRINTERS: Readonly<Record<string, string>> = {
  "cli/print.ts": "escapes what it prints",
  "cli/prepare.ts": "keeps a closed output from ending the command",
};

/** Where the streams of the terminal may be used as well, and why. */
const DRAWERS: Readonly<Record<string, string>> = {
  ...PRINTERS,
  "server/cli/logging.ts": "writes the log, and escapes it",
  "computer/cli/logging.ts": "writes the log, and escapes it",
  "computer/cli/run.ts": "hands the terminal to the live view",
  "computer/cli/check/check.ts": "hands the terminal to the live view",
  "computer/cli/make_computer.ts": "hands the terminal to questions",
  "computer/cli/control/pair.ts": "hands the terminal to the prompt for digits",
  "computer/cli/shell/shell.ts": "hands the terminal to the prompt",
};

/** Properties of a stream that only describe it. */
const FACTS: readonly string[] = ["isTTY", "columns", "rows"];

/** The streams to a terminal. */
const STREAMS: readonly string[] = ["stdout", "stderr"];

/** A file of a command. */
const OF_COMMANDS = /^((agent|computer|server)\/)?(cli\/|main\.ts$)/;

/** Returns whether a property of `process` is a stream to a terminal. */
export const isStream = (name: string): boolean => STREAMS.includes(name);

/** Checks a use of the console: what others wrote must not reach a terminal as it is. */
export function judgeConsole(file: string): Fault | undefined {
  return judge(file, "prints with the console", PRINTERS);
}

/**
 * Checks a use of stdout or stderr.
 *
 * @param property the property of it that is read; absent for the stream itself
 */
export function judgeStream(
  file: string,
  property: string | undefined,
): Fault | undefined {
  if (property !== undefined && FACTS.includes(property)) return undefined;
  return judge(file, "uses a stream of the terminal", DRAWERS);
}

function judge(
  file: string,
  what: string,
  allowed: Readonly<Record<string, string>>,
): Fault | undefined {
  if (!OF_COMMANDS.test(file) || Object.hasOwn(allowed, file)) return undefined;
  return {
    message: `${file} ${what}; what others wrote could control the terminal`,
    hint: "Print with cli/print.ts, which escapes it",
  };
}
