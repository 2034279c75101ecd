/**
 * The server's command.
 *
 * ```sh
 * deno run --allow-net --allow-env --allow-read server/main.ts --port 8787
 * ```
 *
 * Runs with `--allow-net --allow-env --allow-read` alone, and `--allow-write` for a log
 * file or one of sign-ins. One line on stdout when it listens, logs on stderr. SIGINT and SIGTERM drain; a second one
 * exits immediately. SIGHUP reloads keys and certificates, and reopens the log file; when the
 * terminal of the process was closed, it drains as well.
 *
 * @module
 */
import "../cli/prepare.ts";
import process from "node:process";
import { endProcess } from "../cli/run.ts";
import { runServer } from "./cli/command.ts";

const code = await runServer(
  process.argv.slice(2),
  async () => (await import("../mcp/mod.ts")).mcpGateway,
);
await endProcess(code);
