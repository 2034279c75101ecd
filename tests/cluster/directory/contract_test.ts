import { openNode } from "../../support/cluster/directories.ts";
import { startRedis } from "../../support/cluster/redis.ts";
import { testRegistryContract } from "../../support/server/registry_contract.ts";

testRegistryContract("RedisDirectory", async () => {
  const redis = await startRedis();
  const node = await openNode(redis.url);
  return {
    registry: node.registry,
    [Symbol.asyncDispose]: async () => {
      await node[Symbol.asyncDispose]();
      await redis[Symbol.asyncDispose]();
    },
  };
});
