import process from "node:process";
import { explainFailure } from "../../cli/explain_failure.ts";
import { listenOrExplain, surviveUncaught } from "../../cli/listen.ts";
import { newOperatorToken, operatorLines } from "../../cli/flags.ts";
import { orUsageError, UsageError } from "../../cli/run.ts";
import { firstSignal } from "../../cli/signals.ts";
import { PROFILES } from "../../protocol/mod.ts";
import { anyOf, type Authenticator } from "../auth/authenticator.ts";
import { clearText, exposure, isLoopback } from "../http/host_rule.ts";
import {
  createSmcpServer,
  type SmcpServer,
  type SmcpServerOptions,
} from "../mod.ts";
import { failure, log } from "../shared/log.ts";
import {
  loadCluster,
  loadGateway,
  type LoadMcp,
  loadObservers,
  loadSecurity,
  type Security,
} from "./load.ts";
import { type Logging, startLogging } from "./logging.ts";
import { optionsOf, type Settings } from "./settings.ts";

/**
 * Serves until a signal has drained the server.
 *
 * @throws {UsageError} when keys, certificates or the log cannot be used as they are given
 * @throws {Error} when the server cannot listen, or not any more
 */
export async function serve(
  settings: Settings,
  loadMcp: LoadMcp,
): Promise<void> {
  const { security, exposed } = loadChecked(settings);
  const logging = orUsageError(() => startLogging(settings));
  try {
    if (exposed) log.warn(`INSECURE: listening on ${exposed}`);
    const mcp = await loadGateway(settings, loadMcp);
    const cluster = await loadCluster(settings.clustering);
    await run(settings, security, logging, { ...mcp, ...cluster });
  } finally {
    await logging.flush();
  }
}

/**
 * Reads keys and certificates, and checks that the address suits them.
 *
 * @returns with a description of the exposure that `--insecure` permits, if any
 * @throws {UsageError} when they cannot be used as they are given
 */
export function loadChecked(
  settings: Settings,
): { readonly security: Security; readonly exposed: string | undefined } {
  const security = orUsageError(() => loadSecurity(settings));
  return { security, exposed: checkExposure(settings, security) };
}

async function run(
  settings: Settings,
  security: Security,
  logging: Logging,
  parts: Pick<
    SmcpServerOptions,
    "gateway" | "authorizationServers" | "cluster"
  >,
): Promise<void> {
  const authenticators = [...security.authenticators]; // replaced at a reload
  const token = operatorToken(settings, security);
  const server = createSmcpServer({
    ...optionsOf(settings),
    ...parts,
    ...await loadObservers(settings),
    ...(token !== undefined && { operator: { token } }),
    ...(authenticators.length > 0 && { authenticator: anyOf(authenticators) }),
  });
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {}); // may reject before or after the race below
  const url = await listen(server, settings, security, lost.reject);
  const metrics = await listenMetrics(server, settings);
  surviveUncaught((error, kind) => log.error(kind, failure(error)));
  // Before the line is printed: its reader may send a signal at once.
  const stopped = firstSignal({
    signals: ["SIGINT", "SIGTERM"],
    exit: (code) => void logging.flush().then(() => process.exit(code)),
  });
  if (isReloadable(settings, security)) {
    process.on("SIGHUP", () => {
      if (!reload(settings, authenticators, server, logging)) return;
      void server.recheckSessions(); // reports its failures itself
    });
  }
  console.log(
    `A2C-SMCP ${
      settings.protocol.map((name) => PROFILES[name].version).join(", ")
    } server listening on ${url} (paths /smcp/ and /socket.io/, health ${url}/health${metrics}${
      parts.gateway ? `, MCP ${url}/mcp/OFFICE` : ""
    })`,
  );
  // Not in the log, which others may read.
  if (token !== undefined) {
    console.log(operatorLines(url, token));
  }
  const { name } = await Promise.race([stopped, lost.promise]);
  log.info(`${name}: draining`);
  await server.close();
}

/**
 * Makes a token for operators where only this machine can show it, and no keys name any.
 *
 * @returns `undefined` where there is none
 */
const operatorToken = (
  { operator, host, trustProxy }: Settings,
  { authenticators }: Security,
): string | undefined =>
  operator && isLoopback(host) && trustProxy === 0 &&
    anyOf(authenticators).hasOperators?.() !== true
    ? newOperatorToken()
    : undefined;

/**
 * Checks how exposed the address is.
 *
 * @returns a description of the exposure that `--insecure` permits, if any
 * @throws {UsageError} without `--insecure`
 */
function checkExposure(
  { host, insecure, requireTls }: Settings,
  { authenticators, tls }: Security,
): string | undefined {
  const clear = clearText(host, tls !== undefined);
  if (clear !== undefined && requireTls) {
    throw new UsageError(
      `cannot listen on ${clear}; use --tls-cert and --tls-key, or leave out --require-tls`,
    );
  }
  const authenticated = authenticators.length > 0 ||
    tls?.clientCa !== undefined;
  const exposed = exposure(host, authenticated);
  if (exposed === undefined || insecure) return exposed;
  throw new UsageError(
    `cannot listen on ${exposed}; use --api-keys, a --jwt option or --tls-client-ca, or insist with --insecure`,
  );
}

async function listen(
  server: SmcpServer,
  { host, port, insecure = false }: Settings,
  { tls }: Security,
  onLost: (error: Error) => void,
): Promise<string> {
  const address = { hostname: host, port };
  const options = { ...address, insecure, onLost, ...(tls && { tls }) };
  try {
    return (await listenOrExplain(() => server.listen(options), address)).url;
  } catch (error) {
    await server.close(); // leaves the cluster
    throw error;
  }
}

/** @returns the address for the line on stdout; nothing without a port of its own */
async function listenMetrics(
  server: SmcpServer,
  { metricsHost: hostname, metricsPort: port }: Settings,
): Promise<string> {
  if (port === undefined) return "";
  const address = { hostname, port };
  const { url } = await listenOrExplain(
    () => server.listenMetrics(address),
    address,
    "--metrics-",
  );
  return `, metrics ${url}/metrics`;
}

/** Checks whether SIGHUP has anything to reload. */
const isReloadable = (
  { logFile }: Settings,
  { authenticators, tls }: Security,
): boolean =>
  Boolean(logFile) || tls !== undefined || authenticators.length > 0;

/**
 * Reloads keys and certificates; invalid ones change nothing, and open connections stay.
 *
 * @param authenticators those in use, which are replaced
 * @returns whether all could be reloaded
 */
function reload(
  settings: Settings,
  authenticators: Authenticator[],
  server: SmcpServer,
  logging: Logging,
): boolean {
  try {
    logging.reopen();
    const security = loadSecurity(settings);
    if (security.tls) server.reloadTls(security.tls);
    authenticators.splice(0, Infinity, ...security.authenticators);
    log.info("SIGHUP: keys, certificates and log file are read anew");
    return true;
  } catch (error) {
    const reason = explainFailure(error);
    log.error("SIGHUP: everything stays as it was. {reason}", { reason });
    return false;
  }
}
