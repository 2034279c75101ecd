import type { Command } from "commander";

/** A command line that can not be carried out as it stands: exit code 2. */
export class UsageError extends Error {
  /** Always `"UsageError"`. */
  override readonly name = "UsageError";
}

/**
 * Makes a command report its problems to {@linkcode runCommand}; call it before adding
 * subcommands, which take it over.
 */
export function reporting(command: Command): Command {
  return command.exitOverride().showSuggestionAfterError();
}

/**
 * Runs a command line and tells the exit code: 0 done, 1 failed, 2 wrong usage.
 *
 * A person gets one line about what went wrong, never a stack trace.
 *
 * @param command made with {@linkcode reporting}
 * @param args without the program's own name
 * @param print writes a line to stderr
 */
export async function runCommand(
  command: Command,
  args: readonly string[],
  print: (line: string) => void,
): Promise<number> {
  try {
    await command.parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (isCommanderError(error)) return error.exitCode === 0 ? 0 : 2; // it printed its line
    print(`error: ${error instanceof Error ? error.message : error}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

const isCommanderError = (
  error: unknown,
): error is Error & { exitCode: number } =>
  error instanceof Error && "exitCode" in error &&
  "code" in error && String(error.code).startsWith("commander.");
