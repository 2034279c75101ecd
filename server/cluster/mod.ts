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
import "../../shared/check_runtime.ts";
export type { Cluster, ClusterStatus } from "../shared/cluster.ts";
export { joinCluster, type JoinClusterOptions } from "./join_cluster.ts";
export type { RedisTls } from "./redis/url.ts";
