import { Command, Help } from "commander";
import process from "node:process";
import { addCompletion } from "../../cli/completion.ts";
import { addHelp } from "../../cli/flags.ts";
import { addService } from "../../cli/service/command.ts";
import { commandHint } from "../../cli/own_command.ts";
import { isSwitch, reporting, runCommand } from "../../cli/run.ts";
import { describeVersions } from "../../cli/version.ts";
import type { ServerFlags } from "./flags.ts";
import type { LoadMcp } from "./load.ts";
import { serverService } from "./service.ts";
import { addOperatorCommands } from "./operate/commands.ts";
import { addSettings, readSettings, type Settings } from "./settings.ts";

const AFTER_HELP = `
The commands ask a running Server, with the token that it prints at its start on loopback, or an
operator's key or token.

SIGINT and SIGTERM drain. SIGHUP reads keys and certificates again and opens the log file anew.
Exit codes: 0 stopped, 1 failed, 2 wrong usage.`;

/**
 * Runs the server's command. Ends the process itself once it has served, so that nothing that is still
 * open delays the end.
 *
 * @param args without the program's own name
 * @param loadMcp loads what serves MCP; a Server must not import it itself
 * @returns the exit code
 */
export async function runServer(
  args: readonly string[],
  loadMcp: LoadMcp,
): Promise<number> {
  let hasServed = false;
  const code = await runCommand(
    () =>
      serverCommand(process.env, async (settings) => {
        const { serve } = await import("./serve.ts");
        hasServed = true;
        await serve(settings, loadMcp);
      }),
    args,
  );
  if (hasServed) process.exit(code);
  return code;
}

/**
 * Creates the server's command.
 *
 * @param env the environment
 * @param serve serves with the settings of the command line
 */
export function serverCommand(
  env: Readonly<Record<string, string | undefined>>,
  serve: (settings: Settings) => void | Promise<void>,
): Command {
  const program = addHelp(
    reporting(new Command("smcp-server"), env),
    "Serve A2C-SMCP: offices of agents and computers",
    [
      "smcp-server",
      "smcp-server --host 0.0.0.0 --api-keys keys.json   # and TLS",
      "smcp-server --api-keys keys.json --trust-proxy 1   # behind nginx or Caddy",
      "smcp-server key add laptop --api-keys keys.json",
    ],
  )
    .version(describeVersions())
    .addHelpText(
      "after",
      AFTER_HELP + commandHint("smcp-server", process.execPath),
    )
    .configureHelp({ optionDescription })
    .allowExcessArguments(false)
    .action((flags: ServerFlags) => serve(readSettings(flags, env)));
  // Flags after a subcommand are its own: some have the names of the server's.
  program.enablePositionalOptions();
  addSettings(program);
  addService(program, serverService);
  addOperatorCommands(program);
  addCompletion(program, (script) => console.log(script));
  return program;
}

/** Describes an option, with the value that turns a switch on in the environment. */
function optionDescription(
  this: Help,
  option: Command["options"][number],
): string {
  const text = Help.prototype.optionDescription.call(this, option);
  const { envVar } = option;
  return envVar !== undefined && isSwitch(option)
    ? text.replace(`env: ${envVar})`, `env: ${envVar}=1)`)
    : text;
}
