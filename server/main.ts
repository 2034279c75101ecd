/**
 * The server's command.
 *
 * ```sh
 * deno run --allow-net --allow-env --allow-read server/main.ts --port 8787
 * ```
 *
 * Runs with `--allow-net --allow-env --allow-read` alone, and `--allow-write` for a log
 * file. One line on stdout when it listens, logs on stderr. SIGINT and SIGTERM drain; a second one
 * exits at once. SIGHUP reads keys and certificates again, and opens the log file anew; without any
 * of those it ends the process, as a closed terminal should.
 *
 * @module
 */
import "./cli/prepare.ts";
import process from "node:process";
import { isClosedOutput } from "../cli/closed_output.ts";
import { orFault } from "../cli/or_fault.ts";
import { PROFILES } from "../protocol/mod.ts";
import { CommandExit, readSettings, type Settings } from "./cli/settings.ts";
import { loadSecurity, type Security } from "./cli/load_security.ts";
import { failure, log } from "./shared/log.ts";
import { type Logging, startLogging } from "./cli/logging.ts";
import { anyOf } from "./auth/authenticator.ts";
import { clearText, exposure } from "./http/bind_rule.ts";
import { loadObservers } from "./cli/observe_flags.ts";
import {
  createSmcpServer,
  type ListenAddress,
  type SmcpServer,
} from "./mod.ts";

const GRACE_MS = 10_000;

/** As soon as there is a log. */
let logging: Logging | undefined;

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2), process.env);
  let security = orExit(() => loadSecurity(settings));
  const exposed = findExposure(settings, security);
  logging = orExit(() => startLogging(settings.log));
  if (exposed) log.warn(`INSECURE: listening on ${exposed}`);
  const server = createSmcpServer({
    ...settings,
    ...await loadObservers(settings.observe),
    ...(security.authenticators.length > 0 && {
      authenticator: {
        authenticate: (credentials) =>
          anyOf(security.authenticators).authenticate(credentials),
        refresh: (identity) =>
          anyOf(security.authenticators).refresh?.(identity),
      },
    }),
  });
  const url = await listen(server, settings, security);
  const metrics = await listenMetrics(server, settings);
  survive();
  drainOnSignal(server); // before the line: who has read it may send one
  if (isReloadable(settings, security)) {
    process.on("SIGHUP", () => {
      const old = security;
      security = reload(settings, old, server);
      // It tells of its failures itself.
      if (security !== old) void server.recheckSessions();
    });
  }
  console.log(
    `A2C-SMCP ${
      PROFILES[settings.protocol].version
    } server listening on ${url} (paths /smcp/ and /socket.io/, health ${url}/health${metrics})`,
  );
}

/** Lets no fault of one connection end the others. */
function survive(): void {
  for (const fault of ["uncaughtException", "unhandledRejection"] as const) {
    process.on(fault, (error: unknown) => {
      // Of something that happened to the server meanwhile.
      if (error instanceof CommandExit) void end(error);
      else if (!isClosedOutput(error)) log.error(fault, failure(error));
    });
  }
}

/** @returns what the operator insists on, if anything is wrong with it */
function findExposure(
  { host, insecure, requireTls }: Settings,
  { authenticators, tls }: Security,
): string | undefined {
  const clear = clearText(host, tls !== undefined);
  if (clear !== undefined && requireTls) {
    return fail(
      2,
      `error: cannot listen on ${clear}; use --tls-cert and --tls-key, or leave out --require-tls`,
    );
  }
  const authenticated = authenticators.length > 0 ||
    tls?.clientCa !== undefined;
  const exposed = exposure(host, authenticated);
  if (exposed === undefined || insecure) return exposed;
  return fail(
    2,
    `error: cannot listen on ${exposed}; use --api-keys, a --jwt option or --tls-client-ca, or insist with --insecure`,
  );
}

async function listen(
  server: SmcpServer,
  { host, port, insecure }: Settings,
  { tls }: Security,
): Promise<string> {
  const to = { hostname: host, port };
  const onLost = ({ message }: Error) => fail(1, `error: ${message}`);
  const options = { ...to, insecure, onLost, ...(tls && { tls }) };
  return await urlOrExit(to, "--", () => server.listen(options));
}

/** @returns the address for the line on stdout; nothing without a port of its own */
async function listenMetrics(
  server: SmcpServer,
  { observe: { listen } }: Settings,
): Promise<string> {
  if (listen === undefined) return "";
  const url = await urlOrExit(
    listen,
    "--metrics-",
    () => server.listenMetrics(listen),
  );
  return `, metrics ${url}/metrics`;
}

/** @param flags how those of the address begin */
async function urlOrExit(
  { hostname, port }: { hostname: string; port: number },
  flags: "--" | "--metrics-",
  take: () => Promise<ListenAddress>,
): Promise<string> {
  try {
    return (await orFault(take, process)).url;
  } catch (error) {
    const code = error instanceof Error && "code" in error
      ? error.code
      : undefined;
    return fail(
      1,
      `error: cannot listen on ${hostname} port ${port}: ${
        listenErrors(flags)[String(code)] ?? reasonOf(error)
      }`,
    );
  }
}

function listenErrors(flags: string): Readonly<Record<string, string>> {
  const notHere =
    `this machine does not have the address; choose one of its own with ${flags}host`;
  return {
    EADDRINUSE:
      `the port is in use; choose another with ${flags}port, or 0 for any`,
    EACCES:
      `no permission for this port; choose one from 1024 up with ${flags}port`,
    EADDRNOTAVAIL: notHere,
    EINVAL: notHere,
    ENOTFOUND: `the host is unknown; correct ${flags}host`,
  };
}

function drainOnSignal(server: SmcpServer): void {
  let draining = false;
  for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143]] as const) {
    process.on(signal, async () => {
      if (draining) return await exit(code);
      draining = true;
      log.info(`${signal}: draining`);
      await server.close({ graceMs: GRACE_MS });
      await exit(0);
    });
  }
}

/** Whether SIGHUP has anything to do. */
const isReloadable = (
  { log: { file } }: Settings,
  { authenticators, tls }: Security,
): boolean =>
  file !== undefined || tls !== undefined || authenticators.length > 0;

/** Reads everything anew; what cannot be used changes nothing, and open connections stay. */
function reload(
  settings: Settings,
  old: Security,
  server: SmcpServer,
): Security {
  try {
    logging?.reopen();
    const security = loadSecurity(settings);
    if (security.tls) server.reloadTls(security.tls);
    log.info("SIGHUP: keys, certificates and log file are read anew");
    return security;
  } catch (error) {
    const reason = reasonOf(error);
    log.error("SIGHUP: everything stays as it was. {reason}", { reason });
    return old;
  }
}

function orExit<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    return fail(2, `error: ${reasonOf(error)}`);
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

function fail(code: 1 | 2, line: string): never {
  throw new CommandExit(code, line);
}

/** Ends the process with what the operator has to see. */
async function end({ message, exitCode }: CommandExit): Promise<never> {
  await logging?.flush();
  if (message !== "") console.error(message);
  process.exit(exitCode);
}

/** Ends the process once its log is written. */
async function exit(code: number): Promise<never> {
  await logging?.flush();
  process.exit(code);
}

try {
  await main();
} catch (error) {
  if (error instanceof CommandExit) await end(error);
  await logging?.flush();
  throw error;
}
