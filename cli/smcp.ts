import { Command } from "commander";
import process from "node:process";
import { printContent } from "./print.ts";
import { addHelp } from "./flags.ts";
import { addCompletion, type CommandShape, shapeOf } from "./completion.ts";
import { commandHint } from "./own_command.ts";
import { reporting, runCommand } from "./run.ts";
import { describeVersions } from "./version.ts";

/** A subcommand of `smcp`, loaded on demand. */
interface LazyCommand {
  /** One line for the list of commands, the same as in its own help. */
  readonly summary: string;
  /** Loads what runs the command, to an exit code, and what makes its definition, for completion. */
  load(): Promise<{
    run(args: readonly string[]): Promise<number>;
    make(): Command;
  }>;
}

/** The subcommands of `smcp` by name. */
type Commands = Readonly<Record<string, LazyCommand>>;

/**
 * Runs the command `smcp`; a subcommand gets the arguments that follow its name.
 *
 * @param args without the program's own name
 * @returns the exit code
 */
export async function runSmcp(
  args: readonly string[],
  commands: Commands,
): Promise<number> {
  const [first = "", ...rest] = args;
  const run = async (name: string, ...args: string[]) => {
    if (!Object.hasOwn(commands, name)) return undefined;
    return await (await commands[name]?.load())?.run(args);
  };
  const [helped = "", ...more] = first === "help" ? rest : [];
  return await run(first, ...rest) ?? await run(helped, ...more, "--help") ??
    await runCommand(() => smcpCommand(commands), args);
}

/** Creates the program that lists the subcommands by name and summary. */
function smcpCommand(commands: Commands): Command {
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
    printContent,
    () => wholeShape(program, commands),
  );
  return program;
}

/** Loads all subcommands and reads their definitions. */
async function wholeShape(
  program: Command,
  commands: Commands,
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
