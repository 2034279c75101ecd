import type { Buffer } from "node:buffer";
import { checkServer } from "./check_server.ts";
import { Connections } from "./connections.ts";
import { dial, type DialSettings } from "./dial.ts";
import { ANSWER_TIMEOUT_MS, noAnswer } from "./held.ts";
import { type Client, loadLibrary } from "./library.ts";
import { withTimeout } from "../../../shared/async.ts";
import { Deadlines } from "../../shared/pending.ts";
import type { Redis, Reply, Script } from "./redis.ts";
import { type RedisTls, toTlsOptions } from "./tls.ts";
import { newTopology } from "./topology.ts";
import {
  type Address,
  parseRedisUrl,
  type RedisTarget,
  written,
} from "./url.ts";

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
  const settings: DialSettings = {
    library: await loadLibrary(),
    tls: toTlsOptions(target, tls),
    credentials: target.credentials,
    database: target.database,
  };
  const redis = new Connected(target, settings);
  try {
    await redis.start();
  } catch (error) {
    await redis.close();
    throw error;
  }
  return redis;
}

class Connected implements Redis {
  readonly place: string;
  readonly #target: RedisTarget;
  readonly #sharded: boolean;
  readonly #connections: Connections;
  readonly #listeners = new Set<(isConnected: boolean) => void>();
  readonly #deadlines = new Deadlines<Waiting>();

  constructor(target: RedisTarget, settings: DialSettings) {
    this.place = target.addresses.map(written).join(",");
    this.#target = target;
    this.#sharded = target.kind === "cluster";
    this.#connections = new Connections(
      newTopology(target),
      {
        server: (address, onLost) => dial(settings, address, onLost),
        sentinel: (address, command) =>
          askSentinel(settings, target, address, command),
      },
      this.#sharded,
      () => this.#tell(),
    );
  }

  async start(): Promise<void> {
    await this.#connections.start();
    for (const server of this.#connections.servers()) {
      const ask = (command: readonly string[]) => server.ask(command);
      await checkServer(server.place, this.#target, ask);
    }
  }

  get connected(): boolean {
    return this.#connections.since !== undefined;
  }

  get since(): number | undefined {
    return this.#connections.since;
  }

  async run(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<Reply> {
    const [key = ""] = keys;
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.#send(key, ["EVALSHA", script.sha, ...rest]);
    } catch (error) {
      if (!isReply(error, "NOSCRIPT")) throw this.#judged(error);
    }
    try {
      return await this.#send(key, ["EVAL", script.source, ...rest]);
    } catch (error) {
      throw this.#judged(error);
    }
  }

  async publish(channel: string, message: Buffer): Promise<number> {
    const command = this.#sharded ? "SPUBLISH" : "PUBLISH";
    try {
      return await this.#connections.client(channel)
        .sendCommand<number>([command, channel, message]);
    } catch (error) {
      throw this.#judged(error);
    }
  }

  subscribe(
    channel: string,
    receive: (message: Buffer) => void,
  ): Promise<void> {
    return this.#connections.subscribe({ channel, receive });
  }

  async numsub(channels: readonly string[]): Promise<readonly number[]> {
    const [first] = channels;
    if (first === undefined) return [];
    try {
      if (this.#sharded) return await this.#numsubSharded(channels);
      return toCounts(
        await this.#send(first, ["PUBSUB", "NUMSUB", ...channels]),
      );
    } catch (error) {
      throw this.#judged(error);
    }
  }

  /** Each server knows only its own channels. */
  async #numsubSharded(channels: readonly string[]): Promise<number[]> {
    const groups = Map.groupBy(
      channels,
      (channel) => this.#connections.client(channel),
    );
    const counts = new Map<string, number>();
    await Promise.all(
      groups.values().map(async (group) => {
        const [first = ""] = group;
        const reply = await this.#send(
          first,
          ["PUBSUB", "SHARDNUMSUB", ...group],
        );
        const found = toCounts(reply);
        group.forEach((channel, index) =>
          counts.set(channel, found[index] ?? 0)
        );
      }),
    );
    return channels.map((channel) => counts.get(channel) ?? 0);
  }

  onState(listener: (isConnected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await this.#connections.close();
    this.#deadlines.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** One timer watches all commands. */
  #send(key: string, command: readonly string[]): Promise<Reply> {
    const client: Client = this.#connections.client(key);
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const now = performance.now();
    const waiting: Waiting = {
      due: now + ANSWER_TIMEOUT_MS,
      expire: () => reject(noAnswer(this.place)),
    };
    this.#deadlines.add(waiting, now);
    client.sendCommand<Reply>(command)
      .finally(() => this.#deadlines.remove(waiting))
      .then(resolve, reject);
    return promise;
  }

  /** Looks for the servers anew after an answer that says that this one has not what it had. */
  #judged(error: unknown): unknown {
    if (MOVED.some((code) => isReply(error, code))) this.#connections.repair();
    return error;
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener(this.connected);
  }
}

interface Waiting {
  readonly due: number;
  place?: number;
  readonly expire: () => void;
}

/** Answers of a server that does not take this write, or not any more. */
const MOVED = ["MOVED", "ASK", "CLUSTERDOWN", "READONLY", "MASTERDOWN"];

const isReply = (error: unknown, code: string): boolean =>
  error instanceof Error && error.message.startsWith(code);

/** Channels and counts take turns in the answer. */
const toCounts = (reply: Reply): number[] =>
  Array.isArray(reply)
    ? reply.filter((_, index) => index % 2 === 1).map(Number)
    : [];

/** Sentinels have passwords of their own, and no databases. */
async function askSentinel(
  settings: DialSettings,
  { sentinelCredentials }: RedisTarget,
  address: Address,
  command: readonly string[],
): Promise<Reply> {
  const client = await dial(
    { ...settings, credentials: sentinelCredentials, database: 0 },
    address,
    () => {},
  );
  try {
    return await withTimeout(
      ANSWER_TIMEOUT_MS,
      () => client.sendCommand<Reply>(command),
      { error: () => noAnswer(written(address)) },
    );
  } finally {
    client.destroy();
  }
}
