/**
 * How every command runs: switches of the environment, one line with a remedy for each error, and the exit
 * code.
 *
 * @module
 */
import process from "node:process";
import { type Command, CommanderError, type Option } from "commander";
import { reasonOf } from "../client/errors.ts";
import { nearestWord } from "../shared/checks.ts";
import { explainFailure } from "./explain_failure.ts";
import { ownCommand } from "./own_command.ts";
import { printed, printError } from "./print.ts";
import { plain } from "./terminal_text.ts";

/** A wrong use of the command line: exit code 2. */
export class UsageError extends Error {
  /** Always `"UsageError"`. */
  override readonly name = "UsageError";
}

/**
 * Runs a check of the command line.
 *
 * @throws {UsageError} with the reason of the check that failed
 */
export function orUsageError<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw new UsageError(reasonOf(error), { cause: error });
  }
}

/** A signal ended a command before it was done. */
export class StoppedError extends Error {
  /** Always `"StoppedError"`. */
  override readonly name = "StoppedError";
  /** 128 plus the number of the signal. */
  readonly exitCode: number;

  /** Creates an error with a message about what was not done. */
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Makes a command report its problems to {@linkcode runCommand}. Call it before adding subcommands,
 * which inherit it.
 *
 * @param env the environment; the variable of a switch holds 1 or 0
 */
export function reporting(
  command: Command,
  env?: Readonly<Record<string, string | undefined>>,
): Command {
  return command.exitOverride().showSuggestionAfterError()
    .configureOutput({
      outputError: (text, write) => write(`${plain(oneLine(text, command))}\n`),
    })
    .hook("preAction", (_, action) => env && readSwitches(action, env));
}

/** Joins a message and its suggestion in one line, and adds the remedy that commander leaves out. */
function oneLine(text: string, program: Command): string {
  const line = text.trim().replaceAll(/\s*\n\s*/g, " ");
  const [, missing] = /'([^']+)' not specified$/.exec(line) ?? [];
  if (missing !== undefined) return explainMissing(line, missing, program);
  const [, unknown] = /unknown command '([^']+)'$/.exec(line) ??
    // A program that also works without a command takes no arguments.
    /too many arguments\. Expected 0 .*: (\S+?)[,.]/.exec(line) ?? [];
  if (unknown !== undefined) {
    const suggested = suggestCommands(unknown, program);
    return `error: unknown command '${unknown}'${suggested}`;
  }
  if (/unknown option '[^']+'$/.test(line)) return `${line}; --help lists them`;
  if (!/missing required argument|too many arguments/.test(line)) return line;
  const pair = argumentOfTool(program);
  const remedy = pair === undefined
    ? "--help shows what it takes"
    : `write --arg ${pair}`;
  return `${line.replace(/\.$/, "")}; ${remedy}`;
}

/** Finds NAME=VALUE without the `--arg` that the command has for it. */
const argumentOfTool = (program: Command): string | undefined =>
  withSubcommands(program)
    .filter(({ options }) => options.some(({ long }) => long === "--arg"))
    .flatMap(({ args }) => args.slice(1))
    .find((word) => /^[\w-]+=/.test(word));

/**
 * Names the variable of a missing option; but where one is misspelled, names that one: commander
 * looks for what is missing first.
 *
 * @param flags the missing option, as the help writes it
 */
function explainMissing(line: string, flags: string, program: Command): string {
  const commands = withSubcommands(program).filter(({ options }) =>
    options.some((option) => option.flags === flags)
  );
  for (const { args, options, commands: below } of commands) {
    const unknown = args.find((arg) => /^-[^\d]/.test(arg));
    if (below.length > 0 || unknown === undefined) continue; // a parent's are those of its subcommand
    const [flag = ""] = unknown.split("=");
    const known = options.flatMap(({ long }) => long ?? []);
    const meant = nearestWord(flag, known);
    if (meant === undefined) continue;
    return `error: unknown option '${flag}' (Did you mean ${meant}?)`;
  }
  const stray = commands.find((each) =>
    each.args.length === 1 && each.registeredArguments.length === 0
  )?.args[0];
  if (stray !== undefined && !stray.startsWith("-")) {
    const [flag] = flags.split(" ");
    return `${line}; write ${flag} ${stray} if you mean that`;
  }
  const variable = commands.flatMap(({ options }) => options)
    .find((option) => option.flags === flags)?.envVar;
  if (variable === undefined) return line;
  const remedy = `${line}; give it, or set ${variable} in the environment`;
  return flags === CONFIG_FLAGS
    ? `${remedy}; a first one is written by: ${
      ownCommand("smcp-computer", process.execPath)
    } init`
    : remedy;
}

/** The option that names the configuration of a Computer. */
const CONFIG_FLAGS = "--config <file>";

/** Suggests the commands whose summaries have the word; all where there are none. */
function suggestCommands(word: string, program: Command): string {
  const parent =
    withSubcommands(program).findLast(({ args, commands }) =>
      args[0] === word && commands.length > 0
    ) ?? program;
  const names = (commands: readonly Command[]) =>
    commands.map((command) => command.name()).join(", ");
  const near = nearestWord(word, parent.commands.map((each) => each.name()));
  if (near !== undefined) return ` (Did you mean ${near}?)`;
  const fitting = parent.commands.filter((command) =>
    command.summary().toLowerCase().split(/\W+/).includes(word.toLowerCase())
  );
  return fitting.length > 0
    ? ` (Did you mean ${fitting.length > 1 ? "one of " : ""}${names(fitting)}?)`
    : `; the commands are ${names(parent.commands)}`;
}

const withSubcommands = (command: Command): Command[] => [
  command,
  ...command.commands.flatMap(withSubcommands),
];

/** Checks whether an option takes no value. */
export const isSwitch = ({ required, optional }: Option): boolean =>
  !required && !optional;

/** Reads switches from the environment: commander itself treats `0` and `false` as on. */
function readSwitches(
  command: Command,
  env: Readonly<Record<string, string | undefined>>,
): void {
  for (const option of command.options) {
    const { envVar, negate } = option;
    if (envVar === undefined || !isSwitch(option)) continue;
    const key = option.attributeName();
    if (command.getOptionValueSource(key) === "cli") continue;
    const value = env[envVar] ?? "";
    if (["", "0", "false", "no"].includes(value)) {
      // Beside an option with a value it is that value which counts.
      const hasPositive = command.options.some((other) =>
        other !== option && other.attributeName() === key
      );
      if (negate && hasPositive) continue;
      const off = negate ? true : option.defaultValue;
      command.setOptionValueWithSource(key, off, "default");
    } else if (["1", "true", "yes"].includes(value)) {
      command.setOptionValueWithSource(key, !negate, "env");
    } else {
      const quoted = JSON.stringify(value);
      throw new UsageError(
        `environment variable ${envVar} is ${quoted}, expected 1 or 0`,
      );
    }
  }
}

/**
 * Ends the process with an exit code, when its output is written: a connection to a Server that does not
 * answer would hold it.
 */
export async function endProcess(code: number): Promise<never> {
  await printed();
  process.exit(code);
}

/**
 * Runs a command line and returns the exit code: 0 done, 1 failed, 2 wrong usage, 128 and more when a
 * signal ended it early.
 *
 * Prints errors as one line with the remedy, never as a stack trace.
 *
 * @param make creates the command with {@linkcode reporting}; may fail for lack of a permission
 * @param args without the program's own name
 * @param print writes a line to stderr; default {@linkcode printError}
 */
export async function runCommand(
  make: () => Command,
  args: readonly string[],
  print: (line: string) => void = printError,
): Promise<number> {
  try {
    await make().parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // commander has printed the message
    print(`error: ${explainFailure(error)}`);
    if (error instanceof StoppedError) return error.exitCode;
    return error instanceof UsageError ? 2 : 1;
  }
}
