import type { Command } from "commander";

/** The parts of a command that completion needs. */
export interface CommandShape {
  /** The name to type. */
  readonly name: string;
  /** One line. */
  readonly description: string;
  /** Options, in the order of the help. */
  readonly options: readonly OptionShape[];
  /** Subcommands. */
  readonly commands: readonly CommandShape[];
  /** Allowed values of the first argument; empty if any is. */
  readonly choices: readonly string[];
}

/** The parts of an option that completion needs. */
export interface OptionShape {
  /** Such as `--url`. */
  readonly flag: string;
  /** One line. */
  readonly description: string;
  /** Its value: none, a path of a file or directory, one of a list of words, or any. */
  readonly value: "none" | "file" | "directory" | "any" | readonly string[];
}

/** Reads the definition of a command. */
export function shapeOf(command: Command): CommandShape {
  const [argument] = command.registeredArguments;
  return {
    name: command.name(),
    description: oneLine(command.summary() || command.description()),
    options: [
      ...command.options.map((option) => ({
        flag: option.long ?? option.flags,
        description: oneLine(option.description),
        value: valueOf(option),
      })),
      {
        flag: "--help",
        description: "display help for command",
        value: "none" as const,
      },
    ],
    commands: command.commands.map(shapeOf),
    choices: argument?.argChoices ?? [],
  };
}

function valueOf(
  { required, optional, argChoices, flags }: Command["options"][number],
): OptionShape["value"] {
  if (!required && !optional) return "none";
  if (argChoices) return argChoices;
  if (/<(file|path-to-file)>/.test(flags)) return "file";
  return /<dir(ectory)?>/.test(flags) ? "directory" : "any";
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim();
