import { assert, assertEquals, assertMatch } from "@std/assert";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { startBalancer } from "../../examples/cluster_balancer.ts";
import { mcpGateway } from "../../mcp/mod.ts";
import { createSmcpServer } from "../../server/mod.ts";
import { newAuthority, newCertificate } from "../support/certificates.ts";
import { start } from "../support/child.ts";
import {
  balancerFiles,
  PLAYED,
  type PlayedExample,
  PUBLIC_NAME,
  startBalancerOf,
  startPageBalancer,
} from "../support/cluster/balancers.ts";
import { startCluster, type TestCluster } from "../support/cluster/cluster.ts";
import {
  callTool,
  heard,
  joinAgent,
  joinComputer,
  joinSoon,
} from "../support/cluster/members.ts";
import { leftInGroups } from "../support/processes.ts";
import { scratch } from "../support/scratch.ts";
import { pollingEnds } from "../support/wire/polling_ends.ts";
import { pollingUrl, RawPolling } from "../support/wire/raw_polling.ts";

const TRANSPORTS = [
  ["polling"],
  ["polling", "websocket"],
  ["websocket"],
] as const;

const NAMES = ["a", "b", "c"];

/** The most that a message may have by default, and a text that still fits with what is around it. */
const MAX_MESSAGE_BYTES = 8 * 2 ** 20;
const LARGEST = MAX_MESSAGE_BYTES - 1000;

/** Nodes with the names of the page, behind one proxy. */
const startNamed = async (): Promise<TestCluster> => {
  const cluster = await startCluster({ nodes: 0 });
  for (const name of NAMES) {
    await cluster.add({
      flags: ["--cluster-name", name, "--trust-proxy", "1"],
    });
  }
  return cluster;
};

Deno.test({
  name:
    "the balancers of docs/scaling.md are sticky: three transports, calls from node to node, an owner that is killed",
  timeout: 600_000,
}, async (t) => {
  for (const example of [...Object.keys(PLAYED), "that of the demo"]) {
    await t.step(example, async () => {
      await using cluster = await startNamed();
      await using balancer = example in PLAYED
        ? await startPageBalancer(example as PlayedExample, cluster.nodes)
        : await startBalancer(cluster.nodes);
      await play(cluster, balancer.url);
      await cluster.proved();
    });
  }
});

async function play(cluster: TestCluster, url: string): Promise<void> {
  await using _ends = pollingEnds();
  await using stack = new AsyncDisposableStack();
  for (const [i, list] of TRANSPORTS.entries()) {
    const server = { url, transports: [...list] };
    const agent = stack.use(await joinAgent(server, "planner", `o${i}`));
    const computers = await Promise.all(
      Array.from(
        { length: 8 },
        (_, n) => joinComputer(server, `pc${n}`, `o${i}`),
      ),
    );
    for (const [n, pc] of computers.entries()) {
      stack.use(pc);
      await heard(agent, `enter pc${n}`);
      for (const size of n === 0 ? [100, LARGEST] : [100, 1_000_000]) {
        const answer = await callTool(agent, "planner", `pc${n}`, { size });
        assertEquals(answer.content?.[0]?.text.length, size);
      }
    }
  }
  const misrouted = cluster.nodes.flatMap(({ lines }) =>
    lines.filter((line) => line.includes("not sticky"))
  );
  assertEquals(misrouted, []);

  // What is larger is refused, by the balancer or by the Server behind it.
  const large = await RawPolling.connect(url);
  const { status } = await large.post("4".repeat(MAX_MESSAGE_BYTES + 1));
  assert([400, 413].includes(status), `${status}`);

  // The owner of a polling session is killed: its client gets an error, and joins again elsewhere.
  const polling = await RawPolling.connect(url);
  // The ids of sessions name their node.
  const owner = cluster.node(NAMES.indexOf(polling.sid.split(".")[0] ?? ""));
  const waiting = polling.get();
  await owner.kill();
  assert((await waiting).status !== 200);
  assert((await polling.get()).status !== 200);
  const again = await joinSoon(
    { url, transports: ["polling", "websocket"] },
    "computer",
    "again",
    "o0",
  );
  stack.use(again.client);
}

Deno.test({
  name:
    "sticky by address: clients of many addresses are spread, and each stays where it began",
  timeout: 120_000,
}, async (t) => {
  const examples = [
    "nginx-address.conf",
    "haproxy-address.cfg",
    "address.Caddyfile",
  ] as const;
  await using cluster = await startNamed();
  for (const example of examples) {
    await t.step(example, async () => {
      await using balancer = await startPageBalancer(example, cluster.nodes);
      const owners = new Set<string>();
      for (let i = 2; i < 32; i++) {
        const from = `127.0.0.${i}`;
        const begun = await getFrom(from, pollingUrl(balancer.url));
        const { sid } = JSON.parse(begun.body.slice(1));
        owners.add(String(sid).split(".")[0] ?? "");
        const target = pollingUrl(balancer.url, `&sid=${sid}`);
        const connected = await getFrom(from, target, "40/smcp,");
        assertEquals(connected.status, 200);
        assertMatch((await getFrom(from, target)).body, /^40\/smcp,\{/);
      }
      assertEquals([...owners].sort(), NAMES);
    });
  }
});

Deno.test({
  name:
    "through every balancer OAuth metadata names the public host, and the scheme that the client has used, whatever it claims",
  timeout: 120_000,
}, async (t) => {
  await using folder = await scratch();
  const pem = join(folder.path, "smcp.pem");
  const authority = await newAuthority("public");
  const host = { host: PUBLIC_NAME };
  const { cert, key } = await newCertificate("server", authority, host);
  await Deno.writeTextFile(pem, `${cert}\n${key}\n`);
  await using server = createSmcpServer({
    trustedProxies: 1,
    gateway: mcpGateway(),
    authorizationServers: ["https://id.example.com"],
  });
  const node = await server.listen();
  for (const file of balancerFiles()) {
    for (const [scheme, claimed] of [["https", "http"], ["http", "https"]]) {
      await t.step(`${file}, ${scheme}`, async () => {
        const tls = scheme === "https" ? pem : undefined;
        await using balancer = await startBalancerOf(file, [node], tls);
        const path = "/.well-known/oauth-protected-resource/mcp/north";
        const { port } = new URL(balancer.url);
        const target = `${scheme}://127.0.0.1:${port}${path}`;
        const headers = { ...host, "x-forwarded-proto": `${claimed}` };
        const body = await getAs(target, headers, authority.cert);
        const { resource } = JSON.parse(body);
        assertEquals(resource, `${scheme}://${PUBLIC_NAME}/mcp/north`);
      });
    }
  }
});

Deno.test({
  name:
    "the demo kills two Servers, goes on, shows who sits where, and leaves nothing running",
  timeout: 180_000,
}, async () => {
  const demo = start(
    Deno.execPath(),
    ["run", "-A", "examples/cluster_demo.ts"],
    { cwd: new URL("../../", import.meta.url), group: true },
  );
  const { code } = await demo.status;
  const output = demo.lines.join("\n");
  assertEquals(code, 0, output);
  assertMatch(output, /Server a ┤ .*\w/);
  assertEquals(output.match(/kill -9 of Server \w/g)?.length, 2);
  assertEquals(output.match(/┘ killed/g)?.length, 3, "one, then two");
  assertMatch(output, /calls since then/);
  assertMatch(output, /Nothing is left running/);
  assertEquals(await leftInGroups([demo.pid]), []);
});

/** Asks over HTTP, or over HTTPS with this authority a server of the name in `host`. */
async function getAs(
  url: string,
  headers: Readonly<Record<"host" | "x-forwarded-proto", string>>,
  ca: string,
): Promise<string> {
  const options = { agent: false, headers: { ...headers } } as const;
  const sent = url.startsWith("https:")
    ? httpsRequest(url, {
      ...options,
      servername: headers.host,
      ca,
    })
    : request(url, options);
  sent.end();
  const [response] = await once(sent, "response") as [IncomingMessage];
  return await text(response);
}

/** Asks from another address of loopback; with a body as POST. */
async function getFrom(
  localAddress: string,
  url: string,
  body?: string,
): Promise<{ status: number; body: string }> {
  const method = body === undefined ? "GET" : "POST";
  const headers = { connection: "close" };
  const sent = request(url, { localAddress, method, agent: false, headers });
  sent.end(body);
  const [response] = await once(sent, "response") as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}
