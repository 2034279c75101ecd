/**
 * What the flags name and the server is made of: the contents of files, other servers, and the packages
 * that only some servers need.
 *
 * @module
 */
import type { ClusterSettings } from "../../cli/cluster_flags.ts";
import { UsageError } from "../../cli/run.ts";
import { loadPackages } from "../../shared/packages.ts";
import { apiKeys, parseApiKeys } from "../auth/api_keys.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { jwt } from "../auth/jwt.ts";
import type { JwtKey } from "../auth/jwt_keys.ts";
import { type TlsOptions, toHttpsOptions } from "../http/listen.ts";
import { createMetrics } from "../observe/prometheus.ts";
import type { SmcpServerOptions } from "../options.ts";
import { log } from "../shared/log.ts";
import { inFile, readText } from "./read_text.ts";
import type { Settings } from "./settings.ts";

/** The contents of the files of the command line. */
export interface Security {
  /** Authenticators; none means no authentication. */
  readonly authenticators: readonly Authenticator[];
  /** Certificate and key; absent: HTTP. */
  readonly tls?: TlsOptions;
}

/**
 * Reads keys and certificates.
 *
 * @throws {TypeError} in one line for people, without anything of what the files hold
 */
export function loadSecurity(settings: Settings): Security {
  const tls = loadTls(settings);
  return {
    authenticators: [...loadApiKeys(settings), ...loadJwt(settings)],
    ...(tls && { tls }),
  };
}

/** Reads the keys of `--api-keys`: JSON, or a file with it. */
function loadApiKeys({ apiKeys: keys }: Settings): Authenticator[] {
  if (!keys) return [];
  const isJson = keys.trimStart().startsWith("[");
  const text = isJson ? keys : readText("--api-keys", keys);
  const load = () => [apiKeys(parseApiKeys(text))];
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
  naming(`--tls-cert ${tlsCert}, --tls-key ${tlsKey}`, () => {
    toHttpsOptions(tls); // checks them
  });
  return tls;
}

/** @throws {TypeError} that names the file whose contents are refused */
function naming<T>(file: string, load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw inFile(file, error);
  }
}

/** Loads `mcpGateway` of the room `mcp`. */
export type LoadMcp = () => Promise<
  (
    options: { seatIdleMs?: number },
  ) => NonNullable<SmcpServerOptions["gateway"]>
>;

/** Loads what serves MCP, if it is asked for. */
export async function loadGateway(
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
export async function loadObservers(
  { metrics, tracing }: Settings,
): Promise<Pick<SmcpServerOptions, "metrics" | "tracer">> {
  return {
    ...(metrics && { metrics: createMetrics() }),
    ...(tracing && {
      tracer: (await loadOpenTelemetry()).trace.getTracer("@a2c-smcp/sdk"),
    }),
  };
}

const loadOpenTelemetry = (): Promise<typeof import("@opentelemetry/api")> =>
  loadPackages(
    "trace",
    ["@opentelemetry/api"],
    () => import("@opentelemetry/api"),
  );

/**
 * Connects to the cluster of the command line, if it names one; only then what it needs is loaded.
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
      "Whoever lists the processes of this machine sees the password in --cluster: give the address in the variable SMCP_CLUSTER instead",
    );
  }
  const { joinCluster } = await import("../cluster/mod.ts");
  try {
    const cluster = await joinCluster(url, {
      leaseMs,
      ...(name !== undefined && { name }),
      tls: {
        ...(caFile && { ca: readText("--cluster-ca", caFile) }),
        ...(certFile && { cert: readText("--cluster-cert", certFile) }),
        ...(keyFile && { key: readText("--cluster-key", keyFile) }),
      },
    });
    return { cluster };
  } catch (error) {
    // What is wrong with the settings, in contrast to what is wrong with Redis.
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
}
