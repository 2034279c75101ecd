import { assert, assertEquals, assertRejects } from "@std/assert";
import { connectRedis } from "../../server/cluster/redis/connect.ts";
import { LEAVE_OFFICE_NOTIFICATION } from "../../protocol/mod.ts";
import { startCluster } from "../support/cluster/rig/cluster.ts";
import {
  callTool,
  heard,
  joinAgent,
  joinComputer,
} from "../support/cluster/rig/members.ts";
import { startRedis } from "../support/cluster/redis.ts";
import { hasValkey } from "../support/cluster/server_program.ts";

// The whole suite on it: deno task test:cluster:valkey
const onValkey = { ignore: !hasValkey, timeout: 120_000 };

Deno.test(
  "Servers share their offices on Valkey, and notice that one is killed",
  onValkey,
  async () => {
    await using valkey = await startRedis({ server: "valkey" });
    assert(String(await valkey.command("INFO", "server")).includes("valkey"));
    await using cluster = await startCluster({ url: valkey.url, nodes: 2 });
    const [a, b] = [cluster.node(0), cluster.node(1)];
    await using agent = await joinAgent(a.url, "planner", "north");
    await using pc = await joinComputer(b.url, "pc", "north");
    await heard(agent, "enter pc");
    for (const size of [2, 300_000]) {
      const { content } = await callTool(agent, "planner", "pc", { size });
      assertEquals(content?.[0]?.text.length, size);
    }
    const late = callTool(agent, "planner", "pc", { hold: true });
    await pc.arrived(3);
    await cluster.grown();
    await b.kill();
    assertEquals((await late).code, 404);
    await agent.next(LEAVE_OFFICE_NOTIFICATION);
    await cluster.proved();
  },
);

Deno.test(
  "connectRedis() tells a node of a Valkey cluster from one that is alone",
  onValkey,
  async () => {
    await using node = await startRedis({
      server: "valkey",
      settings: ["cluster-enabled yes"],
      used: false,
      ports: 1,
    });
    await assertRejects(
      () => connectRedis(node.url),
      Error,
      "its URL begins with redis-cluster://",
    );
    await using alone = await startRedis({ server: "valkey" });
    await using redis = await connectRedis(alone.url);
    assert(redis.connected);
  },
);
