import type { CommandShape, OptionShape } from "./completion_shape.ts";

/** Writes the completion of a command for bash 3.2 and later. */
export function bashCompletion(program: CommandShape): string {
  const name = functionName(program.name);
  const names = program.commands.map((command) => command.name);
  const cases = [program, ...program.commands].map((command) =>
    `    ${command === program ? "''" : command.name})
      words='${wordsOf(command, command === program ? names : [])}'
      case "$previous" in
${
      command.options.filter(({ value }) => value !== "none").map(valueCase)
        .join("\n")
    }
      esac ;;`
  );
  return `# bash completion of ${program.name}
_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local command='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in
      ${names.length > 0 ? names.join("|") : "''"}) command="$word"; break ;;
    esac
  done
  COMPREPLY=()
  case "$command" in
${cases.join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _${name} ${program.name}`;
}

const wordsOf = (
  { options, choices }: CommandShape,
  names: readonly string[],
): string =>
  [...names, ...choices, ...options.map(({ flag }) => flag)].join(" ");

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
