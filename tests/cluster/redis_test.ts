import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { newAuthority, newCertificate } from "../support/certificates.ts";
import { isAlive } from "../support/processes.ts";
import { oneCommand, startRedis } from "../support/cluster/redis.ts";
import { hasTls } from "../support/cluster/server_program.ts";

Deno.test("startRedis() keeps or loses its data over a restart on the same port", async () => {
  await using redis = await startRedis();
  const { url } = redis;
  await redis.command("SET", "seat", "taken");
  await redis.restart({ keepData: true });
  assertEquals(await redis.command("GET", "seat"), "taken");
  await redis.restart({ keepData: false });
  assertEquals(await redis.command("GET", "seat"), null);
  assertEquals(redis.url, url);
});

Deno.test("startRedis() keeps what was answered when it is persistent and killed", async () => {
  await using redis = await startRedis({ persistent: true });
  await redis.command("SET", "seat", "taken");
  await redis.kill();
  await assertRejects(() => redis.command("PING"));
  await redis.restart({ keepData: true });
  assertEquals(await redis.command("GET", "seat"), "taken");
});

Deno.test("startRedis() holds answers back while it is frozen, and ends with its scope", async () => {
  let pid = 0;
  {
    await using redis = await startRedis();
    pid = redis.pid;
    redis.freeze();
    const answer = redis.command("PING");
    redis.thaw();
    assertEquals(await answer, "PONG");
    redis.freeze(); // one that is stopped ends as well
  }
  assertEquals(await isAlive(pid), false);
});

Deno.test("startRedis() serves TLS, and users of an access list", {
  ignore: !hasTls,
}, async () => {
  const authority = await newAuthority("redis");
  const certificate = await newCertificate("redis", authority);
  await using redis = await startRedis({
    tls: { ...certificate, ca: authority.cert },
    acl: ["user guest on >word ~* &* +ping"],
  });
  assertMatch(redis.url, /^rediss:/);
  assertEquals(await redis.command("SET", "seat", "taken"), "OK");
  const guest = { ca: authority.cert, username: "guest", password: "word" };
  assertEquals(await oneCommand(redis.url, ["PING"], guest), "PONG");
  await assertRejects(
    () => oneCommand(redis.url, ["GET", "seat"], guest),
    Error,
    "NOPERM",
  );
});
