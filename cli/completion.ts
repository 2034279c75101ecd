import type { Command } from "commander";
import { addHelp } from "./add_help.ts";
import { bashCompletion } from "./completion/bash.ts";
import { fishCompletion } from "./completion/fish.ts";
import { type CommandShape, shapeOf } from "./completion/shape.ts";
import { zshCompletion } from "./completion/zsh.ts";

/** The supported shells, each with the function that writes its script. */
const WRITERS: Readonly<Record<string, (shape: CommandShape) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/**
 * Adds the subcommand `completion SHELL` to a program; add all other commands first.
 *
 * @param print prints the script
 * @param read returns what can be completed; default: the definition of the program
 */
export function addCompletion(
  program: Command,
  print: (script: string) => void,
  read: () => CommandShape | Promise<CommandShape> = () => shapeOf(program),
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
  command.action(async (shell: string) =>
    print(WRITERS[shell]?.(await read()) ?? "")
  );
}
