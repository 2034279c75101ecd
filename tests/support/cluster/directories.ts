import { assert } from "@std/assert";
import { RedisDirectory } from "../../../server/cluster/directory/redis_directory.ts";
import type { LeaseTimes } from "../../../server/cluster/directory/lease.ts";
import type { Beat } from "../../../server/cluster/directory/directory.ts";
import { connectRedis } from "../../../server/cluster/redis/connect.ts";
import type { Redis } from "../../../server/cluster/redis/redis.ts";
import type { RedisTls } from "../../../server/cluster/redis/tls.ts";
import type { OfficeRegistry } from "../../../server/mod.ts";

/** A node of a test, without links, beats or clients. */
export interface TestNode extends AsyncDisposable {
  readonly redis: Redis;
  readonly directory: RedisDirectory;
  /** The seats of version 0.2. */
  readonly registry: OfficeRegistry;
  /** Renews the lease; fails when it has ended. */
  beat(): Promise<Extract<Beat, { state: "ok" }>>;
}

/** Connects a node to Redis, which takes its lease. */
export async function openNode(
  url: string,
  times?: LeaseTimes,
  tls?: RedisTls,
): Promise<TestNode> {
  const redis = await connectRedis(url, tls);
  const directory = new RedisDirectory(redis, times);
  const node: TestNode = {
    redis,
    directory,
    registry: directory.registry("0.2"),
    beat: async () => {
      const beat = await directory.beat("about");
      assert(beat.state === "ok", beat.state);
      return beat;
    },
    [Symbol.asyncDispose]: async () => {
      await directory[Symbol.asyncDispose]();
      await redis.close();
    },
  };
  try {
    await node.beat();
    return node;
  } catch (error) {
    await node[Symbol.asyncDispose]();
    throw error;
  }
}
