import type { Command } from "commander";
import { bashCompletion } from "./completion_bash.ts";
import { fishCompletion } from "./completion_fish.ts";
import { type CommandShape, shapeOf } from "./completion_shape.ts";
import { zshCompletion } from "./completion_zsh.ts";
import { addHelp } from "./add_help.ts";

/** The shells that completion can be written for, and who writes it. */
const WRITERS: Readonly<Record<string, (shape: CommandShape) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/**
 * Adds the subcommand `completion SHELL` to a program whose other commands are all there.
 *
 * @param print takes the script
 */
export function addCompletion(
  program: Command,
  print: (script: string) => void,
): void {
  const name = program.name();
  const command = addHelp(
    program.command("completion"),
    "Print what makes a shell complete this command",
    [
      `source <(${name} completion bash)      # in ~/.bashrc`,
      `source <(${name} completion zsh)       # in ~/.zshrc, after compinit`,
      `${name} completion fish > ~/.config/fish/completions/${name}.fish`,
    ],
  ).addArgument(
    program.createArgument("<shell>").choices(Object.keys(WRITERS)),
  );
  command.action((shell: string) =>
    print(WRITERS[shell]?.(shapeOf(program)) ?? "")
  );
}
