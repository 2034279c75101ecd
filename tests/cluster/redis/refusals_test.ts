import { assertEquals, assertFalse, assertRejects } from "@std/assert";
import { connectRedis } from "../../../server/cluster/redis/connect.ts";
import { newAuthority, newCertificate } from "../../support/certificates.ts";
import { captureLog } from "../../support/log_capture.ts";
import { startRedis } from "../../support/cluster/redis.ts";
import { hasTls } from "../../support/cluster/server_program.ts";
import { startRedisCluster } from "../../support/cluster/redis_groups.ts";

const refused = async (
  url: string,
  reason: string,
  ...tls: Parameters<typeof connectRedis> extends [string, ...infer R] ? R : []
) => {
  const { message } = await assertRejects(
    () => connectRedis(url, ...tls),
    Error,
    reason,
  );
  assertFalse(message.includes("secret"), message);
};

Deno.test("connectRedis() says that Redis cannot be reached, and where", async () => {
  let url = "";
  {
    await using server = await startRedis();
    url = server.url;
  }
  const place = url.slice("redis://".length);
  await refused(url, `Cannot reach Redis at ${place}`);
  await refused(`redis-cluster://${place}`, `Cannot reach Redis at ${place}`);
  await refused(
    `redis-sentinel://${place}#m`,
    `Cannot reach Redis at ${place}`,
  );
  await refused("redis://redis.invalid", "redis.invalid:6379");
  await refused("unix:///nowhere/redis.sock", "/nowhere/redis.sock");
});

Deno.test("connectRedis() gives up what takes connections and says nothing", async () => {
  await using silent = silentServer();
  const place = `127.0.0.1:${silent.port}`;
  await refused(`redis://${place}`, `${place}: it does not answer in time`);
  await refused(`rediss://${place}`, `${place}: Connection timeout`);
});

Deno.test("connectRedis() says that a password is wrong, or missing, without it", async () => {
  await using server = await startRedis({
    acl: ["user node on >secret ~* &* +@all"],
  });
  await refused(server.url, "wants a password");
  await refused(
    server.urlOf("node", "secret1"),
    "refuses the user and password",
  );
  await refused(server.urlOf("nobody", "secret"), "refuses the user");
  await using redis = await connectRedis(server.urlOf("node", "secret"));
  assertEquals(redis.place, server.url.slice("redis://".length));
});

Deno.test("connectRedis() takes a database, and refuses one that is not there", async () => {
  await using server = await startRedis();
  await using _ = await connectRedis(`${server.url}/3`);
  await refused(`${server.url}/99`, "DB index is out of range");
});

Deno.test(
  "connectRedis() reaches a Redis with TLS of an own authority, with a client certificate",
  {
    ignore: !hasTls,
  },
  async () => {
    const authority = await newAuthority("own");
    const ca = authority.cert;
    const server = await newCertificate("server", authority);
    const client = await newCertificate("client", authority);
    await using redis = await startRedis({
      tls: { ...server, ca, clientCa: ca },
    });
    await using connected = await connectRedis(redis.url, { ca, ...client });
    assertEquals(connected.connected, true);

    const stranger = await newAuthority("stranger");
    await refused(redis.url, "Cannot reach Redis", { ca });
    await refused(redis.url, "Cannot reach Redis", {
      ca: stranger.cert,
      ...client,
    });
    await refused(redis.url, "Cannot reach Redis", client);
    await refused(
      redis.url.replace("rediss", "redis"),
      "then the URL begins with rediss://",
    );
  },
);

Deno.test("connectRedis() says that a server is without TLS", async () => {
  await using server = await startRedis();
  await refused(
    server.url.replace("redis", "rediss"),
    "the URL begins with redis://",
  );
});

Deno.test("connectRedis() tells one server, a sentinel and a Redis Cluster apart", async () => {
  await using group = await startRedisCluster();
  await using single = await startRedis();
  const node = `127.0.0.1:${group.servers[0]?.port}`;
  await refused(`redis://${node}`, "its URL begins with redis-cluster://");
  const place = single.url.slice("redis://".length);
  await refused(`redis-cluster://${place}`, "redis-cluster:// is for");
  await refused(`redis-sentinel://${place}#m`, "redis-sentinel:// is for");
});

Deno.test("connectRedis() warns of a Redis that may drop seats", async () => {
  await using server = await startRedis({
    settings: ["maxmemory 100mb", "maxmemory-policy allkeys-lru"],
  });
  using log = captureLog();
  await using _ = await connectRedis(server.url);
  const warnings = log.records.filter(({ level }) => level === "warning");
  assertEquals(warnings.map(({ properties }) => properties), [{
    place: server.url.slice("redis://".length),
    policy: "allkeys-lru",
  }]);
});

/** Takes connections, and keeps them until the end. */
function silentServer() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const connection of listener) connections.push(connection);
  })();
  return {
    port: listener.addr.port,
    async [Symbol.asyncDispose]() {
      listener.close();
      await accepting;
      for (const connection of connections) connection.close();
    },
  };
}
