/**
 * The definition of `smcp-agent`: its subcommands with their options. What they do is loaded when one
 * runs, so that the help stays fast.
 *
 * @module
 */
import process from "node:process";
import { Command, InvalidArgumentError, type Option } from "commander";
import { printContent } from "../../cli/print.ts";
import type { LoadMcp } from "./mcp.ts";
import { addCompletion } from "../../cli/completion.ts";
import {
  addHelp,
  addOptions,
  integer,
  option,
  readName,
} from "../../cli/flags.ts";
import { commandHint } from "../../cli/own_command.ts";
import { reporting, runCommand } from "../../cli/run.ts";
import { addServerFlags } from "../../cli/server_flags.ts";
import { describeVersions } from "../../cli/version.ts";

const AFTER_HELP = `
Exit codes: 0 done, 1 failed (also when the tool itself failed), 2 wrong usage.
An office has one agent at a time. Where the Server serves MCP, commands share its seat with MCP clients
at /mcp/OFFICE, as the Agent "mcp". Elsewhere, and with --follow, a --protocol or watch, a command takes
the seat, and leaves it at its end; MCP clients make way for it when no call of theirs is in flight.`;

const AFTER_MCP = `
For Claude Code, from a clone:
  claude mcp add office -- deno run -A agent/main.ts mcp --office demo

Any number of copies can run at once: they share the seat that the Server takes at /mcp/OFFICE. Of a
Server without MCP the first copy takes the seat; the others show no tools, and why, until it is free.
Stdout belongs to the messages; errors go to stderr. It ends with its client.`;

/**
 * Runs the Agent's command.
 *
 * @param args without the program's own name
 * @param loadMcp loads what serves MCP; an Agent must not import it itself
 * @returns the exit code
 */
export const runAgent = (
  args: readonly string[],
  loadMcp: LoadMcp,
): Promise<number> => runCommand(() => agentCommand(loadMcp), args);

/** Creates the Agent's command. */
export function agentCommand(loadMcp: LoadMcp): Command {
  const program = addHelp(
    reporting(new Command("smcp-agent"), process.env),
    "Inspect an office of A2C-SMCP and call its tools",
    [
      "export SMCP_URL=http://127.0.0.1:8787 SMCP_OFFICE=demo",
      "smcp-agent members",
      "smcp-agent tools",
      "smcp-agent call read_text_file --arg path=notes.txt",
    ],
  ).version(describeVersions()).addHelpText(
    "after",
    AFTER_HELP + commandHint("smcp-agent", process.execPath),
  );
  addTools(program);
  addContents(program);
  addSkills(program);
  addOthers(program);
  addMcp(program, loadMcp);
  addCompletion(program, printContent);
  return program;
}

/** Adds a subcommand that joins an office. */
const addInOffice = (
  program: Command,
  name: string,
  summary: string,
  examples: string[],
): Command =>
  addOfficeFlags(
    addHelp(
      program.command(name),
      summary,
      examples.map((line) => `smcp-agent ${line} --office demo`),
    ),
  );

/** Adds a subcommand that prints what it gets, as JSON too. */
const addQuery = (
  program: Command,
  [name, summary]: readonly [name: string, summary: string],
  examples: string[],
  ...options: Option[]
): Command =>
  addOptions(
    addInOffice(program, name, summary, examples),
    option("--json", "print JSON"),
    ...options,
  );

/** Adds one that asks a Computer: the only one, unless it is named. */
const addAtComputer = (
  program: Command,
  about: readonly [name: string, summary: string],
  examples: string[],
  ...options: Option[]
): Command => addQuery(program, about, examples, ...options, computerOption());

function addTools(program: Command): void {
  addQuery(program, ["members", "List the members of the office"], ["members"])
    .action(async (flags) => (await looking()).members(flags));
  addQuery(
    program,
    ["tools", "List the tools of the office"],
    ["tools", "tools --verbose"],
    computerOption(),
    option("--verbose", "show the parameters of each tool"),
  ).action(async (flags) => (await looking()).tools(flags));
  addAtComputer(
    program,
    ["call", "Call a tool; a terminal shows how far it is, Ctrl-C cancels it"],
    [
      "call read_text_file --arg path=notes.txt",
      `call echo --params '{"message": "hello"}'`,
      "call build --timeout 600 --computer laptop",
    ],
    argOption("an argument of the tool, read by its schema; repeatable"),
    option(
      "--params <json>",
      "all arguments as a JSON object; @FILE and - read it from a file or stdin",
    ).conflicts("arg"),
    option(
      "--timeout <seconds>",
      "1 to 3600; it stands still while the call waits for confirmation",
    ).argParser(integer(1, 3600)).default(60),
    option(
      "--confirmation-timeout <seconds>",
      "how long it may wait for a person who confirms it, 0 to 3600; with 0, --timeout runs meanwhile",
    ).argParser(integer(0, 3600)).default(300),
  )
    .argument("<tool>", "its name, as `tools` lists it")
    .action(async (tool, flags) => (await calling()).call(tool, flags));
}

function addContents(program: Command): void {
  addAtComputer(
    program,
    ["desktop", "Show the windows of a Computer"],
    ["desktop", "desktop --follow --size 3"],
    option("--follow", "show them again after each change, until Ctrl-C"),
    option("--size <count>", "how many windows at most")
      .argParser(integer(0, 10_000)),
    option("--window <uri>", "only the window with this URI"),
  ).action(async (flags) => (await following()).desktop(flags));
  addAtComputer(program, ["resources", "List the resources of MCP servers"], [
    "resources files",
  ])
    .argument("[mcp_server]", "only of this one")
    .action(async (server, flags) =>
      (await looking()).resources(server, flags)
    );
  addAtComputer(
    program,
    ["docs", "Search the documents of a Computer"],
    ["docs", "docs quarterly report --type pdf"],
    option("--type <file_type>", "only these, such as pdf"),
    option("--offset <count>", "how many to skip")
      .argParser(integer(0, 1_000_000_000)).default(0),
    option("--limit <count>", "how many to show, 1 to 100")
      .argParser(integer(1, 100)).default(20),
  )
    .argument("[query...]", "words in title, keywords or summary; any counts")
    .action(async (words, flags) => (await reading()).docs(words, flags));
  addAtComputer(
    program,
    ["read", "Print a document as Markdown, or a resource of an MCP server"],
    [
      "read dpe://files/report.pdf",
      "read demo://resource/static/document/features.md everything",
      "read image://logo pictures --output logo.png",
    ],
    option("--output <file>", "write the contents there, binary or text"),
  )
    .argument(
      "<uri>",
      "dpe://HOST/DOCUMENT, as `docs` lists it, or that of a resource",
    )
    .argument("[mcp_server]", "read it there, as `resources` lists it")
    .action(async (uri, server, flags) =>
      server === undefined
        ? (await reading()).read(uri, flags)
        : (await reading()).readResource(uri, server, flags)
    );
}

function addSkills(program: Command): void {
  addAtComputer(
    program,
    ["prompts", "List the prompts of a Computer"],
    ["prompts"],
  ).action(async (flags) => (await reading()).prompts(flags));
  addAtComputer(
    program,
    ["prompt", "Show a prompt of an MCP server, filled in"],
    ["prompt args-prompt everything --arg city=Paris"],
    argOption("an argument of the prompt; repeatable"),
  )
    .argument("<prompt>", "its name, as `prompts` lists it")
    .argument("<mcp_server>", "the MCP server that has it")
    .action(async (name, server, flags) =>
      (await reading()).prompt(name, server, flags)
    );
  addAtComputer(
    program,
    ["instructions", "Show what MCP servers instruct models to"],
    ["instructions"],
  ).action(async (flags) => (await reading()).instructions(flags));
  addAtComputer(
    program,
    ["skills", "List the skills of a Computer"],
    ["skills"],
  )
    .action(async (flags) => (await reading()).skills(flags));
  addAtComputer(
    program,
    ["skill", "Print a skill, or a file of it"],
    [
      "skill pdf-forms",
      "skill pdf-forms references/fields.md",
      "skill pdf-forms scripts/fill.py --output fill.py",
    ],
    option("--output <file>", "write the file there, binary or text"),
  )
    .argument("<skill>", "its name, as `skills` lists it")
    .argument("[path]", "a file in its folder; default: SKILL.md")
    .action(async (name, path, flags) =>
      (await reading()).skill(name, path, flags)
    );
}

function addOthers(program: Command): void {
  addAtComputer(
    program,
    ["put", "Put a file on a Computer, and print where it is there"],
    ["put report.pdf", "put photo.jpg --computer laptop"],
  )
    .argument("<file>", "the file on this machine")
    .action(async (file, flags) => (await calling()).put(file, flags));
  addAtComputer(program, ["config", "Show the configuration of a Computer"], [
    "config",
  ]).action(async (flags) => (await looking()).config(flags));
  addQuery(program, [
    "watch",
    "Print every notification of the office, until Ctrl-C",
  ], ["watch", "watch --json"]).action(async (flags) =>
    (await following()).watch(flags)
  );
}

function addMcp(program: Command, loadMcp: LoadMcp): void {
  const mcp = addInOffice(
    program,
    "mcp",
    "Serve the office to an MCP client, over stdin and stdout",
    [
      "mcp",
      "mcp --computer laptop --exclude 'delete_*'",
      "mcp --tools search",
    ],
  );
  addOptions(mcp, ...mcpOptions()).addHelpText("after", AFTER_MCP)
    .action(async (flags) => (await import("./mcp.ts")).mcp(flags, loadMcp));
}

// Loaded when a subcommand runs, so that the help stays fast.
const looking = () => import("./look.ts");
const following = () => import("./follow.ts");
const reading = () => import("./read.ts");
const calling = () => import("./call.ts");

const addOfficeFlags = (command: Command): Command =>
  addServerFlags(command)
    .addOption(
      option("--office <office>", "the office to join")
        .argParser(readName("--office", "SMCP_OFFICE")).makeOptionMandatory(),
    )
    .addOption(
      option("--name <name>", "the name to join with")
        .argParser(readName("--name", "SMCP_NAME")).default("agent"),
    );

const computerOption = (summary = "only this Computer"): Option =>
  option("--computer <name>", summary);

const argOption = (summary: string): Option =>
  option("--arg <name=value>", summary)
    .argParser(collectPairs).default([], "none");

/** Splits `NAME=VALUE`; undefined when there is no name or no `=`. */
export function splitPair(text: string): [string, string] | undefined {
  const sign = text.indexOf("=");
  return sign > 0 ? [text.slice(0, sign), text.slice(sign + 1)] : undefined;
}

function collectPairs(
  text: string,
  before: [string, string][],
): [string, string][] {
  const pair = splitPair(text);
  if (pair) return [...before, pair];
  throw new InvalidArgumentError(
    "Expected NAME=VALUE, such as path=notes.txt.",
  );
}

/** The options of the command `mcp`, beside those of every command. */
const mcpOptions = (): Option[] => [
  computerOption("only the tools of this Computer, under their own names"),
  patternOption("include", "only tools that match"),
  patternOption("exclude", "no tools that match"),
  option(
    "--tools <which>",
    "all tools, or two to search and call them with, for clients that cannot hold many",
  ).choices(["all", "search"]),
  option(
    "--name-limit <count>",
    "the most characters of a tool's name, 24 to 128 (default: 48)",
  ).argParser(integer(24, 128)),
  option(
    "--desktop-tools",
    "add tools that read windows and documents, for clients that show models no resources",
  ),
  option(
    "--timeout <seconds>",
    "cancel a call after this time, 1 to 3600 (default: 3600, the client decides)",
  ).argParser(integer(1, 3600)),
];

const patternOption = (name: string, what: string): Option =>
  option(
    `--${name} <pattern>`,
    `${what}, such as laptop__* or tag:safe; repeatable`,
  ).argParser((pattern, before: string[]) => [...before, pattern])
    .default([], "none");
