import {
  assertEquals,
  assertFalse,
  assertRejects,
  assertThrows,
} from "@std/assert";
import {
  loadLibrary,
  requireVersion6,
} from "../../../../server/cluster/redis/connection.ts";
import {
  checkServer,
  slotOf,
} from "../../../../server/cluster/redis/servers.ts";
import {
  parseRedisUrl,
  type RedisTarget,
  type RedisTls,
  toTlsOptions,
} from "../../../../server/cluster/redis/url.ts";
import { newAuthority, newCertificate } from "../../../support/certificates.ts";
import { captureLog } from "../../../support/log_capture.ts";

const target = (over: Partial<RedisTarget> = {}): RedisTarget => ({
  kind: "single",
  tls: false,
  addresses: [{ host: "host", port: 6379 }],
  credentials: undefined,
  database: 0,
  master: undefined,
  sentinelCredentials: undefined,
  ...over,
});

const READ: Readonly<Record<string, RedisTarget>> = {
  "redis://host": target(),
  "valkey://host": target(),
  "REDIS://host/": target(),
  "redis://host:7000/3": target({
    addresses: [{ host: "host", port: 7000 }],
    database: 3,
  }),
  "redis://[::1]:7000": target({ addresses: [{ host: "::1", port: 7000 }] }),
  "rediss://me:p%40ss%2Fw:rd@host": target({
    tls: true,
    credentials: { user: "me", password: "p@ss/w:rd" },
  }),
  "redis://:secret@host": target({
    credentials: { user: "default", password: "secret" },
  }),
  "redis://me:a@b@host": target({
    credentials: { user: "me", password: "a@b" },
  }),
  "unix:///run/redis/redis.sock?db=2": target({
    addresses: [{ path: "/run/redis/redis.sock" }],
    database: 2,
  }),
  "redis-sentinel://:pw@a,b:26380/1#mymaster": target({
    kind: "sentinel",
    addresses: [{ host: "a", port: 26379 }, { host: "b", port: 26380 }],
    credentials: { user: "default", password: "pw" },
    database: 1,
    master: "mymaster",
  }),
  "rediss-sentinel://a?sentinelPassword=x%26y#m": target({
    kind: "sentinel",
    tls: true,
    addresses: [{ host: "a", port: 26379 }],
    master: "m",
    sentinelCredentials: { user: "default", password: "x&y" },
  }),
  "redis-cluster://a:7001,b": target({
    kind: "cluster",
    addresses: [{ host: "a", port: 7001 }, { host: "b", port: 6379 }],
  }),
};

for (const [url, expected] of Object.entries(READ)) {
  Deno.test(`parseRedisUrl() reads ${url}`, () => {
    assertEquals(parseRedisUrl(url), expected);
  });
}

const REFUSED: Readonly<Record<string, string>> = {
  "": "must begin with redis://",
  "localhost:6379": "must begin with redis://",
  "http://host": "must begin with redis://",
  "redis:/host": "must begin with redis://",
  "redis://": "a host must be written",
  "redis://host:port": "a host must be written",
  "redis://host:0": "a port is 1 to 65535",
  "redis://host:65536": "a port is 1 to 65535",
  "redis://a,b": "several hosts are of sentinels",
  "redis://user@host": "a user without a password",
  "redis://user:@host": "a user without a password",
  "redis://me:secret/more@host": "percent-encoded",
  "redis://me:50%secret@host": 'the password is not percent-encoded well: "%"',
  "redis://host/name": "the number of a database",
  "redis://host/1/2": "the number of a database",
  "redis://host#mymaster": "only sentinels take a name",
  "redis://host?db=1": 'the parameter "db" is not known',
  "redis-sentinel://a,b": "the name of the master is missing",
  "redis-sentinel://a#": "the name of the master is missing",
  "redis-sentinel://a?sentinelUser=x#m": "sentinelPassword is missing",
  "redis-sentinel://a?sentinelPasword=x#m": '"sentinelPasword" is not known',
  "redis-cluster://a,b/1": "a Redis Cluster has only database 0",
  "redis-cluster://a,,b": "a host must be written",
  "unix://run/redis.sock": "a socket has an absolute path",
  "unix:///": "a socket has an absolute path",
};

for (const [url, reason] of Object.entries(REFUSED)) {
  Deno.test(`parseRedisUrl() refuses ${JSON.stringify(url)}, and says why`, () => {
    const { message } = assertThrows(
      () => parseRedisUrl(url),
      TypeError,
      reason,
    );
    assertFalse(message.includes("secret"), message);
  });
}

const plain = parseRedisUrl("redis://host");
const secure = parseRedisUrl("rediss://host");
const authority = await newAuthority("ca");
const client = await newCertificate("client", authority);
const other = await newCertificate("other", authority);

Deno.test("toTlsOptions() keeps certificates, and takes a URL without TLS as it is", () => {
  assertEquals(toTlsOptions(plain, {}), undefined);
  assertEquals(toTlsOptions(secure, {}), {});
  const all = { ca: authority.cert, ...client };
  assertEquals(toTlsOptions(secure, all), all);
});

const REFUSED_TLS: Readonly<Record<string, readonly [RedisTls, string]>> = {
  "a CA that is no PEM": [{ ca: "no" }, "the CA is not valid PEM"],
  "a certificate without its key": [
    { cert: client.cert },
    "a certificate and its key come together",
  ],
  "the key of another certificate": [
    { cert: client.cert, key: other.key },
    "the key is not the certificate's",
  ],
};

for (const [what, [files, reason]] of Object.entries(REFUSED_TLS)) {
  Deno.test(`toTlsOptions() refuses ${what}`, () => {
    assertThrows(() => toTlsOptions(secure, files), TypeError, reason);
  });
}

Deno.test("toTlsOptions() refuses certificates where the URL is without TLS", () => {
  assertThrows(
    () => toTlsOptions(plain, { ca: authority.cert }),
    TypeError,
    "certificates need a URL with TLS",
  );
});

Deno.test("loadLibrary() takes the version that this package is tested with", async () => {
  assertEquals(typeof (await loadLibrary()).createClient, "function");
});

// What tells them apart, of redis@4.7.1, redis@5 and a later one.
const OTHERS = [
  { createClient: () => {}, ClientOfflineError: Error },
  { createClient: () => {}, RESP_TYPES: {} },
  { createClient: () => {}, DEFAULT_RESP: 4 },
];

for (const [index, library] of OTHERS.entries()) {
  Deno.test(`requireVersion6() refuses another version, and says what to install (${index})`, () => {
    assertThrows(
      () => requireVersion6(library, "join a cluster"),
      Error,
      "Cannot join a cluster: the package redis is not of version 6; install it: npm install redis@6",
    );
  });
}

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

// What CLUSTER KEYSLOT of a Redis 7 answers.
const SLOTS: Readonly<Record<string, number>> = {
  "": 0,
  "a": 15495,
  "smcp1:{0123456789abcdef}": 10405,
  "{smcp1}:rev": 16144,
  "{}x": 10595,
  "a{b}c{d}": 3300,
  "a{b": 13340,
  "é{ü}": 9552,
  "{smcp1}:o:a2c/1.0:büro": 16144,
};

for (const [key, slot] of Object.entries(SLOTS)) {
  Deno.test(`slotOf() agrees with Redis about ${JSON.stringify(key)}`, () => {
    assertEquals(slotOf(key), slot);
  });
}
