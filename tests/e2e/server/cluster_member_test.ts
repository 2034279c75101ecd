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
  type AgreedSettings,
  type ClusterHindrance,
  type ClusterMember,
  newCluster,
} from "../../../server/shared/cluster.ts";
import { fakeMember } from "../../support/cluster/fake_member.ts";
import { modulesOf } from "../../support/modules.ts";
import { connectRaw } from "../../support/wire/raw_client.ts";

// What a server does with a cluster, whatever that is; tests/cluster has the real one.

/** A server in a cluster that is the test's. */
function newServer(
  changes: Partial<ClusterMember> = {},
  options: SmcpServerOptions = {},
) {
  const offices = new ClusterOffices({
    node: "",
    homes: new Set(),
    claim: () => Promise.reject(new RegistryUnavailableError()),
    release: () => Promise.resolve(),
    peers: new Set(),
    maxMessageBytes: 0,
    send: () => "away",
    isServing: () => false,
  }, 6000);
  const asked: string[] = [];
  const state: { hindrance: ClusterHindrance | undefined } = {
    hindrance: undefined,
  };
  const started: AgreedSettings[] = [];
  const member: ClusterMember = Object.defineProperty(
    fakeMember(offices, {
      start: (settings, local) => {
        started.push(settings);
        return offices.start(local);
      },
      unknownSession: (sid) => void asked.push(sid),
      leave: () => {
        asked.push("leave");
        return Promise.resolve();
      },
      ...changes,
    }),
    "hindrance",
    { get: () => state.hindrance },
  );
  const server = createSmcpServer({ ...options, cluster: newCluster(member) });
  return { server, asked, state, started };
}

const POLL = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0";

Deno.test("a server of a cluster tells /ready why it may not serve, and /health how its node is", async () => {
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
  assertEquals([status, cluster], ["ok", {
    node: "n1",
    lease_ms: 9000,
    redis: "away",
    nodes: 3,
  }]);
});

Deno.test("a server that is fenced refuses new sessions with 503, one whose registry is away takes them", async () => {
  const { server, state } = newServer();
  await using _ = server;
  const { url } = await server.listen();
  const open = async () => {
    const response = await fetch(url + POLL);
    return [
      response.status,
      JSON.parse((await response.text()).replace(/^0/, "")).reason,
    ];
  };
  state.hindrance = "fenced";
  assertEquals(await open(), [503, "registry unavailable"]);
  state.hindrance = "registry unavailable";
  assertEquals(await open(), [200, undefined]);
});

Deno.test("a join is refused with a reason where the node may not serve", async () => {
  const { server } = newServer();
  await using _ = server;
  const { url } = await server.listen();
  await using client = await connectRaw(url);
  assertEquals(
    await client.join("agent", "a", "office"),
    [false, "The registry of offices cannot be reached: try again"],
  );
});

Deno.test("ids of sessions name the node, and requests of other sessions are told and answered as Engine.IO does", async () => {
  const { server, asked } = newServer();
  await using _ = server;
  const { url } = await server.listen();
  const opened = await (await fetch(url + POLL)).text();
  const { sid } = JSON.parse(opened.slice(1));
  assertMatch(sid, /^node\.[\w-]{20,}$/);
  const response = await fetch(`${url}${POLL}&sid=other.abc`);
  assertEquals([response.status, await response.json()], [
    400,
    { code: 1, message: "Session ID unknown" },
  ]);
  assertEquals(asked, ["other.abc"]);
});

Deno.test("a server without a cluster does not change the ids of sessions", async () => {
  await using server = createSmcpServer();
  const { url } = await server.listen();
  const opened = await (await fetch(url + POLL)).text();
  assertMatch(JSON.parse(opened.slice(1)).sid, /^[\w-]{20}$/);
});

Deno.test("a server tells its cluster what all servers should have alike, and leaves it at its close", async () => {
  const { server, started, asked } = newServer({}, {
    protocol: ["0.2", "0.4"],
    limits: { membersPerOffice: 7 },
    maxMessageBytes: 4096,
    heartbeat: { intervalMs: 1000, timeoutMs: 2000 },
  });
  assertEquals(started, [{
    protocols: ["0.2", "0.4"],
    membersPerOffice: 7,
    maxMessageBytes: 4096,
    pingIntervalMs: 1000,
    pingTimeoutMs: 2000,
  }]);
  await server.close();
  assertEquals(asked, ["leave"]);
});

Deno.test("listen() waits until the cluster is joined, and fails with its reason", async () => {
  const joined = Promise.withResolvers<void>();
  const { server } = newServer({ joined: () => joined.promise });
  await using _ = server;
  joined.reject(new Error("Cannot join the cluster at redis:6379: why"));
  await assertRejects(
    () => server.listen(),
    Error,
    "Cannot join the cluster at redis:6379: why",
  );
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
  const linesOf = async (url: string) =>
    (await (await fetch(`${url}/metrics`)).text()).split("\n")
      .filter((line) => line.startsWith("smcp_cluster_"));
  const lines = await linesOf((await server.listen()).url);
  for (
    const line of [
      "smcp_cluster_nodes 3",
      "smcp_cluster_lease_seconds 9.5",
      "smcp_cluster_redis_up 1",
      'smcp_cluster_calls_total{direction="received"} 0',
      "smcp_cluster_fences_total 0",
      "smcp_cluster_misrouted_total 0",
      'smcp_cluster_claim_duration_seconds_sum{outcome="here"} 0.02',
    ]
  ) {
    assertEquals(lines.filter((each) => each === line), [line]);
  }
  await using single = createSmcpServer({ metrics: createMetrics() });
  assertEquals(await linesOf((await single.listen()).url), []);
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
