import { assert } from "@std/assert";
import type { Beat } from "../../../server/cluster/directory.ts";
import { RedisDirectory } from "../../../server/cluster/redis_directory.ts";
import {
  connectRedis,
  type Redis,
} from "../../../server/cluster/redis/connect.ts";
import { until } from "./programs.ts";
import type { RedisTls } from "../../../server/cluster/redis/url.ts";

/** A node of a test, without links, beats or clients. */
export interface TestNode extends AsyncDisposable {
  readonly redis: Redis;
  readonly directory: RedisDirectory;
  /** This node's id. */
  readonly id: string;
  /** Renews the lease; fails when it has ended. */
  beat(): Promise<Extract<Beat, { state: "ok" }>>;
  /** Returns the node that an office lives at, after claiming it. */
  claim(office: string): Promise<string>;
  /** Claims, and renews the lease until that is answered. */
  claimInTime(office: string): Promise<string>;
}

/** Connects a node to Redis, which takes its lease. */
export async function openNode(
  url: string,
  leaseMs?: number,
  tls?: RedisTls,
): Promise<TestNode> {
  const redis = await connectRedis(url, tls);
  const directory = new RedisDirectory(redis, leaseMs);
  const node: TestNode = {
    redis,
    directory,
    id: directory.node,
    beat: async () => {
      const beat = await directory.beat("about");
      assert(beat.state === "ok", beat.state);
      return beat;
    },
    claim: async (office) => (await directory.claim(office)).node,
    async claimInTime(office) {
      let isOver = false;
      const claim = node.claim(office).finally(() => isOver = true);
      claim.catch(() => {}); // a beat may fail first
      await until(async () => {
        if (!isOver) await node.beat();
        return isOver;
      });
      return await claim;
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
