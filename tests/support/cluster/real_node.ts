import {
  connectRedis,
  type Redis,
} from "../../../server/cluster/redis/connect.ts";
import { type LinkOptions, toSettings } from "../../../server/cluster/link.ts";
import { LinkNode } from "./link_node.ts";

/** A node of a test on a real Redis. */
export interface RealNode extends LinkNode {
  /** Its connections. */
  readonly redis: Redis;
  /** Resolves when its connections are old enough for it to trust its looks. */
  settled(): Promise<void>;
  /** Resolves after more than two looks. */
  looked(): Promise<void>;
}

/** Opens the links of a node on a real Redis, which are closed with their connections. */
export async function realNode(
  url: string,
  id: string,
  options: Partial<LinkOptions> = {},
): Promise<RealNode> {
  const settings = toSettings({ maxMessageBytes: 8 * 2 ** 20, ...options });
  const redis = await connectRedis(url);
  const node = await LinkNode.open(redis, id, options);
  const after = (ms: number) =>
    new Promise<void>((resolve) => setTimeout(resolve, ms));
  const close = node[Symbol.asyncDispose].bind(node);
  return Object.assign(node, {
    redis,
    settled: async () => {
      while (
        redis.since === undefined ||
        performance.now() - redis.since < settings.settleMs
      ) await after(50);
    },
    looked: () => after(3 * settings.lookMs),
    async [Symbol.asyncDispose]() {
      await close();
      await redis.close();
    },
  });
}
