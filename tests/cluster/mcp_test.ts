import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { ConnectionError, SmcpAgent } from "../../agent/mod.ts";
import { SmcpComputer } from "../../computer/mod.ts";
import { startPageBalancer } from "../support/cluster/balancers.ts";
import { startCluster, type TestCluster } from "../support/cluster/cluster.ts";
import { fixture } from "../support/computer/mcp_servers.ts";
import { CLIENTS } from "../support/mcp/clients.ts";
import { callEcho } from "../support/mcp/gateway.ts";
import { post } from "../support/mcp/post.ts";
import { pollingEnds } from "../support/wire/polling_ends.ts";

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
}, async () => {
  for (
    const example of ["nginx-address.conf", "haproxy-address.cfg"] as const
  ) {
    await using _ends = pollingEnds();
    await using cluster = await startServers();
    await using balancer = await startPageBalancer(example, cluster.nodes);
    await using stack = new AsyncDisposableStack();
    for (const office of ["north", "east", "south", "west"]) {
      stack.use(await joinPc(balancer.url, office));
      const url = new URL(`/mcp/${office}`, balancer.url);
      const clients = Object.values(CLIENTS);
      for (const connect of [...clients, ...clients]) {
        const client = stack.use(await connect({ url }));
        const { content } = await client.call("pc__echo", { text: office });
        assertEquals(content[0]?.text, office, example);
      }
    }
    await stack.disposeAsync();
    await cluster.proved();
  }
});

Deno.test({
  name:
    "MCP makes way for an Agent of the same Server; who comes through another Server gets the name of who has the seat",
  timeout: 120_000,
}, async () => {
  await using _ends = pollingEnds();
  await using cluster = await startServers();
  await using _pc = await joinPc(cluster.node(2).url, "north");
  const here = cluster.node(0).url;
  const there = cluster.node(1).url;
  const echoed = async (text: string) => {
    const { body } = await post(`${here}/mcp/north`, callEcho(text));
    assertEquals(JSON.parse(body).result.content[0].text, text);
  };
  await echoed("a");
  const refused = await post(`${there}/mcp/north`, callEcho("second"));
  assertEquals(refused.status, 503);
  assertMatch(refused.body, /in use by its Agent \\"mcp\\"/);
  await using far = new SmcpAgent({ url: there, name: "planner" });
  await far.connect();
  await assertRejects(
    () => far.join("north"),
    ConnectionError,
    'Room already has an agent: "mcp" has it until it leaves',
  );
  const near = new SmcpAgent({ url: here, name: "planner" });
  await near.connect();
  await near.join("north");
  const { content } = await near.callTool("pc", "echo", { text: "b" });
  assertEquals(content[0]?.text, "b");
  await near.close();
  await echoed("c");
});
