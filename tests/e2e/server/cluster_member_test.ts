import {
  assertEquals,
  assertMatch,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { ClusterOffices } from "../../../server/cluster/cluster_offices.ts";
import { RegistryUnavailableError } from "../../../server/cluster/directory.ts";
import {
  createMetrics,
  createSmcpServer,
  type SmcpServerOptions,
} from "../../../server/mod.ts";
import {
  type ClusterHindrance,
  type ClusterMember,
  newCluster,
} from "../../../server/shared/cluster.ts";
import { fakeMember } from "../../support/cluster/fake_member.ts";
import { modulesOf } from "../../support/modules.ts";
import { connectRaw } from "../../support/wire/raw_client.ts";

// What a server does with a cluster, whatever that is; tests/cluster has the real one.

/** A server in a cluster that is the test's, and what it has done with it. */
function newServer(
  changes: Partial<ClusterMember> = {},
  options: SmcpServerOptions = {},
) {
  const offices = new ClusterOffices({
    node: "",
    homes: new Set(),
    peers: new Set(),
    maxMessageBytes: 0,
    claim: () => Promise.reject(new RegistryUnavailableError()),
    release: () => Promise.resolve(),
    send: () => "away",
    isServing: () => false,
  }, 6000);
  const done: unknown[] = [];
  const state: { hindrance?: ClusterHindrance } = {};
  const member = fakeMember(offices, {
    start: (settings, local) => {
      done.push(settings);
      return offices.start(local);
    },
    unknownSession: (sid) => void done.push(sid),
    leave: () => Promise.resolve(void done.push("leave")),
    ...changes,
  });
  const cluster = newCluster(
    Object.defineProperty(member, "hindrance", { get: () => state.hindrance }),
  );
  return { server: createSmcpServer({ ...options, cluster }), done, state };
}

const POLL = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0";

/** The answer to a request for a session. */
async function open(url: string) {
  const response = await fetch(url + POLL);
  const body = JSON.parse((await response.text()).replace(/^0/, ""));
  return { status: response.status, ...body };
}

Deno.test("a server of a cluster says at /ready why it may not serve, and at /health how its node is", async () => {
  const { server, state } = newServer({
    status: () => ({ node: "n1", leaseMs: 9000, redis: "away", nodes: 3 }),
  });
  await using _ = server;
  const { url } = await server.listen();
  const look = async () => {
    const response = await fetch(`${url}/ready`);
    return [response.status, (await response.json()).status];
  };
  assertEquals(await look(), [200, "ready"]);
  for (const hindrance of ["fenced", "registry unavailable"] as const) {
    state.hindrance = hindrance;
    assertEquals(await look(), [503, hindrance]);
  }
  const { status, cluster } = await (await fetch(`${url}/health`)).json();
  const shown = { node: "n1", lease_ms: 9000, redis: "away", nodes: 3 };
  assertEquals([status, cluster], ["ok", shown]);
});

Deno.test("a server that is fenced refuses new sessions with 503, one whose registry is away takes them", async () => {
  const { server, state } = newServer();
  await using _ = server;
  const { url } = await server.listen();
  state.hindrance = "fenced";
  const { status, reason } = await open(url);
  assertEquals([status, reason], [503, "registry unavailable"]);
  state.hindrance = "registry unavailable";
  assertEquals((await open(url)).status, 200);
});

Deno.test("a join is refused with a reason where the node may not serve", async () => {
  const { server } = newServer();
  await using _ = server;
  await using client = await connectRaw((await server.listen()).url);
  assertEquals(
    await client.join("agent", "a", "office"),
    [false, "The registry of offices cannot be reached: try again"],
  );
});

Deno.test("ids of sessions name the node, and requests of other sessions are reported and answered as Engine.IO does", async () => {
  const { server, done } = newServer();
  await using _ = server;
  const { url } = await server.listen();
  assertMatch((await open(url)).sid, /^node\.[\w-]{20,}$/);
  const response = await fetch(`${url}${POLL}&sid=other.abc`);
  const unknown = { code: 1, message: "Session ID unknown" };
  assertEquals([response.status, await response.json()], [400, unknown]);
  assertEquals(done.slice(1), ["other.abc"]);
});

Deno.test("a server without a cluster does not change the ids of sessions", async () => {
  await using server = createSmcpServer();
  const { sid } = await open((await server.listen()).url);
  assertMatch(sid, /^[\w-]{20}$/);
});

Deno.test("a server passes to its cluster the settings that all servers should have alike, and leaves it at its close", async () => {
  const { server, done } = newServer({}, {
    protocol: ["0.2", "0.4"],
    limits: { membersPerOffice: 7 },
    maxMessageBytes: 4096,
    heartbeat: { intervalMs: 1000, timeoutMs: 2000 },
  });
  await server.close();
  assertEquals(done, [{
    protocols: ["0.2", "0.4"],
    membersPerOffice: 7,
    maxMessageBytes: 4096,
    pingIntervalMs: 1000,
    pingTimeoutMs: 2000,
  }, "leave"]);
});

Deno.test("listen() waits until the cluster is joined, and fails with its reason", async () => {
  const why = "Cannot join the cluster at redis:6379: why";
  const joined = Promise.withResolvers<void>();
  const { server } = newServer({ joined: () => joined.promise });
  await using _ = server;
  joined.reject(new Error(why));
  await assertRejects(() => server.listen(), Error, why);
});

Deno.test("createSmcpServer() refuses what is no cluster", () => {
  const cluster = {
    status: { node: "", leaseMs: 0, redis: "away" as const, nodes: 0 },
    close: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  assertThrows(
    () => createSmcpServer({ cluster }),
    TypeError,
    "expected what joinCluster() of @a2c-smcp/sdk/server/cluster resolves with",
  );
});

Deno.test("/metrics has the cluster's figures, and none of them without a cluster", async () => {
  const { server } = newServer({
    status: () => ({ node: "n1", leaseMs: 9500, redis: "connected", nodes: 3 }),
    onClaim: (listener) => listener("here", 20),
  }, { metrics: createMetrics() });
  await using _ = server;
  await using single = createSmcpServer({ metrics: createMetrics() });
  const linesOf = async (each: typeof single) => {
    const { url } = await each.listen();
    const text = await (await fetch(`${url}/metrics`)).text();
    return text.split("\n").filter((line) => line.startsWith("smcp_cluster_"));
  };
  const expected = [
    "smcp_cluster_nodes 3",
    "smcp_cluster_lease_seconds 9.5",
    "smcp_cluster_redis_up 1",
    'smcp_cluster_calls_total{direction="received"} 0',
    "smcp_cluster_fences_total 0",
    "smcp_cluster_misrouted_total 0",
    'smcp_cluster_claim_duration_seconds_sum{outcome="here"} 0.02',
  ];
  const lines = await linesOf(server);
  assertEquals(
    lines.filter((line) => expected.includes(line)).sort(),
    expected.sort(),
  );
  assertEquals(await linesOf(single), []);
});

Deno.test("a server without a cluster loads nothing of it, and not the package redis", async () => {
  const isCluster = (name: string) =>
    name.startsWith("server/cluster/") || /^npm:\/?(redis|@redis\/)/.test(name);
  for (const file of ["server/main.ts", "server/cli/serve.ts", "mod.ts"]) {
    const modules = await modulesOf(file, { dynamic: false });
    assertEquals(modules.filter(isCluster), [], file);
  }
  // Would be found if it were loaded.
  const modules = await modulesOf("server/cluster/mod.ts", { dynamic: true });
  assertEquals(modules.some((name) => /^npm:\/?redis@/.test(name)), true);
});
