/**
 * The Agent's command: looks into an office and calls tools by hand.
 *
 * ```sh
 * deno run -A agent/main.ts tools --url http://127.0.0.1:8787 --office demo
 * ```
 *
 * @module
 */
import { Command, InvalidArgumentError, Option } from "commander";
import process from "node:process";
import { addCompletion } from "../protocol/cli/completion.ts";
import { reporting, runCommand } from "../protocol/cli/run.ts";
import { addServerFlags } from "../protocol/cli/server_flags.ts";
import { PROTOCOL_VERSION } from "../protocol/mod.ts";
import { call } from "./cli/call.ts";
import { docs, read } from "./cli/documents.ts";
import { desktop, watch } from "./cli/follow.ts";
import { config, members, resources, tools } from "./cli/look.ts";
import { splitPair } from "./cli/tool_arguments.ts";

const EXAMPLES = `
Examples:
  $ export SMCP_URL=http://127.0.0.1:8787 SMCP_OFFICE=demo
  $ smcp-agent members
  $ smcp-agent tools --computer laptop
  $ smcp-agent call read_text_file --arg path=notes.txt --arg head=10
  $ smcp-agent call echo --params '{"message":"hello"}'
  $ smcp-agent desktop --follow
  $ smcp-agent docs quarterly report
  $ smcp-agent read dpe://files/report.pdf > report.md

Exit codes: 0 done, 1 failed (also when the tool itself failed), 2 wrong usage.
An office has one agent at a time: each command takes its seat, and gives it up at its end.`;

const program = reporting(new Command("smcp-agent"), process.env)
  .description("Look into an office of A2C-SMCP and call the tools in it")
  .version(PROTOCOL_VERSION)
  .addHelpText("after", EXAMPLES);

add("members", "List the members of the office").action(members);

addForComputer("tools", "List the tools of the office").action(tools);

addForComputer("call", "Call a tool; Ctrl-C cancels it")
  .argument("<tool>", "its name, as `tools` lists it")
  .addOption(
    new Option(
      "--arg <name=value>",
      "an argument of the tool, read by its schema; repeatable",
    ).env("SMCP_ARG").argParser(collectPairs).default([], "none"),
  )
  .addOption(
    new Option(
      "--params <json>",
      "all arguments as a JSON object; @FILE and - read it from a file or stdin",
    ).env("SMCP_PARAMS").conflicts("arg"),
  )
  .addOption(
    new Option("--timeout <seconds>", "1 to 3600")
      .env("SMCP_TIMEOUT").argParser(integer(1, 3600)).default(60),
  )
  .action(call);

addForComputer("desktop", "Show the windows of a Computer")
  .addOption(
    new Option("--follow", "show them again after each change, until Ctrl-C")
      .env("SMCP_FOLLOW"),
  )
  .addOption(
    new Option("--size <count>", "how many windows at most")
      .env("SMCP_SIZE").argParser(integer(0, 10_000)),
  )
  .addOption(
    new Option("--window <uri>", "only the window with this URI")
      .env("SMCP_WINDOW"),
  )
  .action(desktop);

addForComputer("resources", "List the resources of MCP servers")
  .argument("[mcp_server]", "only of this one")
  .action(resources);

addForComputer("docs", "Search the documents of a Computer")
  .argument("[query...]", "words in title, keywords or summary; any counts")
  .addOption(
    new Option("--type <file_type>", "only these, such as pdf")
      .env("SMCP_TYPE"),
  )
  .addOption(
    new Option("--offset <count>", "how many to skip")
      .env("SMCP_OFFSET").argParser(integer(0, 1_000_000_000)).default(0),
  )
  .addOption(
    new Option("--limit <count>", "how many to show, 1 to 100")
      .env("SMCP_LIMIT").argParser(integer(1, 100)).default(20),
  )
  .action(docs);

addForComputer("read", "Print a document as Markdown")
  .argument("<uri>", "dpe://HOST/DOCUMENT, as `docs` lists it")
  .action(read);

addForComputer("config", "Show the configuration of a Computer")
  .action(config);

add("watch", "Print every notification of the office, until Ctrl-C")
  .action(watch);

addCompletion(program, (script) => console.log(script));

process.exitCode = await runCommand(
  program,
  process.argv.slice(2),
  (line) => console.error(line),
);

function add(name: string, description: string): Command {
  return addServerFlags(program.command(name).description(description))
    .addOption(
      new Option("--office <office>", "the office to join")
        .env("SMCP_OFFICE").makeOptionMandatory(),
    )
    .addOption(
      new Option("--name <name>", "the name to join with")
        .env("SMCP_NAME").default("agent"),
    )
    .addOption(new Option("--json", "print JSON").env("SMCP_JSON"));
}

function addForComputer(name: string, description: string): Command {
  return add(name, description).addOption(
    new Option("--computer <name>", "only this Computer").env("SMCP_COMPUTER"),
  );
}

function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(
      `Expected a whole number from ${min} to ${max}.`,
    );
  };
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
