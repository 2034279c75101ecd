/**
 * The server's command.
 *
 * ```sh
 * deno run --allow-net --allow-env --allow-read server/main.ts --port 8787
 * ```
 *
 * Runs with `--allow-net --allow-env --allow-read` alone, and `--allow-write` for a log
 * file. One line on stdout when it listens, logs on stderr. SIGINT and SIGTERM drain; a second one
 * exits at once. SIGHUP reads keys and certificates again, and opens the log file again; without any
 * of those it ends the process, as a closed terminal should.
 *
 * @module
 */
import "../cli/prepare.ts";
import process from "node:process";
import { runServer } from "./cli/command.ts";

process.exitCode = await runServer(
  process.argv.slice(2),
  async () => (await import("../mcp/mod.ts")).mcpGateway,
);
