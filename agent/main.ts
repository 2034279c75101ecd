/**
 * The Agent's command: inspects an office and calls tools.
 *
 * ```sh
 * deno run -A agent/main.ts tools --url http://127.0.0.1:8787 --office demo
 * ```
 *
 * @module
 */
import "../cli/prepare.ts";
import process from "node:process";
import { endProcess } from "../cli/run.ts";
import { runAgent } from "./cli/command.ts";

const code = await runAgent(
  process.argv.slice(2),
  async () => (await import("../mcp/mod.ts")).pipeOffice,
);
await endProcess(code);
