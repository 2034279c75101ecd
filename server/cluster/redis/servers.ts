/**
 * Which servers of Redis take writes: the one of the URL, the master that sentinels name, or those of a
 * Redis Cluster by their slots; and whether a server is fit for a cluster.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { log } from "../../shared/log.ts";
import type { Reply } from "./redis_connection.ts";
import { type Address, type RedisTarget, written } from "./url.ts";

/** Asks one server, over a connection that is there or a new one. */
export type Ask = (
  address: Address,
  command: readonly string[],
) => Promise<Reply>;

/** Which servers take writes, and which of them has what. */
export interface Servers {
  /** All servers that take writes. */
  readonly masters: readonly Address[];
  /** Returns the server that has a key or a sharded channel. */
  owner(key: string): Address | undefined;
  /** The servers that gave these addresses, to be asked first the next time. */
  readonly sources: readonly Address[];
}

/**
 * Finds the servers of a target.
 *
 * @param known what was found before
 * @throws {Error} when no server has the answer
 */
export async function findServers(
  target: RedisTarget,
  known: Servers | undefined,
  ask: Ask,
): Promise<Servers> {
  const { kind, addresses, master: name = "" } = target;
  if (kind === "single") return toServers(addresses[0], []);
  const { sources = [], masters = [] } = known ?? {};
  const others = kind === "cluster" ? masters : [];
  const failures: unknown[] = [];
  for (const address of distinct([...sources, ...others, ...addresses])) {
    try {
      return kind === "sentinel"
        ? toServers(await masterOf(name, address, ask), [address])
        : await shardsOf(address, ask);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length === 1) throw failures[0];
  const reasons = failures.map((each) =>
    each instanceof Error ? each.message : String(each)
  );
  throw new Error(reasons.join("; "));
}

const toServers = (master: Address, sources: readonly Address[]): Servers => ({
  masters: [master],
  owner: () => master,
  sources,
});

const distinct = (addresses: readonly Address[]): Address[] =>
  new Map(addresses.map((each) => [written(each), each])).values().toArray();

async function masterOf(
  name: string,
  sentinel: Address,
  ask: Ask,
): Promise<Address> {
  const command = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name];
  const answer = await ask(sentinel, command).catch((error) => {
    const what = "no sentinel: redis-sentinel:// is for sentinels";
    throw otherKind(error, /unknown command/i, sentinel, what);
  });
  if (answer !== null) return toAddress(answer, sentinel);
  throw new Error(
    `The sentinel at ${written(sentinel)} has no master named ${
      JSON.stringify(name)
    }: the name is after "#" in the URL`,
  );
}

async function shardsOf(node: Address, ask: Ask): Promise<Servers> {
  const answer = await ask(node, ["CLUSTER", "SLOTS"]).catch((error) => {
    const what = "no node of a Redis Cluster: redis-cluster:// is for those";
    throw otherKind(error, /cluster support/i, node, what);
  });
  if (!Array.isArray(answer)) throw new TypeError("CLUSTER SLOTS has no list");
  if (answer.length === 0) {
    throw new Error(
      `The Redis Cluster of ${written(node)} has no slots yet: create it first`,
    );
  }
  const shards = answer.map(([from, to, master]) =>
    [Number(from), Number(to), toAddress(master, node)] as const
  );
  return {
    masters: distinct(shards.map(([, , master]) => master)),
    owner(key) {
      const slot = slotOf(key);
      return shards.find(([from, to]) => from <= slot && slot <= to)?.[2];
    },
    sources: [node],
  };
}

/** Explains an error that means that the URL is of another kind. */
function otherKind(
  error: unknown,
  sign: RegExp,
  address: Address,
  what: string,
): unknown {
  if (!(error instanceof Error && sign.test(error.message))) return error;
  return new Error(
    `Redis at ${written(address)} is ${what}; one server is redis://`,
  );
}

/** A node without a name of its own leaves it out: it is the one that was asked. */
function toAddress(answer: Reply, asked: Address): Address {
  const [host, port] = Array.isArray(answer) ? answer : [];
  const own = "host" in asked ? asked.host : "127.0.0.1";
  return { host: host ? String(host) : own, port: Number(port) };
}

/** Returns the hash slot of a key or a sharded channel: of what is in the first `{…}`, if anything. */
export function slotOf(key: string): number {
  const [, tag = key] = /^[^{]*\{([^}]+)\}/.exec(key) ?? [];
  let crc = 0; // CRC-16/XMODEM, as the specification of Redis Cluster has it
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
    }
  }
  return crc % 16_384;
}

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
  const info = new Map(
    String(await ask(["INFO"])).matchAll(/^(\w+):(.*?)\r?$/gm)
      .map(([, name = "", value = ""]) => [name, value]),
  );
  const version = info.get("redis_version") || "unknown";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  // Sharded pub/sub came with 7.0.
  const needed = kind === "cluster" ? 7.0 : 6.2;
  if (!(major + Math.min(minor, 9) / 10 >= needed)) {
    const use = kind === "cluster"
      ? " for a Redis Cluster (sharded pub/sub)"
      : "";
    throw new Error(
      `Redis at ${place} is version ${version}: ${
        needed.toFixed(1)
      } or later is needed${use}`,
    );
  }
  const mode = info.get("redis_mode") ?? info.get("server_mode"); // of Valkey
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
  // It has this field only where a master without replicas takes no writes.
  if (kind === "sentinel" && !info.has("min_slaves_good_slaves")) {
    log.warn(
      "Redis at {place} takes writes after a split of the network that has made another the master, so that an office may have two homes: set min-replicas-to-write 1 and min-replicas-max-lag 10",
      { place },
    );
  }
  const policy = info.get("maxmemory_policy") ?? "noeviction";
  if (policy !== "noeviction") {
    log.warn(
      "Redis at {place} may drop homes of offices when its memory is full: set maxmemory-policy to noeviction instead of {policy}",
      { place, policy },
    );
  }
}
