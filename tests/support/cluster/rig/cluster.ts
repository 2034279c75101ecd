import { assertEquals } from "@std/assert";
import { membersOf, rivals, servedAgents } from "./audit_log.ts";
import { type NodeOptions, startNode, type TestNode } from "./node.ts";
import { type Partition, startPartition } from "./partition.ts";
import { found } from "../programs.ts";
import { type RedisOptions, startRedis, type TestRedis } from "../redis.ts";

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
   * connecting again; only then others are told of an end at once.
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
  const stack = new AsyncDisposableStack();
  try {
    const redis = url === undefined
      ? stack.use(await startRedis(how))
      : undefined;
    const started: TestNode[] = [];
    const between: Partition[] = [];
    const add = async (options: Partial<NodeOptions> = {}) => {
      const name = "abcdefghijklmnopqrstuvwxyz"[named++] ?? `${named}`;
      let to = url ?? redis?.url ?? "";
      if (partitions && redis) {
        const partition = stack.use(await startPartition(redis.port));
        between.push(partition);
        to = to.replace(`:${redis.port}`, `:${partition.port}`);
      }
      const all = ["--no-limits", ...flags, ...options.flags ?? []];
      const node = stack.use(
        await startNode({ name, redis: to, ...options, flags: all }),
      );
      started.push(node);
      return node;
    };
    let named = 0;
    for (let i = 0; i < nodes; i++) {
      // One after the other where their order matters to the test.
      if (partitions) await add();
    }
    if (!partitions) {
      await Promise.all(Array.from({ length: nodes }, () => add()));
      started.sort((a, b) => a.name.localeCompare(b.name));
    }
    return {
      get redis() {
        if (redis) return redis;
        throw new Error("This test has a Redis of its own");
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
        assertEquals(rivals(servedAgents(started)), [], "two Agents served");
        for (const { name, endedAt, wasEnded, lines } of started) {
          if (endedAt !== undefined && !wasEnded) {
            throw new Error(
              `Node ${name} ended by itself:\n${lines.slice(-20).join("\n")}`,
            );
          }
        }
        if (redis) await agreed(redis, started);
      },
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** Waits until Redis has homes of exactly the offices in which the living nodes have members. */
export async function agreed(
  redis: Pick<TestRedis, "command">,
  nodes: readonly TestNode[],
): Promise<void> {
  const look = async () => {
    const running = nodes.filter(({ isRunning }) => isRunning);
    return {
      homes: (await homesIn(redis)).sort(),
      offices: running.flatMap((node) => [
        ...new Set(membersOf(node).map(({ office = "" }) => office)),
      ]).sort(),
    };
  };
  const until = Date.now() + AGREE_WITHIN_MS;
  const last = await found(
    look,
    ({ homes, offices }) =>
      homes.join("\n") === offices.join("\n") || Date.now() > until,
  );
  assertEquals(last.homes, last.offices, "homes in Redis, and offices");
}

/** More than the 2 s in which a node that has just connected believes no proof of another's end. */
const GROWN_MS = 2500;

/** More than a lease and some beats: what only a lease can free is free by then. */
const AGREE_WITHIN_MS = 30_000;

/** The offices that have a home in Redis, each as often as it has one. */
async function homesIn(
  redis: Pick<TestRedis, "command">,
): Promise<string[]> {
  const keys = await redis.command("KEYS", "{smcp2}:h:*") as string[];
  const homes = await Promise.all(
    keys.map((key) => redis.command("HKEYS", key) as Promise<string[]>),
  );
  return homes.flat();
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item !== undefined) return item;
  throw new Error(`There is no node ${index}`);
}
