import type { CommandShape, OptionShape } from "./shape.ts";

/** A command with the names that lead to it from the program, such as `/agent/call`. */
interface Placed {
  readonly path: string;
  readonly command: CommandShape;
}

/** Writes the completion of a command for bash 3.2 and later. */
export function bashCompletion(program: CommandShape): string {
  const name = functionName(program.name);
  const placed = placeAll({ path: "", command: program });
  const paths = placed.slice(1).map(({ path }) => path);
  return `# bash completion of ${program.name}
_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local command='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command/$word" in
      ${paths.length > 0 ? paths.join("|") : "''"}) command="$command/$word" ;;
    esac
  done
  COMPREPLY=()
  case "$command" in
${placed.map(commandCase).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _${name} ${program.name}`;
}

const placeAll = (place: Placed): Placed[] => [
  place,
  ...place.command.commands.flatMap((command) =>
    placeAll({ path: `${place.path}/${command.name}`, command })
  ),
];

const commandCase = ({ path, command }: Placed): string =>
  `    ${path === "" ? "''" : path})
      words='${wordsOf(command)}'
      case "$previous" in
${
    command.options.filter(({ value }) => value !== "none").map(valueCase)
      .join("\n")
  }
      esac ;;`;

const wordsOf = ({ commands, options, choices }: CommandShape): string =>
  [
    ...commands.map(({ name }) => name),
    ...choices,
    ...options.map(({ flag }) => flag),
  ].join(" ");

const COMPGEN: Readonly<Record<string, string>> = {
  file: 'compgen -f -- "$current"',
  directory: 'compgen -d -- "$current"',
};

function valueCase({ flag, value }: OptionShape): string {
  const found = typeof value !== "string"
    ? `compgen -W '${value.join(" ")}' -- "$current"`
    : COMPGEN[value];
  return found === undefined
    ? `        ${flag}) return ;;`
    : `        ${flag}) COMPREPLY=($(${found})); return ;;`;
}

const functionName = (name: string): string => name.replaceAll("-", "_");
