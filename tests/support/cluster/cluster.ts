import { assert, assertEquals } from "@std/assert";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import {
  membersOf,
  type NodeOptions,
  rivals,
  startNode,
  type TestNode,
} from "./node.ts";
import { found } from "./programs.ts";
import { type RedisOptions, startRedis, type TestRedis } from "./redis.ts";

/** How to start a cluster. */
export interface ClusterOptions {
  /** The number of nodes; default 3. */
  nodes?: number;
  /** Flags of every node; limits are off. */
  flags?: readonly string[];
  /** How to start Redis. */
  redis?: RedisOptions;
  /** The URL of a Redis that the test itself has started. */
  url?: string;
  /** Whether each node reaches Redis through a proxy that can hold bytes back. */
  partitions?: boolean;
}

/** Servers that share their offices on a Redis of their own. */
export interface TestCluster extends AsyncDisposable {
  /** Their Redis; throws when the test has started another one. */
  readonly redis: TestRedis;
  /** All nodes that were started, in this order. */
  readonly nodes: readonly TestNode[];
  /** Returns a node that was started. */
  node(index: number): TestNode;
  /** What is between a node and Redis. */
  partition(index: number): Partition;
  /** Starts one more node. */
  add(options?: Partial<NodeOptions>): Promise<TestNode>;
  /**
   * Waits until all nodes are connected for long enough to tell a dead node from one that is just
   * connecting again; only then others are notified of an end at once.
   */
  grown(): Promise<void>;
  /**
   * Proves at the end of a test that no two Agents of an office were served at one time, that no node
   * ended by itself, and that the homes in Redis become those of the offices that have members.
   */
  proved(): Promise<void>;
}

/** Starts a cluster of processes. */
export async function startCluster(
  { nodes = 3, flags = [], redis: how, url, partitions = false }:
    ClusterOptions = {},
): Promise<TestCluster> {
  await using stack = new AsyncDisposableStack();
  const redis = url === undefined
    ? stack.use(await startRedis(how))
    : undefined;
  const owned = stack.use(new AsyncDisposableStack());
  const started: TestNode[] = [];
  const between: Partition[] = [];
  let named = 0;
  const add = async (options: Partial<NodeOptions> = {}) => {
    const name = "abcdefghijklmnopqrstuvwxyz"[named++] ?? `${named}`;
    let to = url ?? redis?.url ?? "";
    if (partitions && redis) {
      const partition = owned.use(await startPartition(redis.port));
      between.push(partition);
      to = to.replace(`:${redis.port}`, `:${partition.port}`);
    }
    const all = ["--no-limits", ...flags, ...options.flags ?? []];
    const node = await startNode({ name, redis: to, ...options, flags: all });
    started.push(owned.use(node));
    return node;
  };
  if (partitions) { for (let i = 0; i < nodes; i++) await add(); // in order
   } else await Promise.all(Array.from({ length: nodes }, () => add()));
  started.sort((a, b) => a.name.localeCompare(b.name));
  const all = stack.move();
  return {
    get redis() {
      assert(redis, "This test has a Redis of its own");
      return redis;
    },
    nodes: started,
    node: (index) => at(started, index),
    partition: (index) => at(between, index),
    add,
    async grown() {
      const youngest = Math.max(...started.map((node) => node.startedAt));
      const left = youngest + GROWN_MS - performance.now();
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
    },
    async proved() {
      assertEquals(rivals(started), [], "two Agents served");
      for (const { name, endedAt, wasEnded, lines } of started) {
        const text = `Node ${name} ended by itself:\n${lines.slice(-20)}`;
        assert(endedAt === undefined || wasEnded, text);
      }
      if (redis) await agreed(redis, started);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** More than the 2 s in which a node that has just connected believes no proof of another's end. */
const GROWN_MS = 2500;

/** More than a lease and some beats: what only a lease can free is free by then. */
const AGREE_WITHIN_MS = 30_000;

/** Waits until Redis has homes of exactly the offices in which the living nodes have members. */
export async function agreed(
  redis: Pick<TestRedis, "command">,
  nodes: readonly TestNode[],
): Promise<void> {
  const homes = async () => {
    const keys = await redis.command("KEYS", "{smcp2}:h:*") as string[];
    const lists = await Promise.all(
      keys.map((key) => redis.command("HKEYS", key) as Promise<string[]>),
    );
    return lists.flat().sort();
  };
  const offices = () =>
    nodes.filter(({ isRunning }) => isRunning).flatMap((node) => [
      ...new Set(membersOf(node).map(({ office = "" }) => office)),
    ]).sort();
  const until = Date.now() + AGREE_WITHIN_MS;
  const last = await found(
    async () => [await homes(), offices()],
    ([homes, offices]) =>
      homes?.join("\n") === offices?.join("\n") || Date.now() > until,
  );
  assertEquals(last[0], last[1], "homes in Redis, and offices");
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  assert(item, `There is no node ${index}`);
  return item;
}

/** Whether the suite runs in its long form: `deno task test:cluster:long`. */
export const IS_LONG = Deno.env.get("SMCP_CLUSTER_LONG") === "1";

/**
 * Returns how often something is done: a few times in the short form of the suite.
 *
 * @param name of the variable with another number, such as `SMCP_CLUSTER_RACES`
 */
export function times(
  name: string,
  { short, long }: { short: number; long: number },
): number {
  const number = Number(Deno.env.get(name) ?? (IS_LONG ? long : short));
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new Error(`${name} must be a number above 0`);
}

/** Returns the `timeout` of a test that does something so often. */
export const timeoutOf = (count: number, eachMs: number): number =>
  60_000 + count * eachMs;

/** Which bytes a {@linkcode Partition} holds back. */
export type Held = "both" | "toServer" | "toClient";

/** A TCP proxy that can stop passing bytes, as a network does that loses packets; it closes nothing. */
export interface Partition extends AsyncDisposable {
  readonly port: number;
  /** Passes no bytes in one direction or in both from now on; new connections get as far as this proxy. */
  hold(which: Held): void;
  /** Passes on what was held back, and all that comes. */
  heal(): void;
}

/** Starts a proxy for the server on a port of this machine. */
export async function startPartition(target: number): Promise<Partition> {
  let held: Held | undefined;
  const ways = new Set<Way>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect(target, "127.0.0.1");
    ways.add(new Way("toServer", client, upstream));
    ways.add(new Way("toClient", upstream, client));
    obey(held);
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  const obey = (which: Held | undefined) => {
    held = which;
    for (const way of ways) way.hold(which === "both" || which === way.name);
  };
  return {
    port,
    hold: obey,
    heal: () => obey(undefined),
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const { from } of ways) from.destroy();
      await closed;
    },
  };
}

/** One direction of a connection. */
class Way {
  #isHeld = false;
  #isOver = false;

  constructor(
    readonly name: Held,
    readonly from: Socket,
    readonly to: Socket,
  ) {
    from.on("error", () => {});
    from.on("data", (bytes) => void (to.writable && to.write(bytes)));
    from.on("end", () => to.end());
    from.on("close", () => {
      this.#isOver = true;
      if (!this.#isHeld) to.destroy();
    });
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (isHeld) this.from.pause();
    else this.from.resume();
    // Its end is a packet too: the other side gets it only now.
    if (!isHeld && this.#isOver) this.to.destroy();
  }
}
