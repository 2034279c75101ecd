import type { CommandShape, OptionShape } from "./completion_shape.ts";

/** Writes the completion of a command for zsh. */
export function zshCompletion(program: CommandShape): string {
  const name = program.name.replaceAll("-", "_");
  const commands = program.commands.map((command) =>
    `    ${quote(`${escape(command.name)}:${command.description}`)}`
  );
  const cases = program.commands.map((command) =>
    `    ${command.name})
      _arguments ${argumentsOf(command)} ;;`
  );
  return `#compdef ${program.name}
_${name}() {
  local -a commands
  commands=(
${commands.join("\n")}
  )
  local command=\${words[2]}
  if (( CURRENT == 2 )) && [[ $command != -* ]]; then
    _describe command commands
    return
  fi
  case $command in
${cases.join("\n")}
    *)
      _arguments ${argumentsOf(program)} ;;
  esac
}
compdef _${name} ${program.name}`;
}

/** The first word is the program, the second may be a subcommand. */
const argumentsOf = ({ options, choices }: CommandShape): string =>
  [
    ...options.map(optionOf),
    ...(choices.length > 0
      ? [quote("1: :"), quote(`2:value:(${choices.join(" ")})`)]
      : []),
    quote("*: :_files"),
  ].map((argument) => `\\\n        ${argument}`).join(" ");

const ACTIONS: Readonly<Record<string, string>> = {
  file: ":file:_files",
  directory: ":directory:_files -/",
  any: ":value: ",
  none: "",
};

const optionOf = ({ flag, description, value }: OptionShape): string =>
  quote(
    `*${flag}[${escape(description)}]${
      typeof value === "string"
        ? ACTIONS[value]
        : `:value:(${value.map(escape).join(" ")})`
    }`,
  );

const escape = (text: string): string =>
  text.replaceAll(/[\\:[\]]/g, (sign) => `\\${sign}`);

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
