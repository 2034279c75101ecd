/**
 * The commands of `smcp-server`: the one that serves, the service, and those that send requests to a running
 * Server. Each imports its code when it runs, so that help and completion stay fast.
 *
 * @module
 */
import process from "node:process";
import { Command, Help, InvalidArgumentError, Option } from "commander";
import { printContent } from "../../cli/print.ts";
import { addCompletion } from "../../cli/completion.ts";
import { addHelp, integer } from "../../cli/flags.ts";
import { commandHint } from "../../cli/own_command.ts";
import { isSwitch, reporting, runCommand } from "../../cli/run.ts";
import { addAddressFlags } from "../../cli/server_flags.ts";
import { addService } from "../../cli/service/command.ts";
import type { ServiceRole } from "../../cli/service/install.ts";
import { describeVersions } from "../../cli/version.ts";
import {
  addSettings,
  flag,
  JWT_SECRET,
  readSettings,
  type ServerFlags,
  type Settings,
} from "./flags.ts";
import type { LoadMcp } from "./serve.ts";
import { CLIENT_SECRET, SIGN_IN_SECRET } from "./sign_in_flags.ts";
import { parseExpiry } from "../shared/identity.ts";

const AFTER_HELP = `
The subcommands send requests to a running Server, with the token that it prints at its start on
loopback, or an operator's key or token.

SIGINT, SIGTERM and the SIGHUP of a closed terminal drain. Any other SIGHUP reloads keys and
certificates and reopens the log file.
Exit codes: 0 stopped, 1 failed, 2 wrong usage.`;

/**
 * Runs the server's command.
 *
 * @param args without the program's own name
 * @param loadMcp loads the MCP gateway, which a Server must not import itself
 * @returns the exit code
 */
export const runServer = (
  args: readonly string[],
  loadMcp: LoadMcp,
): Promise<number> =>
  runCommand(
    () =>
      serverCommand(process.env, async (settings) => {
        const { serve } = await import("./serve.ts");
        await serve(settings, loadMcp);
      }),
    args,
  );

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
  addViews(program);
  addChanges(program);
  addGrants(program);
  addKeys(program);
  addCompletion(program, printContent);
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

/** The Server as a service. */
const serverService: ServiceRole<ServerFlags> = {
  name: "smcp-server",
  summary: "A2C-SMCP Server: offices of agents and computers",
  example: "--port 8787",
  words: [],
  addFlags: addSettings,
  except: [],
  // The definition may name a file of keys, but must not contain keys.
  findSecret: (flag, text) =>
    flag === "--api-keys" && text.trimStart().startsWith("[")
      ? ["SMCP_API_KEYS", text]
      : undefined,
  permissions: ({ logFile, signInFile }) => [
    "--allow-net",
    "--allow-env",
    "--allow-read",
    ...(logFile ?? signInFile ? ["--allow-write"] : []),
  ],
  async check(flags, env, kept) {
    const { loadChecked } = await import("./serve.ts");
    loadChecked(readSettings(flags, { ...kept, ...env }));
    const secrets = [JWT_SECRET, SIGN_IN_SECRET, CLIENT_SECRET].flatMap(
      (name) => {
        const secret = env[name];
        return secret ? [[name, secret]] : [];
      },
    );
    return { variables: Object.fromEntries(secrets), notes: [] };
  },
};

const ROLES = ["agent", "computer", "operator"];
const DAY_SECONDS = 86_400;

const operatorCommand = (
  program: Command,
  name: string,
  summary: string,
  ...examples: string[]
): Command =>
  addAddressFlags(addHelp(program.command(name), summary, examples));

const loadOperate = () => import("./operate.ts");

/** Adds the commands that show what a running Server has; each loads its code when it runs. */
function addViews(program: Command): void {
  operatorCommand(
    program,
    "offices",
    "List the offices of a running Server",
    "smcp-server offices --token $TOKEN",
  ).addOption(json())
    .action(async (flags) => (await loadOperate()).offices(flags));
  const lists = [
    ["members", "List the members of an office"],
    ["calls", "List the calls in flight in an office"],
  ] as const;
  for (const [name, summary] of lists) {
    operatorCommand(program, name, summary, `smcp-server ${name} team-a`)
      .argument("<office>", "the office's id")
      .addOption(json())
      .action(async (office, flags) =>
        (await loadOperate())[name](office, flags)
      );
  }
  operatorCommand(
    program,
    "watch",
    "Print events, one a line, until Ctrl-C",
    "smcp-server watch",
    "smcp-server watch team-a --json",
  ).argument("[office]", "the office's id; default: all that you may see")
    .addOption(json())
    .action(async (office, flags) =>
      (await loadOperate()).watch(office, flags)
    );
}

/** Adds the commands that change something in offices. */
function addChanges(program: Command): void {
  operatorCommand(
    program,
    "kick",
    "Kick a member out of its office",
    'smcp-server kick team-a laptop --reason "maintenance"',
    "smcp-server kick team-a laptop --hold 0   # it may rejoin immediately",
  ).argument("<office>", "the office's id").argument("<name>", "its name")
    .addOption(reason())
    .addOption(
      flag("--role <role>", "where an agent and a computer have the same name")
        .choices(["agent", "computer"]),
    )
    .addOption(
      flag(
        "--hold <seconds>",
        "for how long its joins are refused with the reason; 0: not at all",
      ).default(60).argParser(integer(0, DAY_SECONDS)),
    )
    .action(async (office, name, flags) =>
      (await loadOperate()).kick(office, name, flags)
    );
  operatorCommand(
    program,
    "cancel",
    "End a call for its agent, and cancel it on its computer",
    'smcp-server cancel team-a 42 --reason "it hangs"',
  ).argument("<office>", "the office's id")
    .argument("<req_id>", "its id, as `calls` and the audit log have it")
    .addOption(reason())
    .action(async (office, id, flags) =>
      (await loadOperate()).cancel(office, id, flags)
    );
}

const loadGrants = () => import("./grants.ts");

/** Adds the commands for programs that signed in. */
function addGrants(program: Command): void {
  // None is of the environment: SMCP_OFFICE is that of clients, and would end what nobody named.
  const key = () =>
    new Option(
      "--key <id>",
      "those of this key: its id, or a whole principal such as jwt:ada",
    );
  const office = () => new Option("--office <office>", "those of this office");
  const grants = operatorCommand(
    program,
    "grants",
    "List the programs that signed in, or end that",
    "smcp-server grants --office home",
    "smcp-server grants end --key laptop",
  ).addOption(office()).addOption(key()).addOption(json())
    .allowExcessArguments(false)
    // Those of `end` have the same names.
    .enablePositionalOptions()
    .action(async (flags) => (await loadGrants()).grants(flags));
  operatorCommand(
    grants,
    "end",
    "End a sign-in, or all of a key or an office: the program has to ask again",
    "smcp-server grants end 5f0c9a --reason 'the laptop is lost'",
    "smcp-server grants end --office home",
  ).argument("[id]", "its id, as `grants` shows it")
    .addOption(key())
    .addOption(office())
    .addOption(reason("the reason, for the audit log"))
    .action(async (id, flags) => (await loadGrants()).endGrants(id, flags));
}

const loadKeys = () => import("./keys.ts");

const keysFile = (): Option =>
  flag("--api-keys <file>", "the JSON file of --api-keys")
    .makeOptionMandatory();

/** Adds the commands for API keys, most of them without a Server. */
function addKeys(program: Command): void {
  const key = addHelp(
    program.command("key"),
    "Make, list and revoke API keys",
    [
      "smcp-server key add laptop --roles computer --offices 'team-*'",
      "smcp-server key list",
    ],
  );
  addKeyAdd(key);
  addHelp(key.command("list"), "List the keys, with their rights and expiry", [
    "smcp-server key list --api-keys keys.json",
  ]).addOption(keysFile()).addOption(json())
    .action(async (flags) => (await loadKeys()).keyList(flags));
  operatorCommand(
    key,
    "revoke",
    "Remove a key from its file, and make a running Server refuse it",
    "smcp-server key revoke laptop   # until the Server reads its keys again",
    "smcp-server key revoke laptop --api-keys keys.json   # permanently",
  ).argument("<id>", "its id")
    .addOption(
      new Option("--api-keys <file>", "remove it from this file, first"),
    )
    .addOption(reason())
    .action(async (id, flags) => (await loadKeys()).keyRevoke(id, flags));
}

function addKeyAdd(key: Command): void {
  addHelp(key.command("add"), "Make a key, print it once, and store its hash", [
    "smcp-server key add laptop --api-keys keys.json --roles computer",
    "smcp-server key add guest --api-keys keys.json --expires 90d",
    "smcp-server key add ops --api-keys keys.json --roles operator",
  ]).argument("<id>", "names the holder, in logs too")
    .addOption(keysFile())
    .addOption(
      flag(
        "--roles <list>",
        `the roles of its holder: ${
          ROLES.join(", ")
        } (default: agent and computer)`,
      ).argParser(roles),
    )
    .addOption(
      flag("--offices <list>", "offices that it may join; * matches any text")
        .argParser(patterns),
    )
    .addOption(
      flag("--names <list>", "names that it may have, likewise")
        .argParser(patterns),
    )
    .addOption(
      flag(
        "--expires <when>",
        "when it expires: in a time such as 90d, 12h or 8w, or at one such as 2027-01-31T00:00:00Z (default: never)",
      ).argParser(expiry),
    )
    .addOption(json())
    .action(async (id, flags) => (await loadKeys()).keyAdd(id, flags));
}

const reason = (text = "the reason that members get"): Option =>
  flag("--reason <text>", text)
    .default("no reason was given");

const json = (): Option => flag("--json", "print JSON");

const patterns = (text: string): string[] => {
  const list = text.split(",").map((part) => part.trim());
  if (list.every((part) => part !== "")) return list;
  throw new InvalidArgumentError(
    "Expected a list separated by commas without empty entries.",
  );
};

const roles = (text: string): string[] => {
  const list = patterns(text);
  if (list.every((part) => ROLES.includes(part))) return list;
  throw new InvalidArgumentError(
    `Expected one or more of ${ROLES.join(", ")}, separated by commas.`,
  );
};

const HOURS = { h: 1, d: 24, w: 7 * 24 } as const;
const HOUR_MS = 3_600_000;

/** Parses when a key expires; returns milliseconds since 1970. */
function expiry(text: string): number {
  const [, count, unit] = /^(\d{1,6})([hdw])$/.exec(text) ?? [];
  const time = unit === "h" || unit === "d" || unit === "w"
    ? Date.now() + Number(count) * HOURS[unit] * HOUR_MS
    : parseExpiry(text);
  if (time === undefined) {
    throw new InvalidArgumentError(
      "Expected a time from now such as 90d, 12h or 8w, or one such as 2027-01-31T00:00:00Z.",
    );
  }
  if (time > Date.now()) return time;
  throw new InvalidArgumentError("Expected a time in the future.");
}
