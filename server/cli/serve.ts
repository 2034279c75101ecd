/**
 * Serves with the flags of the command line, until a signal has drained the server: reads keys and
 * certificates, loads the packages that only some servers need, listens, and reloads at SIGHUP.
 *
 * @module
 */
import process from "node:process";
import { print } from "../../cli/print.ts";
import type { ClusterSettings } from "../../cli/cluster_flags.ts";
import { explainFailure } from "../../cli/explain_failure.ts";
import { newOperatorToken, operatorLines } from "../../cli/flags.ts";
import { listenOrExplain, surviveUncaught } from "../../cli/listen.ts";
import { orUsageError, UsageError } from "../../cli/run.ts";
import { firstSignal, OwnTerminal } from "../../cli/signals.ts";
import { PROFILES } from "../../protocol/mod.ts";
import { apiKeys, parseApiKeys } from "../auth/api_keys.ts";
import { anyOf, type Authenticator } from "../auth/authenticator.ts";
import { jwt, type JwtKey } from "../auth/jwt.ts";
import { naming, optionsOf, readText, type Settings } from "./flags.ts";
import { type Logging, startLogging } from "./logging.ts";
import { loadApprovals } from "./approvals_flags.ts";
import { loadSignIn, warningOf } from "./sign_in_flags.ts";
import { isLoopback } from "../../shared/loopback.ts";
import { clearText, exposure } from "../http/host_rule.ts";
import { type TlsOptions, toHttpsOptions } from "../http/listen.ts";
import { createSmcpServer, type SmcpServer } from "../mod.ts";
import { createMetrics } from "../observe/prometheus.ts";
import type { SmcpServerOptions } from "../options.ts";
import { failure, log } from "../shared/log.ts";
import { loadPackages } from "../../shared/packages.ts";

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
    if (security.warning !== undefined) log.warn(security.warning);
    const isOpen = security.authenticators.length === 0;
    const warning = warningOf(settings, isOpen);
    if (warning !== undefined) log.warn(warning);
    await run(settings, security, logging, {
      ...await loadGateway(settings, loadMcp),
      ...await loadSignIn(settings),
      ...await loadApprovals(settings),
      ...await loadObservers(settings),
      ...await loadCluster(settings.clustering),
    });
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
  parts: SmcpServerOptions,
): Promise<void> {
  const authenticators = [...security.authenticators]; // replaced at a reload
  const token = operatorToken(settings, security);
  const server = createSmcpServer({
    ...optionsOf(settings),
    ...parts,
    ...(token !== undefined && { operator: { token } }),
    ...(authenticators.length > 0 && { authenticator: anyOf(authenticators) }),
  });
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {}); // may reject before or after the race below
  const url = await listen(server, settings, security, lost.reject);
  const metrics = await listenMetrics(server, settings);
  surviveUncaught((error, kind) => log.error(kind, failure(error)));
  // Before the line is printed: its reader may send a signal immediately.
  const stopped = firstSignal({
    signals: ["SIGINT", "SIGTERM"],
    exit: (code) => void logging.flush().then(() => process.exit(code)),
  });
  const hungUp = whenHungUp(() =>
    reload(settings, authenticators, server, logging)
  );
  const address = settings.publicUrl ?? url;
  print(
    `A2C-SMCP ${
      settings.protocol.map((name) => PROFILES[name].version).join(", ")
    } server listening on ${url} (paths /smcp/ and /socket.io/, health ${address}/health${metrics}${
      parts.gateway ? `, MCP ${address}/mcp/OFFICE` : ""
    })`,
  );
  // Not in the log, which others may read.
  if (token !== undefined) print(operatorLines(address, token));
  const { name } = await Promise.race([stopped, hungUp, lost.promise]);
  log.info(`${name}: draining`);
  await server.close();
}

/**
 * Resolves at a SIGHUP that comes since the terminal was closed; any other is a command to reload.
 *
 * @param reload called at each of those
 */
function whenHungUp(reload: () => void): Promise<{ readonly name: "SIGHUP" }> {
  const terminal = new OwnTerminal();
  return new Promise((resolve) => {
    process.on("SIGHUP", () => {
      if (terminal.isGone) resolve({ name: "SIGHUP" });
      else reload();
    });
  });
}

/**
 * Makes a token for operators where only this machine can show it, and no key has their role.
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
    `cannot listen on ${exposed}; use --api-keys, a --jwt option or --tls-client-ca, or accept this with --insecure`,
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

/**
 * Reloads keys and certificates; invalid ones change nothing, and open connections stay.
 *
 * @param authenticators those in use, which are replaced
 */
function reload(
  settings: Settings,
  authenticators: Authenticator[],
  server: SmcpServer,
  logging: Logging,
): void {
  try {
    logging.reopen();
    const security = loadSecurity(settings);
    if (security.tls) server.reloadTls(security.tls);
    authenticators.splice(0, Infinity, ...security.authenticators);
    if (security.warning !== undefined) log.warn(security.warning);
    log.info("SIGHUP: keys, certificates and log file are reloaded");
    void server.recheckSessions(); // reports its failures itself
  } catch (error) {
    const reason = explainFailure(error);
    log.error("SIGHUP: reload failed, nothing was changed. {reason}", {
      reason,
    });
  }
}

/** The contents of the files of the command line. */
export interface Security {
  /** Authenticators; none means no authentication. */
  readonly authenticators: readonly Authenticator[];
  /** Certificate and key; absent: HTTP. */
  readonly tls?: TlsOptions;
  /** For the log, if there is anything to warn of. */
  readonly warning?: string;
}

/**
 * Reads keys and certificates.
 *
 * @throws {TypeError} in one line for people, without the contents of the files
 */
export function loadSecurity(settings: Settings): Security {
  const tls = loadTls(settings);
  const { authenticators, ...keys } = loadApiKeys(settings);
  return {
    ...keys,
    authenticators: [...authenticators, ...loadJwt(settings)],
    ...(tls && { tls }),
  };
}

const NO_KEYS =
  "--api-keys: the list is empty, so no client is accepted by an API key; smcp-server key add makes one";

/** Reads the keys of `--api-keys`: JSON, or a file with it. */
function loadApiKeys({ apiKeys: keys }: Settings): Security {
  if (!keys) return { authenticators: [] };
  const isJson = keys.trimStart().startsWith("[");
  const text = isJson ? keys : readText("--api-keys", keys);
  const load = () => {
    const list = parseApiKeys(text);
    const authenticators = [apiKeys(list)];
    // No error: after `key revoke` of the last key, a reload would leave it in use.
    return list.length === 0
      ? { authenticators, warning: NO_KEYS }
      : { authenticators };
  };
  return isJson ? load() : naming(keys, load);
}

function loadJwt(
  { jwtSecret, jwtKey, jwtJwksUrl, ...flags }: Settings,
): Authenticator[] {
  const { jwtAlgorithms, jwtIssuer, jwtAudience } = flags;
  let key: JwtKey | undefined;
  if (jwtSecret) key = { secret: jwtSecret };
  else if (jwtJwksUrl) key = { jwksUrl: jwtJwksUrl };
  else if (jwtKey) key = { publicKey: readText("--jwt-key", jwtKey) };
  else return [];
  const load = () => [jwt({
    key,
    ...(jwtAlgorithms && { algorithms: jwtAlgorithms }),
    ...(jwtIssuer && { issuer: jwtIssuer }),
    ...(jwtAudience && { audience: jwtAudience }),
  })];
  return jwtKey ? naming(`--jwt-key ${jwtKey}`, load) : load();
}

function loadTls(
  { tlsCert, tlsKey, tlsClientCa }: Settings,
): TlsOptions | undefined {
  if (!tlsCert || !tlsKey) return undefined;
  const tls: TlsOptions = {
    cert: readText("--tls-cert", tlsCert),
    key: readText("--tls-key", tlsKey),
    ...(tlsClientCa && {
      clientCa: readText("--tls-client-ca", tlsClientCa),
    }),
  };
  // Checks them.
  naming(
    `--tls-cert ${tlsCert}, --tls-key ${tlsKey}`,
    () => toHttpsOptions(tls),
  );
  return tls;
}

/** Loads `mcpGateway` of the room `mcp`. */
export type LoadMcp = () => Promise<
  (
    options: { seatIdleMs?: number },
  ) => NonNullable<SmcpServerOptions["gateway"]>
>;

/** Loads the MCP gateway, if the flags ask for it. */
async function loadGateway(
  { mcp, mcpIdleSeconds, jwtIssuer = "" }: Settings,
  load: LoadMcp,
): Promise<Pick<SmcpServerOptions, "gateway" | "authorizationServers">> {
  if (!mcp) return {};
  const gateway = await loadPackages(
    "serve MCP",
    ["@modelcontextprotocol/server"],
    load,
  );
  return {
    gateway: gateway(
      mcpIdleSeconds === undefined ? {} : { seatIdleMs: mcpIdleSeconds * 1000 },
    ),
    // An issuer can be any text, and clients can ask only one that is a URL.
    ...(URL.canParse(jwtIssuer) && /^https?:/i.test(jwtIssuer) && {
      authorizationServers: [jwtIssuer],
    }),
  };
}

/** Loads only the enabled observers. */
async function loadObservers(
  { metrics, tracing }: Settings,
): Promise<Pick<SmcpServerOptions, "metrics" | "tracer">> {
  const { trace }: Partial<typeof import("@opentelemetry/api")> = tracing
    ? await loadPackages(
      "trace",
      ["@opentelemetry/api"],
      () => import("@opentelemetry/api"),
    )
    : {};
  return {
    ...(metrics && { metrics: createMetrics() }),
    ...(trace && { tracer: trace.getTracer("@a2c-smcp/sdk") }),
  };
}

/**
 * Connects to the cluster of the command line, if it names one; only then loads its packages.
 *
 * @throws {UsageError} when the address, a file or a name is wrong
 * @throws {Error} when Redis cannot be reached, refuses, or does not fit
 */
export async function loadCluster(
  settings: ClusterSettings | undefined,
): Promise<Pick<SmcpServerOptions, "cluster">> {
  if (settings === undefined) return {};
  const { url, caFile, certFile, keyFile, name, leaseMs } = settings;
  if (settings.isPasswordVisible) {
    log.warn(
      "All users of this machine can see the password in --cluster: give the address in the variable SMCP_CLUSTER instead",
    );
  }
  const { joinCluster } = await import("../cluster/mod.ts");
  try {
    const tls = {
      ...(caFile && { ca: readText("--cluster-ca", caFile) }),
      ...(certFile && { cert: readText("--cluster-cert", certFile) }),
      ...(keyFile && { key: readText("--cluster-key", keyFile) }),
    };
    const options = { leaseMs, tls, ...(name !== undefined && { name }) };
    return { cluster: await joinCluster(url, options) };
  } catch (error) {
    // A mistake in the settings, in contrast to a failure of Redis.
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}
