/**
 * The Computer's command: hosts the MCP servers of a configuration file in an office.
 *
 * ```sh
 * deno run -A computer/main.ts run --url http://127.0.0.1:8787 --office demo --config computer.json
 * ```
 *
 * @module
 */
import "../cli/prepare.ts";
import process from "node:process";
import { endProcess } from "../cli/run.ts";
import { runComputer } from "./cli/command.ts";

const code = await runComputer(process.argv.slice(2));
await endProcess(code);
