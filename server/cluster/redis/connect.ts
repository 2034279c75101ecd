/**
 * Redis as the nodes of a cluster use it: scripts, and one channel for each process. One loop makes all
 * connections, to one server, to what sentinels name, or to a Redis Cluster, and makes them again after
 * each loss.
 *
 * @module
 */
import type { Buffer } from "node:buffer";
import { sleep } from "../../../shared/async.ts";
import {
  type DialSettings,
  loadLibrary,
  NotConnectedError,
  RedisConnection,
  type Reply,
  type Script,
} from "./redis_connection.ts";
import { type Ask, checkServer, findServers, type Servers } from "./servers.ts";
import {
  type Address,
  parseRedisUrl,
  type RedisTls,
  toTlsOptions,
  written,
} from "./url.ts";

const CHECK_INTERVAL_MS = 1000;

/** After how many checks it is asked whether another server takes the writes now. */
const CHECKS_PER_REFRESH = 5;

const FIRST_DELAY_MS = 50;
/** A fail-over, and this after it, must leave some of a lease. */
const MAX_DELAY_MS = 500;

/**
 * Connects to Redis or Valkey.
 *
 * A user of the access list needs no more than this; tests/cluster/redis/acl_test.ts shows that none of
 * it can be left out:
 *
 * | where | `ACL SETUSER node on >PASSWORD ~{smcp2}:* &smcp1:* …` |
 * |---|---|
 * | everywhere | `+evalsha +eval +info +time +get +set +unlink +hget +hset +hdel +hexists +hlen +zadd +zrem +zscore +zrangebyscore` |
 * | one server | `+ping +publish +subscribe +pubsub\|numsub` |
 * | sentinels | `+role +publish +subscribe +pubsub\|numsub`; on the sentinels themselves, where they have a password: `+sentinel\|get-master-addr-by-name` |
 * | Redis Cluster | `+role +spublish +ssubscribe +pubsub\|shardnumsub +cluster\|slots` |
 * | a database other than 0 | `+select` |
 *
 * @param url see {@linkcode parseRedisUrl}
 * @throws {TypeError} when the URL or a certificate is wrong
 * @throws {Error} when Redis cannot be reached, refuses, or does not fit
 */
export async function connectRedis(
  url: string,
  tls: RedisTls = {},
): Promise<Redis> {
  const target = parseRedisUrl(url);
  const library = await loadLibrary();
  const certificates = toTlsOptions(target, tls);
  const redis = new Redis({ ...target, library, certificates });
  try {
    await redis.start();
  } catch (error) {
    await redis.close();
    throw error;
  }
  return redis;
}

/**
 * Redis, as the nodes of a cluster use it; commands wait for no connection, they fail.
 *
 * A connection for commands to each server that takes writes, and one for the subscription, which may get
 * more than the answers can wait for.
 *
 * All of them are made by one loop, which looks the servers up again after each loss: with
 * sentinels or a Redis Cluster what was lost is likely somewhere else by then.
 */
export class Redis implements AsyncDisposable {
  /** What this is, for people, without a password. */
  readonly place: string;
  /**
   * When the youngest of the connections was made, in milliseconds of `performance.now()`; `undefined` while
   * one of them is missing. Just after a new one others may not have subscribed again yet.
   */
  since: number | undefined;
  readonly #target: DialSettings;
  readonly #isSharded: boolean;
  readonly #connections = new Map<string, RedisConnection>();
  readonly #listeners = new Set<(isConnected: boolean) => void>();
  readonly #closing = new AbortController();
  #servers: Servers | undefined;
  /** The channel of this process, and what takes its messages. */
  #subscription: Parameters<Redis["subscribe"]> | undefined;
  #subscriber: RedisConnection | undefined;
  /**
   * Subscriptions that were silent, until there is another. The end of one shows the others that this
   * process has ended, if only the answers of Redis are lost.
   */
  readonly #parked = new Set<RedisConnection>();
  #repairing: Promise<void> | undefined;
  #isStale = false;
  #failure = "not connected";
  #timer: ReturnType<typeof setInterval> | undefined;
  #checks = 0;

  constructor(target: DialSettings) {
    this.place = target.addresses.map(written).join(",");
    this.#target = target;
    this.#isSharded = target.kind === "cluster";
  }

  /** Makes the connections; fails when one cannot be made. */
  async start(): Promise<void> {
    await this.#makeAll();
    for (const connection of this.#connections.values()) {
      const ask = (command: readonly string[]) => connection.ask(command);
      await checkServer(connection.place, this.#target, ask);
    }
    this.#timer = setInterval(() => this.#check(), CHECK_INTERVAL_MS);
  }

  /** Whether commands, and messages to the subscription, pass now. */
  get connected(): boolean {
    return this.since !== undefined;
  }

  /**
   * Runs a script, atomically; all keys have one hash tag.
   *
   * @throws {NotConnectedError} when it was not sent
   * @throws {Error} when it failed, or was not answered within a second: then it may have run
   */
  run(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<Reply> {
    const [key = ""] = keys;
    const rest = [String(keys.length), ...keys, ...args];
    return this.#use(key, async (connection) => {
      try {
        return await connection.ask(["EVALSHA", script.sha, ...rest]);
      } catch (error) {
        if (!isReply(error, "NOSCRIPT")) throw error;
        return await connection.ask(["EVAL", script.source, ...rest]);
      }
    });
  }

  /**
   * Sends a message to all who subscribe to a channel, in order of the calls. It has no deadline of its
   * own: a connection that does not answer for 5 seconds is given up.
   *
   * @returns how many have received it
   */
  publish(channel: string, message: Buffer): Promise<number> {
    const command = this.#isSharded ? "SPUBLISH" : "PUBLISH";
    const publish = (connection: RedisConnection) =>
      connection.publish(command, channel, message);
    return this.#use(channel, publish);
  }

  /**
   * Subscribes to the one channel of this process; after a lost connection again, by itself.
   *
   * @param receive takes the messages; a message is a part of a larger buffer. It must not throw
   */
  async subscribe(
    channel: string,
    receive: (message: Buffer) => void,
  ): Promise<void> {
    if (this.#subscription !== undefined) {
      throw new Error("A process has one channel, and has subscribed to it");
    }
    this.#subscription = [channel, receive];
    await this.#repairing;
    if (this.#subscriber === undefined) await this.#makeAll();
  }

  /** Returns how many subscribe to each of the channels. Each server of a Redis Cluster counts only its own. */
  async numsub(channels: readonly string[]): Promise<readonly number[]> {
    const groups = Map.groupBy(
      channels,
      (channel) => this.#isSharded ? this.#connectionOf(channel) : undefined,
    );
    const command = this.#isSharded ? "SHARDNUMSUB" : "NUMSUB";
    const counts = new Map<string, number>();
    await Promise.all(
      groups.values().map(async (group) => {
        const reply = await this.#use(
          group[0] ?? "",
          (connection) => connection.ask(["PUBSUB", command, ...group]),
        );
        const found = Array.isArray(reply) ? reply : []; // names and counts in turn
        for (const [i, channel] of group.entries()) {
          counts.set(channel, Number(found[2 * i + 1]));
        }
      }),
    );
    return channels.map((channel) => counts.get(channel) ?? 0);
  }

  /**
   * Calls back when `connected` or `since` changed: each new connection counts, since messages may be
   * missing.
   *
   * @returns a function that stops it
   */
  onState(listener: (isConnected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Closes the connections. */
  async close(): Promise<void> {
    this.#listeners.clear();
    this.#closing.abort();
    clearInterval(this.#timer);
    this.#dropAll();
    await this.#repairing;
    this.#dropAll(); // one may have been made meanwhile
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Looks for the servers again after an answer by which this one has lost its data. */
  async #use<T>(
    key: string,
    work: (connection: RedisConnection) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(this.#connectionOf(key));
    } catch (error) {
      if (MOVED.some((code) => isReply(error, code))) this.#repair();
      throw error;
    }
  }

  #connectionOf(key: string): RedisConnection {
    const address = this.#servers?.owner(key);
    const connection = address && this.#connections.get(written(address));
    if (connection !== undefined) return connection;
    throw new NotConnectedError(`Redis cannot be reached: ${this.#failure}`);
  }

  // ---------------------------------------------------------------- connections

  /** Looks where the servers are, and makes what is missing, as long as it takes. */
  #repair(): void {
    this.#isStale = true;
    if (this.#closing.signal.aborted) return;
    this.#repairing ??= this.#repairAll()
      .finally(() => this.#repairing = undefined);
  }

  async #repairAll(): Promise<void> {
    const { signal } = this.#closing;
    for (let delay = FIRST_DELAY_MS; this.#isStale && !signal.aborted;) {
      this.#isStale = false;
      try {
        await this.#makeAll();
      } catch (error) {
        this.#failure = error instanceof Error ? error.message : String(error);
        this.#isStale = true;
        delay = Math.min(2 * delay, MAX_DELAY_MS);
        // Not all nodes at the same time.
        const jittered = delay * (0.5 + Math.random() / 2);
        await sleep(jittered, signal).catch(() => {});
      }
    }
  }

  async #makeAll(): Promise<void> {
    this.#servers = await findServers(this.#target, this.#servers, this.#ask);
    const { masters } = this.#servers;
    const wanted = new Set(masters.map(written));
    for (const connection of this.#connections.values()) {
      if (!wanted.has(connection.place)) this.#drop(connection);
    }
    const made = await Promise.allSettled([
      ...masters.map(async (address) => {
        const place = written(address);
        if (this.#connections.has(place)) return;
        this.#connections.set(place, await this.#open(address));
      }),
      this.#subscribe(this.#servers),
    ]);
    this.#update();
    for (const outcome of made) {
      if (outcome.status === "rejected") throw outcome.reason;
    }
  }

  async #subscribe(servers: Servers): Promise<void> {
    if (this.#subscription === undefined) return;
    const [channel, receive] = this.#subscription;
    const address = servers.owner(channel);
    if (address === undefined) throw new Error(`No subscriber of ${channel}`);
    if (this.#subscriber?.place === written(address)) return;
    this.#drop(this.#subscriber);
    this.#subscriber = await this.#open(
      address,
      (connection) => {
        const take = (message: Buffer) => {
          if (!this.#parked.has(connection)) receive(message);
        };
        const moved = (reason: Error) => this.#lose(connection, reason);
        return connection.subscribe(channel, take, this.#isSharded, moved);
      },
    );
    this.#endParked();
  }

  /** @param prepare is done before the connection counts */
  async #open(
    address: Address,
    prepare?: (connection: RedisConnection) => Promise<void>,
  ): Promise<RedisConnection> {
    this.#closing.signal.throwIfAborted();
    const connection: RedisConnection = await RedisConnection.open(
      this.#target,
      address,
      (reason) => this.#lose(connection, reason),
    );
    try {
      if (this.#target.kind !== "single") await connection.requireMaster();
      await prepare?.(connection);
      this.#closing.signal.throwIfAborted();
      if (connection.isReady) return connection;
      throw new Error(`Redis at ${connection.place} has closed the connection`);
    } catch (error) {
      connection.end();
      throw error;
    }
  }

  #lose(connection: RedisConnection, reason: Error): void {
    if (!this.#all().includes(connection)) return;
    this.#failure = reason.message;
    this.#drop(connection);
    this.#repair();
  }

  #drop(connection: RedisConnection | undefined): void {
    if (connection === undefined) return;
    connection.end();
    if (this.#subscriber === connection) this.#subscriber = undefined;
    else if (this.#connections.get(connection.place) === connection) {
      this.#connections.delete(connection.place);
    }
    this.#update();
  }

  /** Drops a silent connection. */
  #leave(connection: RedisConnection, reason: Error): void {
    if (this.#subscriber !== connection) return this.#lose(connection, reason);
    this.#subscriber = undefined;
    this.#parked.add(connection);
    this.#failure = reason.message;
    this.#update();
    this.#repair();
  }

  #endParked(): void {
    for (const connection of this.#parked) connection.end();
    this.#parked.clear();
  }

  #dropAll(): void {
    this.#endParked();
    for (const connection of this.#all()) this.#drop(connection);
  }

  #all(): RedisConnection[] {
    return [...this.#connections.values(), this.#subscriber]
      .filter((connection) => connection !== undefined);
  }

  /** Reports what has changed, if anything: a loss, or that all connections are there. */
  #update(): void {
    const { masters = [] } = this.#servers ?? {};
    const all = this.#all();
    const needed = masters.length + (this.#subscription ? 1 : 0);
    const since = all.length > 0 && all.length === needed
      ? Math.max(...all.map(({ since }) => since))
      : undefined;
    if (since === this.since) return;
    this.since = since;
    for (const listener of [...this.#listeners]) listener(this.connected);
  }

  #check(): void {
    const isFixed = this.#target.kind === "single";
    for (const connection of this.#all()) {
      connection.check(isFixed, (reason) => this.#leave(connection, reason));
    }
    if (!isFixed && ++this.#checks % CHECKS_PER_REFRESH === 0) this.#repair();
  }

  /** Asks a server where the others are; sentinels have passwords of their own, and no databases. */
  readonly #ask: Ask = async (address, command) => {
    const known = this.#connections.get(written(address));
    if (known !== undefined) return await known.ask(command);
    const { kind, sentinelCredentials: credentials } = this.#target;
    const own = kind === "sentinel" && { credentials, database: 0 };
    const settings = { ...this.#target, ...own };
    const connection = await RedisConnection.open(settings, address, () => {});
    return await connection.ask(command).finally(() => connection.end());
  };
}

/** Answers of a server that does not take this write, or not any more. */
const MOVED = ["MOVED", "ASK", "CLUSTERDOWN", "READONLY", "MASTERDOWN"];

const isReply = (error: unknown, code: string): boolean =>
  error instanceof Error && error.message.startsWith(code);
