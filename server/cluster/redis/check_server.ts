import type { Reply } from "./redis.ts";
import type { RedisTarget } from "./url.ts";
import { log } from "../../shared/log.ts";

/** Sharded pub/sub came with it. */
const CLUSTER_VERSION = [7, 0] as const;
const VERSION = [6, 2] as const;

/**
 * Checks that a server can carry a cluster.
 *
 * @param ask answers a command
 * @throws {Error} when its version or its kind does not fit; what is only unwise is logged
 */
export async function checkServer(
  place: string,
  { kind }: RedisTarget,
  ask: (command: readonly string[]) => Promise<Reply>,
): Promise<void> {
  const server = toFields(await ask(["INFO", "server"]));
  const memory = toFields(await ask(["INFO", "memory"]));
  const version = server.get("redis_version") ?? "";
  const needed = kind === "cluster" ? CLUSTER_VERSION : VERSION;
  if (!isAtLeast(version, needed)) {
    throw new Error(
      `Redis at ${place} is version ${version || "unknown"}: ${
        needed.join(".")
      } or later is needed${
        kind === "cluster" ? " for a Redis Cluster (sharded pub/sub)" : ""
      }`,
    );
  }
  const mode = server.get("redis_mode") ?? server.get("server_mode"); // of Valkey
  if (mode === "sentinel") {
    throw new Error(
      `Redis at ${place} is a sentinel: its URL begins with redis-sentinel://, and names the master after "#"`,
    );
  }
  if (mode === "cluster" && kind !== "cluster") {
    throw new Error(
      `Redis at ${place} is a node of a Redis Cluster: its URL begins with redis-cluster://`,
    );
  }
  if (kind === "sentinel") await warnOfSplit(place, ask);
  const policy = memory.get("maxmemory_policy");
  if (policy !== undefined && policy !== "noeviction") {
    log.warn(
      "Redis at {place} may drop homes of offices when its memory is full: set maxmemory-policy to noeviction instead of {policy}",
      { place, policy },
    );
  }
}

/** Redis tells of this field only where a master without replicas takes no writes. */
async function warnOfSplit(
  place: string,
  ask: (command: readonly string[]) => Promise<Reply>,
): Promise<void> {
  const fields = toFields(await ask(["INFO", "replication"]));
  if (fields.has("min_slaves_good_slaves")) return;
  log.warn(
    "Redis at {place} takes writes after a split of the network that has made another the master, so that an office may have two homes: set min-replicas-to-write 1 and min-replicas-max-lag 10",
    { place },
  );
}

function toFields(info: Reply): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of String(info).split(/\r?\n/)) {
    const [, name, value] = /^(\w+):(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) fields.set(name, value);
  }
  return fields;
}

function isAtLeast(
  version: string,
  [major, minor]: readonly [number, number],
): boolean {
  const [, first, second] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(first) > major ||
    Number(first) === major && Number(second) >= minor;
}
