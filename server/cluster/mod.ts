/**
 * Several Servers with one set of offices, on Redis or Valkey (docs/scaling.md).
 *
 * Only this entry loads the package `redis`, an optional peer: `npm install redis@6`.
 *
 * ```ts
 * import { createSmcpServer } from "@a2c-smcp/sdk/server";
 * import { joinCluster } from "@a2c-smcp/sdk/server/cluster";
 *
 * const cluster = await joinCluster("redis://127.0.0.1:6379");
 * await using smcp = createSmcpServer({ cluster });
 * const { url } = await smcp.listen({ port: 8787 });
 * console.log(`One of several servers, at ${url}`);
 * ```
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { ClusterOffices } from "./cluster_offices.ts";
import { LEASE_MS, systemClock } from "./directory.ts";
import { RedisDirectory } from "./redis_directory.ts";
import type { LinkEvents } from "./link.ts";
import { openLinks } from "./redis_links.ts";
import { ClusterNode } from "./cluster_node.ts";
import type { Connected } from "./term.ts";
import { connectRedis, type Redis } from "./redis/connect.ts";
import { REDIS_TLS_NAMES, type RedisTls } from "./redis/url.ts";
import { type Cluster, newCluster } from "../shared/cluster.ts";
import { checkNames, type NamesOf } from "../../shared/checks.ts";
import "../../shared/check_runtime.ts";

export type { Cluster, ClusterStatus } from "../shared/cluster.ts";
export type { RedisTls } from "./redis/url.ts";

/** What passes between two nodes ends when one of them is silent for so long, however long leases are. */
const MAX_SILENT_MS = 6000;

/** Options for {@linkcode joinCluster}. */
export interface JoinClusterOptions {
  /** Certificates for connections with TLS, as PEM; default: the authorities that the system trusts. */
  tls?: RedisTls;
  /**
   * What the ids of this server's polling sessions begin with, before a dot, so that a balancer can
   * route by them: up to 32 letters, digits, `-` and `_`; default random.
   */
  name?: string;
  /**
   * Milliseconds that a server keeps its offices without an answer of Redis, the same for all; longer
   * than a fail-over of Redis takes, at least 4000. Default 6000.
   */
  leaseMs?: number;
}

const JOIN_NAMES = {
  tls: REDIS_TLS_NAMES,
  name: true,
  leaseMs: true,
} satisfies NamesOf<JoinClusterOptions>;

/**
 * Makes a server one of several which share their offices, through Redis or Valkey.
 *
 * ```ts
 * import { createSmcpServer } from "@a2c-smcp/sdk/server";
 * import { joinCluster } from "@a2c-smcp/sdk/server/cluster";
 *
 * const cluster = await joinCluster("redis://127.0.0.1:6379");
 * await using smcp = createSmcpServer({ cluster });
 * const { url } = await smcp.listen({ port: 0 });
 * ```
 *
 * @param url of Redis, such as `redis://user:password@host:6379/0`, `rediss://…` with TLS,
 * `redis-sentinel://h1,h2#mymaster`, `redis-cluster://h1,h2`, or `unix:///run/redis.sock`
 * @throws {TypeError} when the URL, a certificate or an option is wrong
 * @throws {Error} when Redis cannot be reached, refuses, or does not fit
 */
export async function joinCluster(
  url: string,
  options: JoinClusterOptions = {},
): Promise<Cluster> {
  checkNames(options, JOIN_NAMES, "joinCluster()");
  const name = checkName(options.name ?? randomBytes(4).toString("hex"));
  const leaseMs = checkLease(options.leaseMs ?? LEASE_MS);
  const first = await connectRedis(url, options.tls);
  let unused: Redis | undefined = first;
  const connect = async (
    events: LinkEvents,
    settings: { readonly maxMessageBytes: number },
  ): Promise<Connected> => {
    const redis = unused ?? await connectRedis(url, options.tls);
    unused = undefined;
    const directory = new RedisDirectory(redis, leaseMs);
    const silentMs = Math.min(leaseMs, MAX_SILENT_MS);
    const bounds = { ...settings, silentMs };
    const links = await openLinks(redis, directory.node, events, bounds)
      .catch(async (error) => {
        await redis.close();
        throw error;
      });
    const close = async () => {
      await links[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
      await redis.close();
    };
    return { directory, links, close };
  };
  return newCluster(
    new ClusterNode({
      connect,
      close: async () => await unused?.close(),
      place: first.place,
      name,
      leaseMs,
      clock: systemClock,
      newTunnel: (node) => new ClusterOffices(node, leaseMs),
      signInStore: async () => {
        const { RedisSignInStore } = await import("./sign_in_store.ts");
        return new RedisSignInStore(() => connectRedis(url, options.tls));
      },
    }),
  );
}

function checkName(name: string): string {
  if (/^[\w-]{1,32}$/.test(name)) return name;
  const given = JSON.stringify(name);
  throw new TypeError(
    `Cannot use the name ${given} in a cluster: expected 1 to 32 letters, digits, "-" and "_"`,
  );
}

/** Several beats fit into each lease. */
function checkLease(leaseMs: number): number {
  if (Number.isFinite(leaseMs) && leaseMs >= 4000) return leaseMs;
  throw new TypeError(
    `Cannot use a lease of ${leaseMs} ms: it is at least 4000 ms`,
  );
}
