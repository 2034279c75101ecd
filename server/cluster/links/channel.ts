import type { Redis } from "../redis/redis.ts";

/** What links need of Redis. */
export type LinkRedis = Pick<
  Redis,
  "connected" | "since" | "publish" | "subscribe" | "numsub" | "onState"
>;

/** Returns the channel of a node; sharded pub/sub spreads them, since they have no hash tag in common. */
export const channelOf = (node: string): string => `smcp1:{${node}}`;
