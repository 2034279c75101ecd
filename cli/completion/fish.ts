import type { CommandShape, OptionShape } from "./shape.ts";

/** Writes the completion of a command for fish. */
export function fishCompletion(program: CommandShape): string {
  const complete = `complete -c ${program.name}`;
  return [
    `# fish completion of ${program.name}`,
    `${complete} -f`,
    ...linesOf(program, complete, []),
  ].join("\n");
}

/**
 * Writes the lines of a command and its subcommands.
 *
 * @param seen conditions on the words before the cursor that select this command
 */
function linesOf(
  { commands, options, choices }: CommandShape,
  complete: string,
  seen: readonly string[],
): string[] {
  const names = commands.map(({ name }) => name);
  const here = names.length === 0 ? seen : [...seen, `not ${seenOf(names)}`];
  const start = here.length === 0
    ? complete
    : `${complete} -n '${here.join("; and ")}'`;
  // Subcommands of others may have the same name, such as `completion`.
  const isDeep = commands.some(({ commands }) => commands.length > 0);
  return [
    ...commands.map(({ name, description }) =>
      `${start} -a ${name} -d ${quote(description)}`
    ),
    ...(choices.length > 0 ? [`${start} -a ${quote(choices.join(" "))}`] : []),
    ...options.map((option) => `${start} ${optionOf(option)}`),
    ...commands.flatMap((command) => {
      const others = names.filter((name) => name !== command.name);
      return linesOf(command, complete, [
        ...seen,
        seenOf([command.name]),
        ...(isDeep && command.commands.length === 0
          ? [`not ${seenOf(others)}`]
          : []),
      ]);
    }),
  ];
}

const seenOf = (names: readonly string[]): string =>
  `__fish_seen_subcommand_from ${names.join(" ")}`;

const VALUES: Readonly<Record<string, string>> = {
  file: " -r -F",
  directory: " -x -a '(__fish_complete_directories)'",
  any: " -x",
  none: "",
};

const optionOf = ({ flag, description, value }: OptionShape): string =>
  `-l ${flag.replace(/^--/, "")}${
    typeof value === "string"
      ? VALUES[value]
      : ` -x -a ${quote(value.join(" "))}`
  } -d ${quote(description)}`;

const quote = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
