import { assertEquals, assertFalse, assertThrows } from "@std/assert";
import {
  parseRedisUrl,
  type RedisTarget,
} from "../../../../../server/cluster/redis/url.ts";

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
