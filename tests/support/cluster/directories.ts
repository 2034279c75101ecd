import { assert } from "@std/assert";
import type { Beat } from "../../../server/cluster/directory.ts";
import { RedisDirectory } from "../../../server/cluster/redis_directory.ts";
import {
  connectRedis,
  type Redis,
} from "../../../server/cluster/redis/connect.ts";

/** A node of a test, without links, beats or clients. */
export class TestNode implements AsyncDisposable {
  constructor(readonly redis: Redis, readonly directory: RedisDirectory) {}

  /** This node's id. */
  get id(): string {
    return this.directory.node;
  }

  /** Renews the lease; fails when it has ended. */
  async beat(): Promise<Extract<Beat, { state: "ok" }>> {
    const beat = await this.directory.beat("about");
    assert(beat.state === "ok", beat.state);
    return beat;
  }

  /** Returns the node that an office lives at, after claiming it. */
  readonly claim = async (office: string): Promise<string> =>
    (await this.directory.claim(office)).node;

  /** Claims, and renews the lease until that is answered. */
  async claimInTime(office: string): Promise<string> {
    let isOver = false;
    const claim = this.claim(office).finally(() => isOver = true);
    claim.catch(() => {}); // a beat may fail first
    while (!isOver) {
      await this.beat();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return await claim;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.directory[Symbol.asyncDispose]();
    await this.redis.close();
  }
}

/** Connects a node to Redis, which takes its lease. */
export async function openNode(
  url: string,
  leaseMs?: number,
): Promise<TestNode> {
  const redis = await connectRedis(url);
  const node = new TestNode(redis, new RedisDirectory(redis, leaseMs));
  try {
    await node.beat();
    return node;
  } catch (error) {
    await node[Symbol.asyncDispose]();
    throw error;
  }
}
