import type { CommandShape, OptionShape } from "./completion_shape.ts";

/** Writes the completion of a command for fish. */
export function fishCompletion(program: CommandShape): string {
  const names = program.commands.map(({ name }) => name);
  const complete = `complete -c ${program.name}`;
  const none = names.length === 0
    ? ""
    : `-n 'not __fish_seen_subcommand_from ${names.join(" ")}'`;
  const lines = [
    `# fish completion of ${program.name}`,
    `${complete} -f`,
    ...program.commands.map(({ name, description }) =>
      `${complete} ${none} -a ${name} -d ${quote(description)}`
    ),
    ...program.options.map((option) =>
      `${complete} ${none} ${optionOf(option)}`
    ),
    ...program.commands.flatMap((command) => {
      const seen = `-n '__fish_seen_subcommand_from ${command.name}'`;
      const { choices } = command;
      return [
        ...(choices.length > 0
          ? [`${complete} ${seen} -a ${quote(choices.join(" "))}`]
          : []),
        ...command.options.map((option) =>
          `${complete} ${seen} ${optionOf(option)}`
        ),
      ];
    }),
  ];
  return lines.map((line) => line.replaceAll(/ +/g, " ")).join("\n");
}

const VALUES: Readonly<Record<string, string>> = {
  file: "-r -F",
  directory: "-x -a '(__fish_complete_directories)'",
  any: "-x",
  none: "",
};

const optionOf = ({ flag, description, value }: OptionShape): string =>
  `-l ${flag.replace(/^--/, "")} ${
    typeof value === "string"
      ? VALUES[value]
      : `-x -a ${quote(value.join(" "))}`
  } -d ${quote(description)}`;

const quote = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
