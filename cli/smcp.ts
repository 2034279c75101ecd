import { Command } from "commander";
import process from "node:process";
import { addHelp } from "./add_help.ts";
import { addCompletion } from "./completion.ts";
import { type CommandShape, shapeOf } from "./completion/shape.ts";
import { commandHint } from "./own_command.ts";
import { reporting, runCommand } from "./run.ts";
import { describeVersions } from "./version.ts";

/** A command of `smcp`, which is loaded when it is needed. */
export interface LazyCommand {
  /** One line for the list of commands; that of its own help. */
  readonly summary: string;
  /** Loads it. */
  load(): Promise<LoadedCommand>;
}

/** See {@linkcode LazyCommand.load}. */
export interface LoadedCommand {
  /** Runs it and returns the exit code. */
  run(args: readonly string[]): Promise<number>;
  /** Makes it, to be looked at. */
  make(): Command;
}

/**
 * Runs the command `smcp`: what follows the name of a subcommand is for that one.
 *
 * @param args without the program's own name
 * @returns the exit code
 */
export async function runSmcp(
  args: readonly string[],
  commands: Readonly<Record<string, LazyCommand>>,
): Promise<number> {
  const [first = "", ...rest] = args;
  const named = (name: string) =>
    Object.hasOwn(commands, name) ? commands[name] : undefined;
  const command = named(first);
  if (command) return await (await command.load()).run(rest);
  const helped = first === "help" ? named(rest[0] ?? "") : undefined;
  if (helped) {
    return await (await helped.load()).run([...rest.slice(1), "--help"]);
  }
  return await runCommand(() => smcpCommand(commands), args);
}

/** Makes what lists the subcommands; each of them is a name and a summary in it. */
function smcpCommand(
  commands: Readonly<Record<string, LazyCommand>>,
): Command {
  const program = addHelp(
    reporting(new Command("smcp"), process.env),
    "A2C-SMCP: agents use the tools of remote computers",
    [
      "smcp up --config computer.json",
      "smcp agent tools --office home",
      "smcp server --help",
    ],
  ).version(describeVersions()).addHelpText(
    "afterAll",
    commandHint("smcp", process.execPath),
  );
  for (const [name, { summary }] of Object.entries(commands)) {
    program.command(name).summary(summary);
  }
  addCompletion(
    program,
    (script) => console.log(script),
    () => wholeShape(program, commands),
  );
  return program;
}

/** Reads the definitions of all commands, which are loaded for it. */
async function wholeShape(
  program: Command,
  commands: Readonly<Record<string, LazyCommand>>,
): Promise<CommandShape> {
  const shape = shapeOf(program);
  const loaded = shape.commands.map(async (own) => {
    const lazy = commands[own.name];
    if (lazy === undefined) return own;
    const made = (await lazy.load()).make();
    const command = made.commands.find((sub) => sub.name() === own.name) ??
      made;
    return { ...shapeOf(command), name: own.name };
  });
  return { ...shape, commands: await Promise.all(loaded) };
}
