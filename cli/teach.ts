import type { Command } from "commander";

/**
 * Says what a command is for, and shows how it is used before its help lists every option.
 *
 * @param summary one line; all that lists of commands show
 * @param examples command lines
 */
export const teach = (
  command: Command,
  summary: string,
  examples: readonly string[],
): Command =>
  command.summary(summary).description(
    [summary, "", "Examples:", ...examples.map((line) => `  $ ${line}`)]
      .join("\n"),
  );
