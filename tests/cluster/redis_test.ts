import { Buffer } from "node:buffer";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { assert, assertEquals, assertFalse, assertRejects } from "@std/assert";
import {
  connectRedis,
  type Redis,
} from "../../server/cluster/redis/connect.ts";
import {
  newScript,
  NotConnectedError,
} from "../../server/cluster/redis/redis_connection.ts";
import { newAuthority, newCertificate } from "../support/certificates.ts";
import { found, until } from "../support/cluster/programs.ts";
import { startRedis } from "../support/cluster/redis.ts";
import { startRedisCluster } from "../support/cluster/redis_groups.ts";
import { hasTls } from "../support/cluster/server_program.ts";
import { captureLog } from "../support/log_capture.ts";

const CHANNEL = "smcp1:{node}";
const ECHO = newScript("return { KEYS[1], ARGV[1], 7 }");

/** Resolves when it is connected, or is not. */
function reached(redis: Redis, isConnected: boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const off = redis.onState((now) => {
    if (now === isConnected) resolve();
  });
  if (redis.connected === isConnected) resolve();
  return promise.finally(off);
}

/** Collects what arrives. */
async function subscribed(redis: Redis): Promise<Buffer[]> {
  const received: Buffer[] = [];
  await redis.subscribe(CHANNEL, (message) => received.push(message));
  return received;
}

Deno.test("connectRedis() runs scripts, and passes bytes as they are", async () => {
  await using server = await startRedis();
  await using redis = await connectRedis(server.url);
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 256));
  assertEquals(await redis.run(ECHO, ["{a}"], ["ä"]), ["{a}", "ä", 7]);
  await server.command("SCRIPT", "FLUSH");
  assertEquals(await redis.run(ECHO, ["{a}"], ["b"]), ["{a}", "b", 7]);

  assertEquals(await redis.publish(CHANNEL, bytes), 0);
  assertEquals(await redis.numsub([]), []);
  const received = await subscribed(redis);
  assertEquals(await redis.numsub(["nobody", CHANNEL]), [0, 1]);
  assertEquals(await redis.publish(CHANNEL, bytes), 1);
  assertEquals(await redis.publish(CHANNEL, Buffer.alloc(0)), 1);
  const all = await found(() => received, (r) => r.length > 1);
  assertEquals(all, [bytes, Buffer.alloc(0)]);
});

Deno.test("without Redis everything fails at once; afterwards the subscription is there again", async () => {
  await using server = await startRedis();
  await using redis = await connectRedis(server.url);
  const received = await subscribed(redis);
  const since = redis.since;
  assert(since !== undefined);
  await server.kill();
  await reached(redis, false);
  assertEquals(redis.since, undefined);
  // It has two connections, of which one is the first to notice.
  await until(async () => {
    const error = await redis.numsub([CHANNEL]).catch((error) => error);
    return error instanceof NotConnectedError;
  });
  for (
    const ask of [
      () => redis.run(ECHO, ["{a}"], ["x"]),
      () => redis.publish(CHANNEL, Buffer.from("lost")),
      () => redis.numsub([CHANNEL]),
    ]
  ) await assertRejects(ask, NotConnectedError, server.url.slice(8));

  await server.restart({ keepData: false });
  await reached(redis, true);
  assert(redis.since !== undefined && redis.since > since);
  assertEquals(await redis.publish(CHANNEL, Buffer.from("back")), 1);
  const all = await found(() => received, (r) => r.length > 0);
  assertEquals(all.map(String), ["back"]);
});

Deno.test("a Redis that does not answer fails commands after a second, and is given up after some", async () => {
  await using server = await startRedis();
  await using redis = await connectRedis(server.url);
  await subscribed(redis);
  server.freeze();
  const published = redis.publish(CHANNEL, Buffer.from("x"));
  published.catch(() => {});
  await assertRejects(
    () => redis.run(ECHO, ["{a}"], ["x"]),
    Error,
    "does not answer in time",
  );
  assert(redis.connected);
  await reached(redis, false);
  await assertRejects(() => published);
  server.thaw();
  await reached(redis, true);
  assertEquals(await redis.numsub([CHANNEL]), [1]);
});

Deno.test("a subscription that Redis cuts off counts as a new connection", async () => {
  await using server = await startRedis();
  await using redis = await connectRedis(server.url);
  await subscribed(redis);
  const states: boolean[] = [];
  redis.onState((isConnected) => states.push(isConnected));
  await server.command("CLIENT", "KILL", "TYPE", "pubsub");
  await reached(redis, false);
  await reached(redis, true);
  assertEquals(states, [false, true]);
  assertEquals(await redis.numsub([CHANNEL]), [1]);
  // Who answers is the same connection as before.
  assertEquals(await redis.run(ECHO, ["{a}"], ["x"]), ["{a}", "x", 7]);
});

Deno.test("a process subscribes once, and nothing of it is left after close()", async () => {
  await using server = await startRedis();
  const redis = await connectRedis(server.url);
  await subscribed(redis);
  await assertRejects(() => redis.subscribe("other", () => {}), Error, "one");
  await redis.close();
  await redis.close();
  assertEquals(redis.connected, false);
  await assertRejects(() => redis.run(ECHO, ["a"], []), NotConnectedError);
  await found(
    async () => String(await server.command("CLIENT", "LIST")),
    (list) => list.trim().split("\n").length === 1,
  );
});

Deno.test("connectRedis() says why it cannot connect, without a password", async () => {
  let nowhere = "";
  {
    await using server = await startRedis();
    nowhere = server.url.slice("redis://".length);
  }
  const acl = ["user node on >secret ~* &* +@all"];
  await using group = await startRedisCluster();
  await using single = await startRedis();
  await using guarded = await startRedis({ acl });
  await using silent = await silentServer();
  const place = single.url.slice("redis://".length);
  const quiet = `127.0.0.1:${silent.port}`;
  await refused([
    [`redis://${nowhere}`, `Cannot reach Redis at ${nowhere}`],
    [`redis-cluster://${nowhere}`, `Cannot reach Redis at ${nowhere}`],
    [`redis-sentinel://${nowhere}#m`, `Cannot reach Redis at ${nowhere}`],
    ["redis://redis.invalid", "redis.invalid:6379"],
    ["unix:///nowhere/redis.sock", "/nowhere/redis.sock"],
    [`redis://${quiet}`, `${quiet}: it does not answer in time`],
    [`rediss://${quiet}`, `${quiet}: Connection timeout`],
    [guarded.url, "needs a password"],
    [guarded.urlOf("node", "secret1"), "refuses the user and password"],
    [guarded.urlOf("nobody", "secret"), "refuses the user"],
    [`redis://${place}/99`, "DB index is out of range"],
    [`rediss://${place}`, "the URL begins with redis://"],
    [`redis-cluster://${place}`, "redis-cluster:// is for"],
    [`redis-sentinel://${place}#m`, "redis-sentinel:// is for"],
    [
      `redis://127.0.0.1:${group.servers[0]?.port}`,
      "its URL begins with redis-cluster://",
    ],
  ]);
  await using redis = await connectRedis(guarded.urlOf("node", "secret"));
  assertEquals(redis.place, guarded.url.slice("redis://".length));
  await using _ = await connectRedis(`${single.url}/3`);
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
    await refused([
      [redis.url, "Cannot reach Redis", { ca }],
      [redis.url, "Cannot reach Redis", { ca: stranger.cert, ...client }],
      [redis.url, "Cannot reach Redis", client],
      [
        redis.url.replace("rediss", "redis"),
        "the URL begins with rediss://",
      ],
    ]);
  },
);

Deno.test("connectRedis() warns of a Redis that may drop seats", async () => {
  const settings = ["maxmemory 100mb", "maxmemory-policy allkeys-lru"];
  await using server = await startRedis({ settings });
  using log = captureLog();
  await using _ = await connectRedis(server.url);
  const warnings = log.records.filter(({ level }) => level === "warning");
  assertEquals(warnings.map(({ properties }) => properties), [{
    place: server.url.slice("redis://".length),
    policy: "allkeys-lru",
  }]);
});

async function refused(
  rows: readonly (readonly [
    url: string,
    reason: string,
    tls?: Parameters<typeof connectRedis>[1],
  ])[],
): Promise<void> {
  for (const [url, reason, tls] of rows) {
    const connect = () => connectRedis(url, tls);
    const { message } = await assertRejects(connect, Error, reason, url);
    assertFalse(message.includes("secret"), message);
  }
}

/** Takes connections, and keeps them until the end. */
async function silentServer() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => {}));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
