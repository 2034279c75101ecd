import { assert, assertEquals, assertMatch } from "@std/assert";
import { request } from "node:http";
import { startNginx } from "../support/cluster/rig/balancers.ts";
import {
  startCluster,
  type TestCluster,
} from "../support/cluster/rig/cluster.ts";
import {
  callTool,
  heard,
  joinAgent,
  joinComputer,
  joinSoon,
} from "../support/cluster/rig/members.ts";
import {
  PLAYED,
  type PlayedExample,
  startPageBalancer,
} from "../support/cluster/rig/page_balancers.ts";
import { until } from "../support/cluster/programs.ts";
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
  timeout: 300_000,
}, async (t) => {
  for (const example of Object.keys(PLAYED) as PlayedExample[]) {
    await t.step(example, async () => {
      await using cluster = await startNamed();
      await using balancer = await startPageBalancer(example, cluster.nodes);
      await play(cluster, balancer.url);
      await cluster.proved();
    });
  }
});

async function play(cluster: TestCluster, url: string): Promise<void> {
  await using _ends = pollingEnds();
  await using stack = new AsyncDisposableStack();
  for (const [i, list] of TRANSPORTS.entries()) {
    const options = { transports: [...list] };
    const agent = stack.use(await joinAgent(url, "planner", `o${i}`, options));
    const computers = await Promise.all(
      Array.from(
        { length: 8 },
        (_, n) => joinComputer(url, `pc${n}`, `o${i}`, options),
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

  // The owner of a polling session is killed: its client is told, and joins again elsewhere.
  const polling = await RawPolling.connect(url);
  const owner = await ownerOf(cluster, polling.sid);
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

/** The ids of sessions name their node. */
const ownerOf = (cluster: TestCluster, sid: string) => {
  const index = NAMES.indexOf(sid.split(".")[0] ?? "");
  return Promise.resolve(cluster.node(index));
};

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
    "a balancer that is not sticky refuses polling as Engine.IO does, and the log says why",
  timeout: 120_000,
}, async () => {
  await using cluster = await startNamed();
  const servers = cluster.nodes.map(({ url }) =>
    `server ${new URL(url).host};`
  );
  await using balancer = await startNginx(
    `upstream any { ${servers.join(" ")} }
    server {
      listen 127.0.0.1:$PORT;
      location / { proxy_pass http://any; proxy_http_version 1.1; proxy_set_header Host $host; }
    }`,
  );
  const session = await RawPolling.open(balancer.url);
  const answers = [await session.get(), await session.get()];
  const refused = answers.find(({ status }) => status === 400);
  assertEquals(refused && JSON.parse(refused.body), {
    code: 1,
    message: "Session ID unknown",
  });
  await until(() =>
    Promise.resolve(
      cluster.nodes.some(({ lines }) =>
        lines.some((line) => line.includes("The balancer is not sticky"))
      ),
    )
  );
});

/** Asks from another address of loopback; with a body as POST. */
function getFrom(
  localAddress: string,
  url: string,
  body?: string,
): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<
    { status: number; body: string }
  >();
  const method = body === undefined ? "GET" : "POST";
  const sent = request(
    url,
    { localAddress, method, agent: false, headers: { connection: "close" } },
    (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => text += chunk);
      response.on(
        "end",
        () => resolve({ status: response.statusCode ?? 0, body: text }),
      );
    },
  );
  sent.on("error", reject);
  sent.end(body);
  return promise;
}
