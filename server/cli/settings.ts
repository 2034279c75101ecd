import type { Command } from "commander";
import { type ClusterSettings, readCluster } from "../../cli/cluster_flags.ts";
import { UsageError } from "../../cli/run.ts";
import type { LimitName } from "../limits/limits.ts";
import type { SmcpServerOptions } from "../options.ts";
import {
  JWT_SECRET,
  LIMIT_NAMES,
  type ServerFlags,
  serverOptions,
} from "./flags.ts";

/** The flags of the command line, checked, with what only the environment has. */
export interface Settings extends ServerFlags {
  /** Whether metrics are collected, for whatever port. */
  readonly metrics: boolean;
  /** The shared secret of JWTs. */
  readonly jwtSecret?: string;
  /** Other servers with the same offices, if there are any. */
  readonly clustering?: ClusterSettings;
}

/** Adds all options of the server's command. */
export function addSettings(command: Command): Command {
  for (const option of serverOptions()) command.addOption(option);
  return command;
}

/**
 * Checks the values of the options of {@linkcode addSettings}.
 *
 * @param env the environment, for secrets that no flag may hold
 * @throws {UsageError} for flags that contradict each other, or do nothing
 */
export function readSettings(
  flags: ServerFlags,
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  const { tlsCert, tlsKey, tlsClientCa, jwtKey, jwtJwksUrl } = flags;
  const { mcp, mcpIdleSeconds, metrics, metricsPort } = flags;
  const jwtSecret = env[JWT_SECRET];
  const clustering = readCluster(flags, env);
  const hasTls = [tlsCert, tlsKey, tlsClientCa].some((file) =>
    file !== undefined
  );
  if (hasTls && (tlsCert === undefined || tlsKey === undefined)) {
    throw new UsageError("--tls-cert and --tls-key belong together: give both");
  }
  const keys = [jwtKey, jwtJwksUrl, jwtSecret].filter((key) => key);
  if (keys.length > 1) {
    throw new UsageError(
      `only one of --jwt-key, --jwt-jwks-url and ${JWT_SECRET} can be used`,
    );
  }
  checkRestrictions(flags, keys.length > 0);
  if (mcpIdleSeconds !== undefined && !mcp) {
    throw new UsageError("--mcp-idle-seconds does nothing without --mcp");
  }
  return {
    ...flags,
    metrics: metrics === true || metricsPort !== undefined,
    ...(jwtSecret && { jwtSecret }),
    ...(clustering && { clustering }),
  };
}

/** @throws {UsageError} when nothing would ask for what a JWT must have: there is no key, or no value */
function checkRestrictions(
  { jwtAlgorithms, jwtIssuer, jwtAudience }: ServerFlags,
  hasKey: boolean,
): void {
  const restrictions = {
    "--jwt-algorithms": jwtAlgorithms,
    "--jwt-issuer": jwtIssuer,
    "--jwt-audience": jwtAudience,
  };
  const idle = Object.entries(restrictions).filter(([, value]) =>
    value !== undefined && (value.length === 0) === hasKey
  ).map(([flag]) => flag);
  if (idle.length === 0) return;
  throw new UsageError(
    hasKey
      ? `no value for ${idle.join(", ")}: give one, or leave it out`
      : `no key for ${
        idle.join(", ")
      }: add --jwt-key, --jwt-jwks-url or ${JWT_SECRET}`,
  );
}

/** Converts the flags that are options of a server as well. */
export const optionsOf = (
  { limits, hosts, operator, trustProxy, ...flags }: Settings,
): SmcpServerOptions => ({
  protocol: flags.protocol,
  maxMessageBytes: flags.maxMessageBytes,
  maxConnectBytes: flags.maxConnectBytes,
  wsEngine: flags.wsEngine,
  minUploadRate: flags.minUploadRate,
  origins: flags.origins,
  ...(hosts && { hosts }),
  ...(!operator && { operator }),
  auditPayloads: flags.auditPayloads === true,
  limits: limits && limitsOf(flags),
  trustedProxies: trustProxy,
  handshakeTimeoutMs: flags.handshakeTimeout * 1000,
  connectTimeoutMs: flags.connectTimeout * 1000,
  headerTimeoutMs: flags.headerTimeout * 1000,
  heartbeat: {
    intervalMs: flags.pingInterval * 1000,
    timeoutMs: flags.pingTimeout * 1000,
  },
});

function limitsOf(flags: object): Partial<Record<LimitName, number>> {
  const limits: Partial<Record<LimitName, number>> = {};
  for (const limit of LIMIT_NAMES) {
    const name = `max${limit.charAt(0).toUpperCase()}${limit.slice(1)}`;
    const value: unknown = Reflect.get(flags, name);
    if (typeof value === "number") limits[limit] = value;
  }
  return limits;
}
