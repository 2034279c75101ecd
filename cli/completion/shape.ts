import type { Command } from "commander";

/** What a shell needs to know of a command to complete it. */
export interface CommandShape {
  /** What people type. */
  readonly name: string;
  /** In one line. */
  readonly description: string;
  /** In the order of the help. */
  readonly options: readonly OptionShape[];
  /** Its subcommands. */
  readonly commands: readonly CommandShape[];
  /** What its first argument may be, if that is known. */
  readonly choices: readonly string[];
}

/** What a shell needs to know of an option. */
export interface OptionShape {
  /** Such as `--url`. */
  readonly flag: string;
  /** In one line. */
  readonly description: string;
  /** What follows it: nothing, the path of a file or directory, one of some words, or anything. */
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
