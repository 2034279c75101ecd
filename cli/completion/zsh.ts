import type { CommandShape, OptionShape } from "./shape.ts";

/** Writes the completion of a command for zsh. */
export const zshCompletion = (program: CommandShape): string => {
  const name = functionName(program.name);
  return `#compdef ${program.name}
${functionsOf(program, name).join("\n")}
compdef ${name} ${program.name}`;
};

/**
 * Writes a function for a command and one for each subcommand. The words that lead to a command are
 * shifted out, so its own name is always the first word.
 */
function functionsOf(command: CommandShape, name: string): string[] {
  const { commands } = command;
  if (commands.length === 0) {
    return [`${name}() {\n  _arguments ${argumentsOf(command)}\n}`];
  }
  const list = commands.map(({ name, description }) =>
    `    ${quote(`${escape(name)}:${description}`)}`
  );
  const nameOf = (child: CommandShape) => name + functionName(child.name);
  const cases = commands.map((child) =>
    `    ${child.name})
      shift words
      (( CURRENT -= 1 ))
      ${nameOf(child)} ;;`
  );
  const own = `${name}() {
  local -a commands
  commands=(
${list.join("\n")}
  )
  if (( CURRENT == 2 )) && [[ \${words[2]} != -* ]]; then
    _describe command commands
    return
  fi
  case \${words[2]} in
${cases.join("\n")}
    *)
      _arguments ${argumentsOf(command)} ;;
  esac
}`;
  return [
    own,
    ...commands.flatMap((child) => functionsOf(child, nameOf(child))),
  ];
}

const functionName = (name: string): string => `_${name.replaceAll("-", "_")}`;

const argumentsOf = ({ options, choices }: CommandShape): string =>
  [
    ...options.map(optionOf),
    ...(choices.length > 0 ? [quote(`1:value:(${choices.join(" ")})`)] : []),
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
