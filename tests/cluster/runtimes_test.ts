import { assert, assertEquals, assertRejects } from "@std/assert";
import { join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { connectRedis } from "../../server/cluster/redis/connect.ts";
import { findNode, NODE_VERSIONS } from "../../tools/npm/node.ts";
import {
  addPackages,
  installPackages,
  npmPackages,
} from "../../tools/npm/npm_package.ts";
import { startCluster, type TestCluster } from "../support/cluster/cluster.ts";
import {
  callTool,
  heard,
  joinAgent,
  joinComputer,
} from "../support/cluster/members.ts";
import { startRedis } from "../support/cluster/redis.ts";
import { hasValkey } from "../support/cluster/server_program.ts";
import { scratch } from "../support/scratch.ts";

const [oldest, newest] = NODE_VERSIONS;

Deno.test({
  name:
    `Servers on Node ${oldest}, Node ${newest} and Deno share offices, and notice that one is killed`,
  timeout: 300_000,
}, async () => {
  await using folder = await scratch();
  const { sdk, cli } = await npmPackages(folder.path);
  await installPackages(folder.path, sdk, cli);
  await addPackages(folder.path, config.imports.redis.replace("npm:", ""));
  await using cluster = await startCluster({ nodes: 0 });
  for (const version of [oldest, newest]) {
    const bin = join(folder.path, "node_modules", ".bin", "smcp-server");
    await cluster.add({ program: [await findNode(version), bin] });
  }
  await cluster.add();
  await share(cluster);
});

// The whole suite on it: deno task test:cluster:valkey
const onValkey = { ignore: !hasValkey, timeout: 120_000 };

Deno.test(
  "Servers share their offices on Valkey, and notice that one is killed",
  onValkey,
  async () => {
    await using valkey = await startRedis({ server: "valkey" });
    assert(String(await valkey.command("INFO", "server")).includes("valkey"));
    await using cluster = await startCluster({ url: valkey.url });
    await share(cluster);
  },
);

Deno.test(
  "connectRedis() tells a node of a Valkey cluster from one that is alone",
  onValkey,
  async () => {
    const settings = ["cluster-enabled yes"];
    await using node = await startRedis({
      ...{ server: "valkey", settings, used: false } as const,
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

/** Calls pass between all nodes, until the first one is killed. */
async function share(cluster: TestCluster): Promise<void> {
  await cluster.grown();
  await using stack = new AsyncDisposableStack();
  const agents = [];
  for (const [i, node] of cluster.nodes.entries()) {
    const agent = stack.use(await joinAgent(node.url, "planner", `o${i}`));
    agents.push(agent);
    for (const [j, other] of cluster.nodes.entries()) {
      stack.use(await joinComputer(other.url, `pc${j}`, `o${i}`));
      await heard(agent, `enter pc${j}`);
      for (const size of [0, 100, 10_000, 1_000_000]) {
        const answer = await callTool(agent, "planner", `pc${j}`, { size });
        assertEquals(answer.content?.[0]?.text.length, size);
      }
    }
  }
  const [, ...others] = agents;
  const late = others.map((agent) =>
    callTool(agent, "planner", "pc0", { hold: true })
  );
  await cluster.node(0).kill();
  for (const { code } of await Promise.all(late)) assertEquals(code, 404);
  for (const agent of others) await heard(agent, "leave pc0");
  await stack.disposeAsync();
  await cluster.proved();
}
