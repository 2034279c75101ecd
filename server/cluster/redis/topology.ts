import { slotOf } from "./slots.ts";
import type { Reply } from "./redis.ts";
import { type Address, type RedisTarget, written } from "./url.ts";

/** Asks one server, over a connection that is there or a new one. */
export interface Asker {
  /** Asks a server of data. */
  server(address: Address, command: readonly string[]): Promise<Reply>;
  /** Whether there is a connection to a server of data. */
  reaches(address: Address): boolean;
  /** Asks a sentinel. */
  sentinel(address: Address, command: readonly string[]): Promise<Reply>;
}

/** Knows which servers take writes, and which of them has what. */
export interface Topology {
  /**
   * Learns it anew.
   *
   * @throws {Error} when nobody can tell it
   */
  refresh(asker: Asker): Promise<void>;
  /** All servers that take writes. */
  readonly masters: readonly Address[];
  /** The server that has a key or a sharded channel. */
  owner(key: string): Address | undefined;
  /** Whether it may change, so that a server must be asked whether it takes writes still. */
  readonly isFixed: boolean;
}

/** Creates what fits a target. */
export function newTopology(target: RedisTarget): Topology {
  switch (target.kind) {
    case "single":
      return new Single(target.addresses[0]);
    case "sentinel":
      return new Watched(target.addresses, target.master ?? "");
    case "cluster":
      return new Sharded(target.addresses);
  }
}

class Single implements Topology {
  readonly isFixed = true;
  readonly masters: readonly Address[];

  constructor(address: Address) {
    this.masters = [address];
  }

  refresh(): Promise<void> {
    return Promise.resolve();
  }

  owner(): Address | undefined {
    return this.masters[0];
  }
}

/** The master that sentinels name. */
class Watched implements Topology {
  readonly isFixed = false;
  readonly #sentinels: Address[];
  readonly #name: string;
  #master: Address | undefined;

  constructor(sentinels: readonly Address[], name: string) {
    this.#sentinels = [...sentinels];
    this.#name = name;
  }

  get masters(): readonly Address[] {
    return this.#master ? [this.#master] : [];
  }

  owner(): Address | undefined {
    return this.#master;
  }

  async refresh(asker: Asker): Promise<void> {
    const master = await firstAnswer(this.#sentinels, async (sentinel) => {
      const answer = await asker.sentinel(
        sentinel,
        ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", this.#name],
      ).catch((error) => {
        throw otherKind(error, /unknown command/i, sentinel, "sentinel");
      });
      if (answer === null) {
        throw new Error(
          `The sentinel at ${written(sentinel)} knows no master named ${
            JSON.stringify(this.#name)
          }: the name is after "#" in the URL`,
        );
      }
      return toAddress(answer, sentinel);
    });
    this.#master = master;
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly master: Address;
}

/** The masters of a Redis Cluster. */
class Sharded implements Topology {
  readonly isFixed = false;
  readonly #seeds: readonly Address[];
  #ranges: readonly Range[] = [];
  readonly #owners = new Map<string, Address>();
  masters: readonly Address[] = [];

  constructor(nodes: readonly Address[]) {
    this.#seeds = nodes;
  }

  owner(key: string): Address | undefined {
    const found = this.#owners.get(key);
    if (found !== undefined) return found;
    const slot = slotOf(key);
    const range = this.#ranges.find(({ from, to }) =>
      from <= slot && slot <= to
    );
    // The channels of a cluster's nodes are few, but nodes come and go.
    if (this.#owners.size > MOST_OWNERS) this.#owners.clear();
    if (range !== undefined) this.#owners.set(key, range.master);
    return range?.master;
  }

  async refresh(asker: Asker): Promise<void> {
    const known = distinct([...this.masters, ...this.#seeds])
      .toSorted((a, b) => Number(asker.reaches(b)) - Number(asker.reaches(a)));
    this.#ranges = await firstAnswer(
      known,
      async (node) => {
        const slots = await asker.server(node, ["CLUSTER", "SLOTS"])
          .catch((error) => {
            throw otherKind(error, /cluster support/i, node, "cluster");
          });
        return toRanges(slots, node);
      },
    );
    this.#owners.clear();
    this.masters = distinct(this.#ranges.map(({ master }) => master));
  }
}

const distinct = (addresses: readonly Address[]): Address[] => [
  ...new Map(addresses.map((each) => [written(each), each])).values(),
];

const MOST_OWNERS = 1000;

/** Asks one after the other, and next time first the one that has answered. */
async function firstAnswer<T>(
  addresses: Address[],
  ask: (address: Address) => Promise<T>,
): Promise<T> {
  const failures: Error[] = [];
  for (const address of [...addresses]) {
    try {
      const answer = await ask(address);
      addresses.splice(addresses.indexOf(address), 1);
      addresses.unshift(address);
      return answer;
    } catch (error) {
      failures.push(error instanceof Error ? error : new Error(String(error)));
    }
  }
  if (failures.length === 1 && failures[0] !== undefined) throw failures[0];
  throw new Error(failures.map(({ message }) => message).join("; "));
}

/** Explains an error that means that the URL is of another kind. */
function otherKind(
  error: unknown,
  sign: RegExp,
  address: Address,
  kind: "sentinel" | "cluster",
): unknown {
  if (!(error instanceof Error && sign.test(error.message))) return error;
  const what = kind === "sentinel"
    ? "no sentinel: redis-sentinel:// is for sentinels"
    : "no node of a Redis Cluster: redis-cluster:// is for those";
  return new Error(
    `Redis at ${written(address)} is ${what}; one server is redis://`,
  );
}

function toRanges(answer: Reply, asked: Address): Range[] {
  if (!Array.isArray(answer)) throw new TypeError("CLUSTER SLOTS has no list");
  const ranges = answer.map(([from, to, master]): Range => ({
    from: Number(from),
    to: Number(to),
    master: toAddress(master, asked),
  }));
  if (ranges.length > 0) return ranges;
  throw new Error(
    `The Redis Cluster of ${written(asked)} has no slots yet: create it first`,
  );
}

/** A node that does not know its own name leaves it out: it is the one that was asked. */
function toAddress(answer: Reply, asked: Address): Address {
  const [host, port] = Array.isArray(answer) ? answer : [];
  const own = "host" in asked ? asked.host : "127.0.0.1";
  return { host: host ? String(host) : own, port: Number(port) };
}
