import {
  assertEquals,
  assertFalse,
  assertRejects,
  assertThrows,
} from "@std/assert";
import {
  loadLibrary,
  requireVersion6,
} from "../../../../server/cluster/redis/redis_connection.ts";
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
    credentials: { username: "me", password: "p@ss/w:rd" },
  }),
  "redis://:secret@host": target({
    credentials: { username: "default", password: "secret" },
  }),
  "redis://me:a@b@host": target({
    credentials: { username: "me", password: "a@b" },
  }),
  "unix:///run/redis/redis.sock?db=2": target({
    addresses: [{ path: "/run/redis/redis.sock" }],
    database: 2,
  }),
  "redis-sentinel://:pw@a,b:26380/1#mymaster": target({
    kind: "sentinel",
    addresses: [{ host: "a", port: 26379 }, { host: "b", port: 26380 }],
    credentials: { username: "default", password: "pw" },
    database: 1,
    master: "mymaster",
  }),
  "rediss-sentinel://a?sentinelPassword=x%26y#m": target({
    kind: "sentinel",
    tls: true,
    addresses: [{ host: "a", port: 26379 }],
    master: "m",
    sentinelCredentials: { username: "default", password: "x&y" },
  }),
  "redis-cluster://a:7001,b": target({
    kind: "cluster",
    addresses: [{ host: "a", port: 7001 }, { host: "b", port: 6379 }],
  }),
};

Deno.test("parseRedisUrl() reads each kind of URL", () => {
  for (const [url, expected] of Object.entries(READ)) {
    assertEquals(parseRedisUrl(url), expected, url);
  }
});

const REFUSED: Readonly<Record<string, string>> = {
  "": "must begin with redis://",
  "localhost:6379": "must begin with redis://",
  "http://host": "must begin with redis://",
  "redis:/host": "must begin with redis://",
  "constructor://host": "must begin with redis://",
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
  "unix://,/run/redis.sock": "a socket has an absolute path",
  "unix:///": "a socket has an absolute path",
};

Deno.test("parseRedisUrl() refuses what is no URL of Redis, and says why without a password", () => {
  for (const [url, reason] of Object.entries(REFUSED)) {
    const parse = () => parseRedisUrl(url);
    const { message } = assertThrows(parse, TypeError, reason, url);
    assertFalse(message.includes("secret"), message);
  }
});

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

Deno.test("toTlsOptions() refuses certificates that cannot be used", () => {
  const rows: readonly (readonly [RedisTarget, RedisTls, string])[] = [
    [secure, { ca: "no" }, "the CA is not valid PEM"],
    [secure, { cert: client.cert }, "a certificate and its key come together"],
    [
      secure,
      { cert: client.cert, key: other.key },
      "the key is not the certificate's",
    ],
    [plain, { ca: authority.cert }, "certificates need a URL with TLS"],
  ];
  for (const [url, files, reason] of rows) {
    assertThrows(() => toTlsOptions(url, files), TypeError, reason);
  }
});

Deno.test("loadLibrary() takes the version that this package is tested with", async () => {
  assertEquals(typeof (await loadLibrary()).createClient, "function");
});

Deno.test("requireVersion6() refuses another version, and says what to install", () => {
  // What tells them apart, of redis@4.7.1, redis@5 and a later one.
  const others = [
    { createClient: () => {}, ClientOfflineError: Error },
    { createClient: () => {}, RESP_TYPES: {} },
    { createClient: () => {}, DEFAULT_RESP: 4 },
  ];
  for (const library of others) {
    assertThrows(
      () => requireVersion6(library, "join a cluster"),
      Error,
      "Cannot join a cluster: the package redis is not of version 6; install it: npm install redis@6",
    );
  }
});

/** Checks a server that answers INFO with these fields. */
const check = (url: string, fields: Readonly<Record<string, string>>) => {
  const lines = Object.entries(fields).map((field) => field.join(":"));
  const info = ["# Server", ...lines, ""].join("\r\n");
  return checkServer("h:1", parseRedisUrl(url), () => Promise.resolve(info));
};

const SINGLE = "redis://host";
const SENTINEL = "redis-sentinel://host#m";

Deno.test("checkServer() takes a server of a version that fits, and warns of a master of sentinels that may be one of two", async () => {
  const version = (redis_version: string) => ({ redis_version });
  const safe = { redis_mode: "standalone", maxmemory_policy: "noeviction" };
  const rows: readonly (readonly [string, Record<string, string>, number])[] = [
    ...["6.2.0", "6.10", "7.0.15", "8.2.1", "10.0"].map((number) =>
      [SINGLE, { ...version(number), ...safe }, 0] as const
    ),
    [SENTINEL, version("7.0.15"), 1],
    [SENTINEL, { ...version("7.0.15"), min_slaves_good_slaves: "1" }, 0],
  ];
  for (const [url, fields, warnings] of rows) {
    using log = captureLog();
    await check(url, fields);
    const told = log.records.filter(({ level }) => level !== "info");
    assertEquals(told.length, warnings, JSON.stringify(fields));
  }
});

Deno.test("checkServer() refuses a server that is too old, or of another kind, and says why", async () => {
  const rows: readonly (readonly [string, string, string, string?])[] = [
    ...["", "2.8", "5.0.14", "6.0.16"].map((version) =>
      [
        SINGLE,
        version,
        `Redis at h:1 is version ${version || "unknown"}: 6.2 or later`,
      ] as const
    ),
    [
      "redis-cluster://host",
      "6.2.7",
      "7.0 or later is needed for a Redis Cluster (sharded pub/sub)",
    ],
    [SINGLE, "7.0.15", "its URL begins with redis-sentinel://", "sentinel"],
  ];
  for (const [url, redis_version, reason, redis_mode] of rows) {
    const fields = { redis_version, ...(redis_mode && { redis_mode }) };
    await assertRejects(() => check(url, fields), Error, reason);
  }
});

Deno.test("slotOf() agrees with Redis", () => {
  // What CLUSTER KEYSLOT of a Redis 7 answers.
  const slots: Readonly<Record<string, number>> = {
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
  for (const [key, slot] of Object.entries(slots)) {
    assertEquals(slotOf(key), slot, key);
  }
});
