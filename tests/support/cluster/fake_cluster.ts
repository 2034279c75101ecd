import type { LinkOptions } from "../../../server/cluster/link.ts";
import { type FakeConnection, FakeRedis } from "./fake_redis.ts";
import { LinkNode } from "./link_node.ts";

/** A tenth of the defaults and less: the relations between them count. */
export const quick = {
  beatMs: 40,
  lookMs: 10,
  goneMs: 10,
  settleMs: 40,
  silentMs: 200,
  answerMs: 500,
  goodbyeMs: 100,
} satisfies Partial<LinkOptions>;

/** Three nodes and their Redis. */
export interface Cluster extends AsyncDisposable {
  readonly redis: FakeRedis;
  readonly nodes: readonly [LinkNode, LinkNode, LinkNode];
  readonly connections: readonly [
    FakeConnection,
    FakeConnection,
    FakeConnection,
  ];
}

/** Three nodes that have met. */
export async function cluster(
  options: Partial<LinkOptions> = quick,
): Promise<Cluster> {
  const redis = new FakeRedis();
  if (options.now) redis.now = options.now;
  const open = async (id: string) => {
    const connection = redis.connect();
    return [connection, await LinkNode.open(connection, id, options)] as const;
  };
  const [[a, north], [b, south], [c, west]] = await Promise.all([
    open("north"),
    open("south"),
    open("west"),
  ]);
  await north.links.meet(["south", "west"]);
  await south.links.meet(["north", "west"]);
  const nodes = [north, south, west] as const;
  return {
    redis,
    nodes,
    connections: [a, b, c],
    async [Symbol.asyncDispose]() {
      for (const node of nodes) await node[Symbol.asyncDispose]();
    },
  };
}
