import { assertEquals, assertRejects } from "@std/assert";
import { checkServer } from "../../../../../server/cluster/redis/servers.ts";
import { parseRedisUrl } from "../../../../../server/cluster/redis/url.ts";
import { captureLog } from "../../../../support/log_capture.ts";

/** A server that answers INFO. */
const server = (fields: Readonly<Record<string, string>>) => {
  const lines = Object.entries(fields).map(([name, value]) =>
    `${name}:${value}`
  );
  return () => Promise.resolve(["# Server", ...lines, ""].join("\r\n"));
};

const single = parseRedisUrl("redis://host");
const cluster = parseRedisUrl("redis-cluster://host");

for (const version of ["6.2.0", "6.10", "7.0.15", "8.2.1", "10.0"]) {
  Deno.test(`checkServer() takes version ${version}`, async () => {
    using log = captureLog();
    const ask = server({
      redis_version: version,
      redis_mode: "standalone",
      maxmemory_policy: "noeviction",
    });
    await checkServer("host:6379", single, ask);
    assertEquals(log.records.filter(({ level }) => level !== "info"), []);
  });
}

for (const version of ["", "2.8", "5.0.14", "6.0.16"]) {
  Deno.test(`checkServer() refuses version ${JSON.stringify(version)}`, async () => {
    await assertRejects(
      () =>
        checkServer("host:6379", single, server({ redis_version: version })),
      Error,
      `Redis at host:6379 is version ${version || "unknown"}: 6.2 or later`,
    );
  });
}

Deno.test("checkServer() refuses a Redis Cluster without sharded pub/sub", async () => {
  await assertRejects(
    () => checkServer("host:6379", cluster, server({ redis_version: "6.2.7" })),
    Error,
    "7.0 or later is needed for a Redis Cluster (sharded pub/sub)",
  );
});

for (
  const [what, fields, warnings] of [
    ["warns of", {}, 1],
    ["takes", { min_slaves_good_slaves: "1" }, 0],
  ] as const
) {
  Deno.test(`checkServer() ${what} a master of sentinels that ${warnings ? "may" : "cannot"} be one of two`, async () => {
    using log = captureLog();
    await checkServer(
      "host:6379",
      parseRedisUrl("redis-sentinel://host#m"),
      server({ redis_version: "7.0.15", ...fields }),
    );
    const warned = log.records.filter(({ level }) => level === "warning");
    assertEquals(warned.length, warnings);
  });
}

Deno.test("checkServer() refuses a sentinel, and says how its URL begins", async () => {
  const ask = server({ redis_version: "7.0.15", redis_mode: "sentinel" });
  await assertRejects(
    () => checkServer("host:26379", single, ask),
    Error,
    "its URL begins with redis-sentinel://",
  );
});
