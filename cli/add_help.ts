import type { Command } from "commander";

/**
 * Adds a summary and examples to a command's help, before the list of options.
 *
 * @param summary one line, also shown in lists of commands
 * @param examples command lines
 */
export const addHelp = (
  command: Command,
  summary: string,
  examples: readonly string[],
): Command =>
  command.summary(summary).description(
    [summary, "", "Examples:", ...examples.map((line) => `  $ ${line}`)]
      .join("\n"),
  );
