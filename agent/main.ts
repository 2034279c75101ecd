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
import { addCredentials } from "../protocol/cli/credentials.ts";
import { reporting, runCommand } from "../protocol/cli/run.ts";
import { PROTOCOL_VERSION } from "../protocol/mod.ts";
import { call, members, tools } from "./commands.ts";

const EXAMPLES = `
Examples:
  $ smcp-agent members --url http://127.0.0.1:8787 --office demo
  $ smcp-agent tools   --url http://127.0.0.1:8787 --office demo --computer laptop
  $ smcp-agent call echo --params '{"message":"hello"}' --url http://127.0.0.1:8787 --office demo

Exit codes: 0 done, 1 failed (also when the tool itself failed), 2 wrong usage.
Every option can be set in the environment: SMCP_URL, SMCP_PATH, SMCP_OFFICE, SMCP_NAME, SMCP_COMPUTER, SMCP_TIMEOUT,
SMCP_API_KEY, SMCP_TOKEN.`;

const program = reporting(new Command("smcp-agent"))
  .description("Look into an office of A2C-SMCP and call the tools in it")
  .version(PROTOCOL_VERSION)
  .addHelpText("after", EXAMPLES);

add("members", "List the members of the office").action(members);

add("tools", "List the tools of the office")
  .addOption(computerOption())
  .action(tools);

add("call", "Call a tool; Ctrl-C cancels it")
  .argument("<tool>", "its name, as `tools` lists it")
  .addOption(computerOption())
  .option("--params <json>", "the tool's arguments", jsonObject, {})
  .addOption(
    new Option("--timeout <seconds>", "1 to 3600")
      .env("SMCP_TIMEOUT").argParser(seconds).default(60),
  )
  .action(call);

process.exitCode = await runCommand(
  program,
  process.argv.slice(2),
  (line) => console.error(line),
);

function add(name: string, description: string): Command {
  return addCredentials(program.command(name).description(description))
    .addOption(
      new Option("--url <url>", "address of the Server")
        .env("SMCP_URL").default("http://127.0.0.1:8787"),
    )
    .addOption(
      new Option(
        "--path <path>",
        "HTTP path of the Server's Socket.IO endpoint; /socket.io/ for one of the Python SDK",
      ).env("SMCP_PATH").default("/smcp/"),
    )
    .addOption(
      new Option("--office <office>", "the office to join")
        .env("SMCP_OFFICE").makeOptionMandatory(),
    )
    .addOption(
      new Option("--name <name>", "the name to join with")
        .env("SMCP_NAME").default("agent"),
    )
    .option("--json", "print JSON");
}

function computerOption(): Option {
  return new Option("--computer <name>", "only this Computer")
    .env("SMCP_COMPUTER");
}

function seconds(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= 3600) return value;
  throw new InvalidArgumentError("Expected whole seconds, 1 to 3600.");
}

function jsonObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new InvalidArgumentError(
      `Not JSON: ${error instanceof Error ? error.message : error}.`,
    );
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return { ...value };
  }
  throw new InvalidArgumentError(`Expected an object such as '{"a": 1}'.`);
}
