import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { ConnectionError, SmcpAgent } from "../../agent/mod.ts";
import { SmcpComputer } from "../../computer/mod.ts";
import { fixture } from "../support/computer/mcp_servers.ts";
import {
  startCluster,
  type TestCluster,
} from "../support/cluster/rig/cluster.ts";
import {
  PLAYED_FOR_MCP,
  type PlayedExample,
  startPageBalancer,
} from "../support/cluster/rig/page_balancers.ts";
import { CLIENTS } from "../support/mcp/clients.ts";
import { callEcho } from "../support/mcp/gateway.ts";
import { post } from "../support/mcp/post.ts";
import { pollingEnds } from "../support/wire/polling_ends.ts";

const OFFICES = ["north", "east", "south", "west"];

const startServers = async (): Promise<TestCluster> => {
  const cluster = await startCluster({ nodes: 0 });
  for (const _ of [1, 2, 3]) {
    await cluster.add({ flags: ["--mcp", "--trust-proxy", "1"] });
  }
  return cluster;
};

async function joinPc(url: string, office: string): Promise<SmcpComputer> {
  const computer = new SmcpComputer({
    url,
    name: "pc",
    servers: { fix: fixture({ only: ["echo"] }) },
    confirm: () => "once",
  });
  await computer.connect();
  await computer.join(office);
  await computer.serversSettled();
  return computer;
}

Deno.test({
  name:
    "the balancers of docs/scaling.md bring all MCP clients of an office to one Server",
  timeout: 180_000,
}, async (t) => {
  for (const example of Object.keys(PLAYED_FOR_MCP) as PlayedExample[]) {
    await t.step(example, async () => {
      await using _ends = pollingEnds();
      await using cluster = await startServers();
      await using balancer = await startPageBalancer(example, cluster.nodes);
      await using stack = new AsyncDisposableStack();
      for (const office of OFFICES) {
        stack.use(await joinPc(balancer.url, office));
        const url = new URL(`/mcp/${office}`, balancer.url);
        const clients = Object.values(CLIENTS);
        for (const connect of [...clients, ...clients]) {
          const client = stack.use(await connect({ url }));
          const { content } = await client.call("pc__echo", { text: office });
          assertEquals(content[0]?.text, office);
        }
      }
      await stack.disposeAsync();
      await cluster.proved();
    });
  }
});

Deno.test({
  name:
    "an MCP client that reaches another Server than that of its office is told which Agent sits there",
  timeout: 120_000,
}, async () => {
  await using _ends = pollingEnds();
  await using cluster = await startServers();
  await using _pc = await joinPc(cluster.node(2).url, "north");
  const [here, there] = [cluster.node(0), cluster.node(1)]
    .map(({ url }) => `${url}/mcp/north`);
  const first = await post(here ?? "", callEcho("first"));
  assertEquals(JSON.parse(first.body).result.content[0].text, "first");
  const second = await post(there ?? "", callEcho("second"));
  assertEquals(second.status, 503);
  assertMatch(second.body, /in use by its Agent \\"mcp\\"/);
});

Deno.test({
  name:
    "MCP makes way for an Agent of the same Server; one of another Server gets the name of who has the seat",
  timeout: 120_000,
}, async () => {
  await using _ends = pollingEnds();
  await using cluster = await startServers();
  await using _pc = await joinPc(cluster.node(2).url, "north");
  const [here, there] = [cluster.node(0).url, cluster.node(1).url];
  assertEquals((await post(`${here}/mcp/north`, callEcho("a"))).status, 200);
  const agentAt = async (url: string) => {
    const agent = new SmcpAgent({ url, name: "planner" });
    await agent.connect();
    return agent;
  };
  await using far = await agentAt(there);
  await assertRejects(
    () => far.join("north"),
    ConnectionError,
    'Room already has an agent: "mcp" has it until it leaves',
  );
  const near = await agentAt(here);
  await near.join("north");
  const { content } = await near.callTool("pc", "echo", { text: "b" });
  assertEquals(content[0]?.text, "b");
  await near.close();
  const again = await post(`${here}/mcp/north`, callEcho("c"));
  assertEquals(JSON.parse(again.body).result.content[0].text, "c");
});
