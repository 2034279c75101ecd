import process from "node:process";
import { Command, Option } from "commander";
import { printContent } from "../../cli/print.ts";
import { addCompletion } from "../../cli/completion.ts";
import { isVariableName } from "../../cli/env_file.ts";
import { addHelp } from "../../cli/flags.ts";
import { commandHint } from "../../cli/own_command.ts";
import { reporting, runCommand, UsageError } from "../../cli/run.ts";
import { addServerFlags, connectionOptions } from "../../cli/server_flags.ts";
import { addService } from "../../cli/service/command.ts";
import type { ServiceRole } from "../../cli/service/install.ts";
import { describeVersions } from "../../cli/version.ts";
import { CLIENT_PROTOCOLS } from "../../client/versions.ts";
import { addApprovals } from "./control/commands.ts";
import {
  addOptions,
  addRunFlags,
  hostFlags,
  officeFlag,
  option,
  servingFlags,
  signInFlags,
} from "./flags.ts";
import type { RunFlags } from "./run.ts";
import { DEFAULT_CONFIG_FILE, statePath } from "../util/defaults.ts";
import { inputVariables, parseInputFlag } from "../util/inputs.ts";

const AFTER_HELP = `
Exit codes: 0 stopped by SIGINT, SIGTERM or SIGHUP, 1 failed, 2 wrong usage,
130 check was stopped by Ctrl-C.`;

/**
 * Runs the Computer's command.
 *
 * @param args without the program's own name
 * @returns the exit code
 */
export const runComputer = (args: readonly string[]): Promise<number> =>
  runCommand(computerCommand, args);

/** Makes the Computer's command. */
export function computerCommand(): Command {
  const program = addHelp(
    reporting(new Command("smcp-computer"), process.env),
    "Offer the tools of MCP servers in an office of A2C-SMCP",
    [
      "smcp-computer init",
      "smcp-computer import   # from Claude Code, Codex, Cursor and others",
      "smcp-computer check --config computer.json",
      "smcp-computer run --config computer.json --office demo",
    ],
  ).version(describeVersions()).addHelpText(
    "after",
    AFTER_HELP + commandHint("smcp-computer", process.execPath),
  );
  addRun(program);
  addCheck(program);
  addSignIns(program);
  addInit(program);
  addImport(program);
  addShell(program);
  addApprovals(program, addSubcommand);
  addService(program, computerService);
  addCompletion(program, printContent);
  return program;
}

/** @param examples without the program's own name */
const addSubcommand = (
  program: Command,
  name: string,
  summary: string,
  ...examples: readonly string[]
): Command =>
  addHelp(
    program.command(name),
    summary,
    examples.map((line) => `smcp-computer ${line}`),
  );

function addRun(program: Command): void {
  const command = addSubcommand(
    program,
    "run",
    "Start the MCP servers and serve until stopped",
    "run --config computer.json --office demo",
    "run --config computer.json --office demo --watch --yes",
  );
  addRunFlags(command)
    .action(async (flags) => (await import("./run.ts")).run(flags));
}

function addCheck(program: Command): void {
  const command = addSubcommand(
    program,
    "check",
    "Start each MCP server once; list what it offers, and problems",
    "check --config computer.json",
    `check --config computer.json --call read_file --params '{"path": "/srv/a"}'`,
  );
  addOptions(
    command,
    ...hostFlags(),
    option("--call <tool>", "say which rule decides on a call of this tool"),
    option("--params <json>", "with --call: the arguments; default: {}"),
    option("--agent <name>", 'with --call: who calls; default: "agent"'),
    new Option(
      "--protocol <version>",
      "the version of A2C-SMCP that tools are named for; auto: 0.2",
    ).choices(["auto", ...CLIENT_PROTOCOLS]).default("auto")
      .env("SMCP_CLIENT_PROTOCOL"),
    option("--json", "print JSON"),
  ).action(async (flags) => {
    const { call, params, agent } = flags;
    if (call !== undefined) {
      return (await import("./check/check_call.ts")).checkCall(flags);
    }
    if ((params ?? agent) !== undefined) {
      throw new UsageError(
        "--params and --agent are for one call; name its tool with --call",
      );
    }
    return (await import("./check/check.ts")).check(flags);
  });
}

function addSignIns(program: Command): void {
  const commands = [
    ["signIn", "sign-in", "Sign in to an MCP server over HTTP, in a browser"],
    ["signOut", "sign-out", "Revoke and remove the tokens of a sign-in"],
  ] as const;
  for (const [work, name, summary] of commands) {
    const example = `${name} tracker --config computer.json`;
    const command = addSubcommand(program, name, summary, example)
      .argument("<server>", "its name in the configuration");
    addOptions(command, ...signInFlags())
      .action(async (server, flags) =>
        (await import("./sign_in.ts"))[work](server, flags)
      );
  }
}

function addInit(program: Command): void {
  addSubcommand(
    program,
    "init",
    "Write a first configuration, for the files of this folder",
    "init",
  ).addOption(outOption())
    .action(async (flags) => (await import("./init.ts")).initConfig(flags));
}

function addImport(program: Command): void {
  const command = addSubcommand(
    program,
    "import",
    "Write a configuration with the MCP servers of other programs",
    "import",
    "import --dry-run",
    "import --from ~/.cursor/mcp.json --out cursor.json",
  );
  addOptions(
    command,
    option("--from <file>", "import this file instead of the known ones"),
    outOption(),
    option("--force", "replace an existing file"),
    option("--dry-run", "show what would be written, but write nothing"),
    option("--json", "print JSON"),
  ).action(async (flags) => (await import("./import.ts")).importConfig(flags));
}

function addShell(program: Command): void {
  const command = addSubcommand(
    program,
    "shell",
    "Control a Computer interactively",
    "shell",
    "shell --config computer.json --office demo",
  );
  addOptions(
    addServerFlags(command),
    ...servingFlags(false),
    officeFlag(false),
    option("--history <file>", "the file that keeps the history of lines")
      .default(statePath(process.env, "shell_history")),
    option(
      "--history-values",
      "also keep parameters of tools, values and definitions in it",
    ),
  ).action(async (flags) => (await import("./shell/shell.ts")).shell(flags));
}

const outOption = () =>
  option("--out <file>", "the file to write").default(DEFAULT_CONFIG_FILE);

/** The Computer as a service. */
const computerService: ServiceRole<RunFlags> = {
  name: "smcp-computer",
  summary: "A2C-SMCP Computer: tools of MCP servers for agents",
  example: "--config computer.json --office demo",
  words: ["run", "--wait"], // the machine of the Server may start later
  addFlags: addRunFlags,
  except: ["--plain", "--wait"], // a service has no terminal, and waits anyway
  findSecret(flag, text) {
    if (flag === "--api-key") return ["SMCP_API_KEY", text];
    if (flag === "--token") return ["SMCP_TOKEN", text];
    if (flag === "--proxy" && text.includes("@")) return ["SMCP_PROXY", text];
    if (flag === "--notify-url") return ["SMCP_NOTIFY_URL", text];
    if (flag !== "--input") return undefined;
    const [id, value] = parseInputFlag(text);
    return [fileVariable(id), value];
  },
  permissions: () => ["-A"],
  async check(flags, env, kept) {
    const [{ loadHostConfig }, { isPageEnabled }] = await Promise.all([
      import("./make_computer.ts"),
      import("./ui/page.ts"),
    ]);
    const { inputs } = await loadHostConfig(flags.config, flags.input);
    connectionOptions(flags);
    const variables: Record<string, string> = {};
    for (const { id } of inputs) {
      const value = environmentValue(id, env);
      if (value !== undefined) variables[fileVariable(id)] = value;
    }
    const hasPage = isPageEnabled(flags);
    const open = inputs.filter((input) =>
      !hasPage && input.type === "promptString" &&
      input.default === undefined && flags.input[input.id] === undefined &&
      (environmentValue(input.id, env) ?? environmentValue(input.id, kept)) ===
        undefined
    );
    return {
      variables,
      notes: [
        ...open.map(({ id }) =>
          `input "${id}" has no value, and a service has no terminal to ask for it; install again with --input ${id}=VALUE`
        ),
        ...(flags.yes || hasPage ? [] : [
          "a service has no terminal, so it refuses tools that need confirmation; set auto_apply in the configuration, pair a device (smcp-computer pair), or install again with --yes or --ui",
        ]),
      ],
    };
  },
};

const environmentValue = (
  id: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined =>
  inputVariables(id).map((name) => env[name])
    .find((value) => value !== undefined);

/** Returns the strongest variable of an input that a file can hold; one of them always is. */
const fileVariable = (id: string): string =>
  inputVariables(id).find(isVariableName) ?? id;
