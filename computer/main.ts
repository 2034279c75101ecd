/**
 * The Computer's command: hosts the MCP servers of a configuration file in an office.
 *
 * ```sh
 * deno run -A computer/main.ts run --url http://127.0.0.1:8787 --office demo --config computer.json
 * ```
 *
 * @module
 */
import { Command, Option } from "commander";
import process from "node:process";
import { addCompletion } from "../protocol/cli/completion.ts";
import { reporting, runCommand } from "../protocol/cli/run.ts";
import { addServerFlags } from "../protocol/cli/server_flags.ts";
import { PROTOCOL_VERSION } from "../protocol/mod.ts";
import { check } from "./cli/check.ts";
import {
  addHostFlags,
  addOffice,
  addRunFlags,
  addServingFlags,
} from "./cli/flags.ts";
import { importConfig } from "./cli/import.ts";
import { run } from "./cli/run.ts";
import { historyFile, shell } from "./cli/shell.ts";

const EXAMPLES = `
Examples:
  $ smcp-computer import --out computer.json   # what Claude Desktop, Cursor, VS Code, Windsurf have
  $ smcp-computer check --config computer.json
  $ smcp-computer run --config computer.json --office demo --url http://127.0.0.1:8787

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

Exit codes: 0 stopped by SIGINT, SIGTERM or SIGHUP, 1 failed, 2 wrong usage.`;

const program = reporting(new Command("smcp-computer"), process.env)
  .description("Offer the tools of MCP servers in an office of A2C-SMCP")
  .version(PROTOCOL_VERSION)
  .addHelpText("after", EXAMPLES);

addOffice(addRunFlags(program.command("run")))
  .description("Start the MCP servers and serve until stopped")
  .action(run);

addHostFlags(program.command("check"))
  .description(
    "Start each MCP server once; say what is there, and what is wrong",
  )
  .addOption(new Option("--json", "print JSON").env("SMCP_JSON"))
  .action(check);

program.command("import")
  .description("Write a configuration of what other programs have")
  .addOption(
    new Option("--from <file>", "this file instead of those that are known")
      .env("SMCP_FROM"),
  )
  .addOption(
    new Option("--out <file>", "the file to write")
      .env("SMCP_OUT").default("computer.json"),
  )
  .addOption(
    new Option("--force", "replace a file that is there").env("SMCP_FORCE"),
  )
  .addOption(
    new Option("--dry-run", "show what would be written, write nothing")
      .env("SMCP_DRY_RUN"),
  )
  .addOption(new Option("--json", "print JSON").env("SMCP_JSON"))
  .action(importConfig);

addOffice(
  addServingFlags(addServerFlags(program.command("shell")), false),
  false,
)
  .description("Command a Computer line by line")
  .addOption(
    new Option("--history <file>", "keep the lines in this file")
      .env("SMCP_HISTORY").default(historyFile()),
  )
  .action(shell);

addCompletion(program, (script) => console.log(script));

process.exitCode = await runCommand(
  program,
  process.argv.slice(2),
  (line) => console.error(line),
);
