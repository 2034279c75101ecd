/**
 * The server's command.
 *
 * Runs with `--allow-net --allow-env --allow-read --allow-sys` alone. One line on stdout when it
 * listens, logs on stderr. SIGINT and SIGTERM drain; a second one exits at once.
 *
 * @module
 */
import process from "node:process";
import { configure, getTextFormatter } from "@logtape/logtape";
import { PROFILES } from "../protocol/mod.ts";
import { CommandExit, readSettings, type Settings } from "./_command.ts";
import { failure, log } from "./_log.ts";
import { createSmcpServer, type SmcpServer } from "./mod.ts";

const GRACE_MS = 10_000;

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2), process.env);
  await logToStderr();
  // No fault of one connection may end the others.
  process.on("uncaughtException", (e) => log.error("Uncaught", failure(e)));
  process.on("unhandledRejection", (e) => log.error("Unhandled", failure(e)));
  const server = createSmcpServer(settings);
  const { url } = await listen(server, settings);
  drainOnSignal(server); // before the line: who has read it may send one
  console.log(
    `A2C-SMCP ${
      PROFILES[settings.protocol].version
    } server listening on ${url} (paths /smcp/ and /socket.io/, health ${url}/health)`,
  );
}

async function listen(server: SmcpServer, { host, port }: Settings) {
  try {
    return await server.listen({ hostname: host, port });
  } catch (error) {
    const code = error instanceof Error && "code" in error
      ? error.code
      : undefined;
    return fail(
      1,
      `error: cannot listen on ${host} port ${port}: ${
        LISTEN_ERRORS[String(code)] ?? (error as Error).message
      }`,
    );
  }
}

const LISTEN_ERRORS: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is in use",
  EACCES: "no permission for this port",
  EADDRNOTAVAIL: "this machine does not have the address",
  ENOTFOUND: "the host is unknown",
};

function drainOnSignal(server: SmcpServer): void {
  let draining = false;
  for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    process.on(signal, async () => {
      if (draining) process.exit(code);
      draining = true;
      log.info(`${signal}: draining`);
      await server.close({ graceMs: GRACE_MS });
      process.exit(0);
    });
  }
}

async function logToStderr(): Promise<void> {
  const format = getTextFormatter();
  await configure({
    sinks: { stderr: (record) => void process.stderr.write(format(record)) },
    loggers: [
      { category: ["a2c-smcp"], lowestLevel: "info", sinks: ["stderr"] },
      {
        category: ["logtape", "meta"],
        lowestLevel: "warning",
        sinks: ["stderr"],
      },
    ],
  });
}

function fail(code: number, line: string): never {
  console.error(line);
  process.exit(code);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof CommandExit)) throw error;
  if (error.message !== "") console.error(error.message);
  process.exit(error.exitCode);
}
