/**
 * The Computer's command: hosts the MCP servers of a configuration file in an office.
 *
 * ```sh
 * deno run -A computer/main.ts run --url http://127.0.0.1:8787 --office demo --config computer.json
 * ```
 *
 * @module
 */
import { Command, InvalidArgumentError, Option } from "commander";
import { hostname } from "node:os";
import process from "node:process";
import { addCredentials } from "../protocol/cli/credentials.ts";
import { reporting, runCommand } from "../protocol/cli/run.ts";
import { PROTOCOL_VERSION } from "../protocol/mod.ts";
import { reasonOf } from "./_values.ts";
import { defaultOAuthDirectory } from "./authorization/default_directory.ts";
import { parseInputFlag } from "./inputs/input_names.ts";
import { run } from "./run_command.ts";

const EXAMPLES = `
A configuration file:
  {
    "servers": {
      "files": {
        "type": "stdio",
        "server_parameters": {
          "command": "npx",
          "args": ["-y", "@modelcontextprotocol/server-filesystem", "."]
        }
      }
    }
  }

Exit codes: 0 stopped by SIGINT, SIGTERM or SIGHUP, 1 failed, 2 wrong usage.
Every option can be set in the environment: SMCP_URL, SMCP_PATH, SMCP_OFFICE, SMCP_NAME, SMCP_CONFIG,
SMCP_DPE_DIR, SMCP_OAUTH_DIR, SMCP_API_KEY, SMCP_TOKEN.`;

const program = reporting(new Command("smcp-computer"))
  .description("Offer the tools of MCP servers in an office of A2C-SMCP")
  .version(PROTOCOL_VERSION)
  .addHelpText("after", EXAMPLES);

addCredentials(program.command("run"))
  .description("Start the MCP servers and serve until stopped")
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
    new Option("--name <name>", "the name to join with; unique in the office")
      .env("SMCP_NAME").default(hostname(), "this machine's name"),
  )
  .addOption(
    new Option("--config <file>", "the MCP servers to host")
      .env("SMCP_CONFIG").makeOptionMandatory(),
  )
  .addOption(
    new Option(
      "--dpe-dir <dir>",
      "publish documents as files of this directory, for agents on this disk",
    ).env("SMCP_DPE_DIR"),
  )
  .addOption(
    new Option(
      "--oauth-dir <dir>",
      "keep authorizations for MCP servers in files of this directory",
    ).env("SMCP_OAUTH_DIR").default(defaultOAuthDirectory(process.env)),
  )
  .addOption(
    new Option(
      "--input <id=value>",
      "the value of an input; repeatable, and seen by everybody who lists processes: the environment's SMCP_INPUT_<ID> is not",
    ).argParser(collectInput).default({}, "none"),
  )
  .addOption(
    new Option("--yes", "run tools without auto_apply unasked")
      .env("SMCP_YES"),
  )
  .addOption(
    new Option("--watch", "take the configuration anew whenever it changes")
      .env("SMCP_WATCH"),
  )
  .action(run);

process.exitCode = await runCommand(
  program,
  process.argv.slice(2),
  (line) => console.error(line),
);

function collectInput(
  text: string,
  before: Record<string, string>,
): Record<string, string> {
  try {
    const [id, value] = parseInputFlag(text);
    return { ...before, [id]: value };
  } catch (error) {
    throw new InvalidArgumentError(reasonOf(error));
  }
}
