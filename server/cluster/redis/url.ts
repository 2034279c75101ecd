/**
 * The URL of Redis and its certificates: from text to addresses, credentials and options of TLS, with
 * errors that never contain a password.
 *
 * @module
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import type { NamesOf } from "../../../shared/checks.ts";

/** Where a server of Redis listens. */
export type Address =
  | { readonly host: string; readonly port: number }
  | { readonly path: string };

/** A name and a password. */
export interface Credentials {
  /** The user of the access list. */
  readonly username: string;
  readonly password: string;
}

/** The parts of a URL. */
export interface RedisTarget {
  /** `addresses` are the server, the sentinels, or some nodes of a Redis Cluster. */
  readonly kind: "single" | "sentinel" | "cluster";
  readonly addresses: readonly [Address, ...Address[]];
  readonly tls: boolean;
  readonly credentials: Credentials | undefined;
  readonly database: number;
  /** The name of the master, for sentinels. */
  readonly master: string | undefined;
  /** The credentials for sentinels, if they need any. */
  readonly sentinelCredentials: Credentials | undefined;
}

const SCHEMES: Readonly<
  Record<string, Pick<RedisTarget, "kind" | "tls"> & { port: number }>
> = {
  "redis": { kind: "single", tls: false, port: 6379 },
  "rediss": { kind: "single", tls: true, port: 6379 },
  "redis-sentinel": { kind: "sentinel", tls: false, port: 26379 },
  "rediss-sentinel": { kind: "sentinel", tls: true, port: 26379 },
  "redis-cluster": { kind: "cluster", tls: false, port: 6379 },
  "rediss-cluster": { kind: "cluster", tls: true, port: 6379 },
  /** A path in place of a host and a port. */
  "unix": { kind: "single", tls: false, port: 0 },
};

/** The name of a user with only a password. */
const DEFAULT_USER = "default";

/**
 * Reads a URL of Redis or Valkey.
 *
 * | URL | what it is |
 * |---|---|
 * | `redis://user:password@host:6379/0` | one server; `rediss://` with TLS |
 * | `unix:///run/redis/redis.sock?db=0` | one server on this machine |
 * | `redis-sentinel://user:password@h1,h2:26379/0#mymaster` | the master that sentinels name; with `?sentinelUser=…&sentinelPassword=…` where these need a password too; `rediss-sentinel://` with TLS to all of them |
 * | `redis-cluster://user:password@h1:6379,h2` | a Redis Cluster, of which some nodes are named; `rediss-cluster://` with TLS |
 *
 * User, password and database may be left out, as may ports; a password alone is `:password@`. What is
 * special in a URL is percent-encoded in a password. `valkey` may stand for `redis`.
 *
 * @throws {TypeError} naming the part that is wrong, without the password
 */
export function parseRedisUrl(url: string): RedisTarget {
  const [, scheme = "", rest = ""] = /^([a-z][a-z+-]*):\/\/(.*)$/is.exec(url) ??
    [];
  const [, authority = "", path = "", query = "", fragment] =
    /^([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?(?:#(.*))?$/s.exec(rest) ?? [];
  const at = authority.lastIndexOf("@");
  const credentials = at < 0
    ? undefined
    : toCredentials(authority.slice(0, at));
  const hosts = authority.slice(at + 1);
  const params = new URLSearchParams(query);
  const name = scheme.toLowerCase().replace(/^valkey/, "redis");
  const known = SCHEMES[name];
  if (known === undefined || !Object.hasOwn(SCHEMES, name)) {
    const schemes = Object.keys(SCHEMES).map((each) => `${each}://`);
    const last = schemes.pop();
    throw wrong(`it must begin with ${schemes.join(", ")} or ${last}`);
  }
  const { kind, tls, port } = known;
  const isSocket = port === 0;
  const [first = "", ...others] = isSocket ? [hosts] : hosts.split(",");
  const addressOf = (host: string) =>
    isSocket ? toPath(host, path) : toAddress(host, port);
  const addresses = [addressOf(first), ...others.map(addressOf)] as const;
  if (kind === "single" && others.length > 0) {
    throw wrong(
      "several hosts are of sentinels (redis-sentinel://h1,h2#mymaster) or of a Redis Cluster (redis-cluster://h1,h2)",
    );
  }
  const database = toDatabase(
    isSocket ? params.get("db") ?? "" : path.slice(1),
  );
  if (isSocket) params.delete("db");
  if (kind === "cluster" && database !== 0) {
    throw wrong("a Redis Cluster has only database 0");
  }
  const isSentinel = kind === "sentinel";
  const sentinelCredentials = isSentinel ? takeSentinels(params) : undefined;
  const [other] = params.keys(); // it is not read, and may be a typo
  if (other !== undefined) {
    throw wrong(`the parameter ${JSON.stringify(other)} is not known`);
  }
  const master = isSocket ? undefined : toMaster(kind, fragment);
  return {
    kind,
    tls,
    addresses,
    credentials,
    database,
    master,
    sentinelCredentials,
  };
}

/** Writes an address for people. */
export const written = (address: Address): string => {
  if ("path" in address) return address.path;
  const { host, port } = address;
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
};

function toPath(hosts: string, path: string): Address {
  if (hosts === "" && path.length > 1) return { path: decoded(path, "path") };
  throw wrong("a socket has an absolute path: unix:///run/redis/redis.sock");
}

function toCredentials(text: string): Credentials {
  const colon = text.indexOf(":");
  if (colon < 0 || colon === text.length - 1) {
    throw wrong(
      "it has a user without a password: write user:password@, or :password@",
    );
  }
  const username = decoded(text.slice(0, colon), "user") || DEFAULT_USER;
  const password = decoded(text.slice(colon + 1), "password");
  return { username, password };
}

function toAddress(text: string, defaultPort: number): Address {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]@%]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) {
    throw wrong(
      'a host must be written as name or name:port, hosts separated by ","; in a password "/", "?", "#", "@" and "%" are percent-encoded',
    );
  }
  const port = digits === undefined ? defaultPort : Number(digits);
  if (port < 1 || port > 65_535) throw wrong("a port is 1 to 65535");
  return { host, port };
}

function toDatabase(text: string): number {
  if (/^\d{0,5}$/.test(text)) return Number(text);
  throw wrong(
    "the part after the host is the number of a database, such as /0",
  );
}

function toMaster(
  kind: RedisTarget["kind"],
  fragment: string | undefined,
): string | undefined {
  if (kind !== "sentinel") {
    if (fragment === undefined) return undefined;
    throw wrong(
      'only sentinels take a name after "#"; in a password "#" is %23',
    );
  }
  if (fragment) return decoded(fragment, "name of the master");
  throw wrong('the name of the master is missing after the hosts: "#mymaster"');
}

function takeSentinels(params: URLSearchParams): Credentials | undefined {
  const user = params.get("sentinelUser");
  const password = params.get("sentinelPassword");
  params.delete("sentinelUser");
  params.delete("sentinelPassword");
  if (password) return { username: user || DEFAULT_USER, password };
  if (user === null && password === null) return undefined;
  throw wrong("sentinelPassword is missing");
}

function decoded(text: string, what: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong(`the ${what} is not percent-encoded well: "%" is %25`);
  }
}

const wrong = (reason: string): TypeError =>
  new TypeError(`Cannot use the URL of Redis: ${reason}`);

/** Certificates for connections to Redis; all as PEM. */
export interface RedisTls {
  /** The authorities of the servers, instead of those that the system trusts. */
  readonly ca?: string | undefined;
  /** The certificate of this client, where Redis requires one. */
  readonly cert?: string | undefined;
  /** The private key of `cert`. */
  readonly key?: string | undefined;
}

/** The names of {@linkcode RedisTls}. */
export const REDIS_TLS_NAMES = {
  ca: true,
  cert: true,
  key: true,
} satisfies NamesOf<RedisTls>;

/**
 * Checks the certificates for a target.
 *
 * @returns `undefined` when the target is reached without TLS
 * @throws {TypeError} naming what is wrong, without its content
 */
export function toTlsOptions(
  target: RedisTarget,
  { ca, cert, key }: RedisTls,
): RedisTls | undefined {
  const isGiven = [ca, cert, key].some((part) => part !== undefined);
  if (!target.tls) {
    if (!isGiven) return undefined;
    throw wrongTls("certificates need a URL with TLS, such as rediss://");
  }
  if ((cert === undefined) !== (key === undefined)) {
    throw wrongTls("a certificate and its key come together");
  }
  if (ca !== undefined) readPem("CA", () => new X509Certificate(ca));
  if (cert !== undefined && key !== undefined) {
    const certificate = readPem("certificate", () => new X509Certificate(cert));
    const privateKey = readPem("key", () => createPrivateKey(key));
    if (!certificate.checkPrivateKey(privateKey)) {
      throw wrongTls("the key is not the certificate's");
    }
  }
  return { ...(ca && { ca }), ...(cert && { cert, key }) };
}

function readPem<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch {
    throw wrongTls(`the ${what} is not valid PEM`);
  }
}

const wrongTls = (reason: string): TypeError =>
  new TypeError(`Cannot use TLS with Redis: ${reason}`);
