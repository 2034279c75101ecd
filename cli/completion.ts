/**
 * Completion in bash, zsh and fish: {@linkcode shapeOf} reads the definition of a command, and each shell
 * has a function that writes its script.
 *
 * @module
 */
import type { Command } from "commander";
import { addHelp } from "./flags.ts";

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
    "Print a script that completes this command in a shell",
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
interface OptionShape {
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

/** How each shell completes the value of an option that has no list of words. */
const VALUES = {
  none: { bash: "", zsh: "", fish: "" },
  file: { bash: "compgen -f", zsh: ":file:_files", fish: " -r -F" },
  directory: {
    bash: "compgen -d",
    zsh: ":directory:_files -/",
    fish: " -x -a '(__fish_complete_directories)'",
  },
  any: { bash: "", zsh: ":value: ", fish: " -x" },
};

/** A command with the names that lead to it from the program, such as `/agent/call`. */
type Placed = readonly [path: string, command: CommandShape];

/** Writes the completion of a command for bash 3.2 and later. */
function bashCompletion(program: CommandShape): string {
  const name = program.name.replaceAll("-", "_");
  const placed = placeAll("", program);
  const paths = placed.slice(1).map(([path]) => path);
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

const placeAll = (path: string, command: CommandShape): Placed[] => [
  [path, command],
  ...command.commands.flatMap((below) =>
    placeAll(`${path}/${below.name}`, below)
  ),
];

function commandCase([path, { commands, options, choices }]: Placed): string {
  const names = commands.map(({ name }) => name);
  const words = [...names, ...choices, ...options.map(({ flag }) => flag)];
  const cases = options.filter(({ value }) => value !== "none").map(valueCase);
  return `    ${path === "" ? "''" : path})
      words='${words.join(" ")}'
      case "$previous" in
${cases.join("\n")}
      esac ;;`;
}

function valueCase({ flag, value }: OptionShape): string {
  const words = typeof value === "string"
    ? VALUES[value].bash
    : `compgen -W '${value.join(" ")}'`;
  return words === ""
    ? `        ${flag}) return ;;`
    : `        ${flag}) COMPREPLY=($(${words} -- "$current")); return ;;`;
}

/** Writes the completion of a command for zsh. */
const zshCompletion = (program: CommandShape): string => {
  const name = zshFunctionName(program.name);
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
  const argumentsHere = `_arguments ${argumentsOf(command)}`;
  if (commands.length === 0) return [`${name}() {\n  ${argumentsHere}\n}`];
  const list = commands.map(({ name, description }) =>
    `    ${zshQuote(`${escape(name)}:${description}`)}`
  );
  const nameOf = (child: CommandShape) => name + zshFunctionName(child.name);
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
      ${argumentsHere} ;;
  esac
}`;
  return [
    own,
    ...commands.flatMap((child) => functionsOf(child, nameOf(child))),
  ];
}

const zshFunctionName = (name: string): string =>
  `_${name.replaceAll("-", "_")}`;

const argumentsOf = ({ options, choices }: CommandShape): string =>
  [
    ...options.map(zshOptionOf),
    ...(choices.length > 0 ? [zshQuote(`1:value:(${choices.join(" ")})`)] : []),
    zshQuote("*: :_files"),
  ].map((argument) => `\\\n        ${argument}`).join(" ");

const zshOptionOf = ({ flag, description, value }: OptionShape): string =>
  zshQuote(
    `*${flag}[${escape(description)}]${
      typeof value === "string"
        ? VALUES[value].zsh
        : `:value:(${value.map(escape).join(" ")})`
    }`,
  );

const escape = (text: string): string =>
  text.replaceAll(/[\\:[\]]/g, (sign) => `\\${sign}`);

const zshQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Writes the completion of a command for fish. */
function fishCompletion(program: CommandShape): string {
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
      `${start} -a ${name} -d ${fishQuote(description)}`
    ),
    ...(choices.length > 0
      ? [`${start} -a ${fishQuote(choices.join(" "))}`]
      : []),
    ...options.map((option) => `${start} ${fishOptionOf(option)}`),
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

const fishOptionOf = ({ flag, description, value }: OptionShape): string =>
  `-l ${flag.replace(/^--/, "")}${
    typeof value === "string"
      ? VALUES[value].fish
      : ` -x -a ${fishQuote(value.join(" "))}`
  } -d ${fishQuote(description)}`;

const fishQuote = (text: string): string =>
  `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

/** The supported shells, each with the function that writes its script. */
const WRITERS: Readonly<Record<string, (shape: CommandShape) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};
