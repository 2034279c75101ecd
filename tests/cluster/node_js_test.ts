import { assertEquals } from "@std/assert";
import { join } from "node:path";
import config from "../../deno.json" with { type: "json" };
import { findNode, NODE_VERSIONS } from "../../tools/npm/node.ts";
import {
  addPackages,
  installPackages,
  npmPackages,
} from "../../tools/npm/npm_package.ts";
import { startCluster } from "../support/cluster/rig/cluster.ts";
import {
  callTool,
  heard,
  joinAgent,
  joinComputer,
} from "../support/cluster/rig/members.ts";

const [oldest, newest] = NODE_VERSIONS;
const folder = await Deno.makeTempDir({ prefix: "smcp-cluster-" });

Deno.test.beforeAll(async () => {
  const { sdk, cli } = await npmPackages(folder);
  await installPackages(folder, sdk, cli);
  await addPackages(folder, config.imports.redis.replace("npm:", ""));
});

Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));

Deno.test({
  name:
    `Servers on Node ${oldest}, Node ${newest} and Deno share offices, and notice that one is killed`,
  timeout: 300_000,
}, async () => {
  await using cluster = await startCluster({ nodes: 0 });
  for (const version of [oldest, newest]) {
    const bin = join(folder, "node_modules", ".bin", "smcp-server");
    await cluster.add({ program: [await findNode(version), bin] });
  }
  await cluster.add();
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
  await cluster.node(0).kill();
  for (const agent of agents.slice(1)) await heard(agent, "leave pc0");
  await stack.disposeAsync();
  await cluster.proved();
});
