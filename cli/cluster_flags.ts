import type { Option } from "commander";
import { integer, option } from "./flags.ts";
import { UsageError } from "./run.ts";

/** Settings of a Server that is one of several. */
export interface ClusterSettings {
  /** The address of Redis, which may hold a password. */
  readonly url: string;
  /** Whether whoever lists processes sees that password. */
  readonly isPasswordVisible: boolean;
  /** File with the authorities of Redis. */
  readonly caFile?: string;
  /** File with the certificate for Redis. */
  readonly certFile?: string;
  /** File with its private key. */
  readonly keyFile?: string;
  /** What the ids of sessions begin with. */
  readonly name?: string;
  /** Milliseconds that the Server goes on without Redis. */
  readonly leaseMs: number;
}

/** Values of {@linkcode clusterOptions}. */
export interface ClusterFlags {
  readonly cluster?: string;
  readonly clusterCa?: string;
  readonly clusterCert?: string;
  readonly clusterKey?: string;
  readonly clusterName?: string;
  readonly clusterLease: number;
}

/** Creates the options about several Servers with one set of offices. */
export const clusterOptions = (): Option[] => [
  option(
    "--cluster <url>",
    "share the offices with other servers through Redis or Valkey: redis://HOST:6379, rediss:// with TLS, redis-sentinel://H1,H2#MASTER, redis-cluster://H1,H2; give a password in the variable",
  ),
  option(
    "--cluster-ca <file>",
    "trust the certificate authorities of this file for Redis",
  ),
  option(
    "--cluster-cert <file>",
    "a client certificate in PEM form, for a Redis that requires one",
  ),
  option("--cluster-key <file>", "its private key"),
  option(
    "--cluster-name <name>",
    "prefix of the ids of this server's polling sessions, for a balancer that routes by them (default: random)",
  ),
  option(
    "--cluster-lease <seconds>",
    "how long the server continues without Redis; longer than a fail-over, the same at all servers",
  ).default(6).argParser(integer(4, 3600)),
];

/**
 * Reads the values of {@linkcode clusterOptions}.
 *
 * @param env shows whether the address comes from the environment
 * @returns `undefined` for a Server alone
 * @throws {UsageError} for flags that do nothing
 */
export function readCluster(
  flags: ClusterFlags,
  env: Readonly<Record<string, string | undefined>>,
): ClusterSettings | undefined {
  const { cluster: url, clusterLease, ...rest } = flags;
  const { clusterCa, clusterCert, clusterKey, clusterName } = rest;
  if (!url) {
    const others = { clusterCa, clusterCert, clusterKey, clusterName };
    const idle = Object.entries(others).find(([, value]) => value)?.[0];
    if (idle === undefined) return undefined;
    const flag = idle.replace("cluster", "--cluster-").toLowerCase();
    throw new UsageError(`${flag} does nothing without --cluster`);
  }
  if (!clusterCert !== !clusterKey) {
    throw new UsageError("--cluster-cert and --cluster-key belong together");
  }
  return {
    url,
    isPasswordVisible: url !== env.SMCP_CLUSTER && hasPassword(url),
    ...(clusterCa && { caFile: clusterCa }),
    ...(clusterCert && { certFile: clusterCert }),
    ...(clusterKey && { keyFile: clusterKey }),
    ...(clusterName && { name: clusterName }),
    leaseMs: clusterLease * 1000,
  };
}

/** Checks whether the URL of a flag has a password in it. */
export const hasPassword = (url: string): boolean =>
  /^[^/]*\/\/[^/@]*:[^@]+@|[?&][a-z]*password=/i.test(url);
