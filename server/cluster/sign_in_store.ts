/**
 * What sign-in keeps, in the Redis of a cluster: each change is one script, which runs atomically.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { PREFIX } from "./redis_directory.ts";
import type { Redis } from "./redis/connect.ts";
import {
  newScript,
  type Reply,
  type Script,
} from "./redis/redis_connection.ts";
import type {
  Grant,
  PendingCode,
  SignInStore,
  UsedGrant,
} from "../sign_in/grant.ts";
import {
  CODE_KEPT_MS,
  newSecret,
  readSecret,
  Touches,
} from "../sign_in/secret.ts";
import { ExplainedError, log, reasonOf } from "../shared/log.ts";

/** The channel of all nodes, by which they report ends. */
const CHANNEL = "smcp1:{sign-in}";

/** The key by which a Redis Cluster finds the server for all scripts. */
const ROUTING_KEY = `${PREFIX}sign-in:grants`;

/** What {@linkcode RedisSignInStore} needs of Redis. */
type StoreRedis = Pick<
  Redis,
  "run" | "publish" | "subscribe" | "onState" | "close"
>;

/**
 * Grants and codes in Redis, with the rights that a node has there anyway. It connects with the first call,
 * and again after a failure.
 */
export class RedisSignInStore implements SignInStore {
  readonly #connect: () => Promise<StoreRedis>;
  readonly #listeners: (() => void)[] = [];
  readonly #touches = new Touches();
  /** By this it knows its own messages. */
  readonly #node = crypto.randomUUID();
  #redis: Promise<StoreRedis> | undefined;
  /** Whether other nodes are to be notified of an end. */
  #isUntold = false;
  #isClosed = false;

  /** @param connect makes a connection of its own, which the store closes */
  constructor(connect: () => Promise<StoreRedis>) {
    this.#connect = connect;
  }

  async secret(): Promise<Uint8Array<ArrayBuffer>> {
    const kept = await this.#run(KEEP_SECRET, newSecret());
    return readSecret(String(kept), "Redis");
  }

  async putCode(hash: string, code: PendingCode): Promise<void> {
    await this.#run(PUT_CODE, hash, JSON.stringify(code), code.expiresAt);
  }

  async takeCode(hash: string): Promise<PendingCode | undefined> {
    return parsed(await this.#run(TAKE_CODE, hash));
  }

  async putGrant(grant: Grant, codeHash: string): Promise<void> {
    await this.#run(
      PUT_GRANT,
      grant.id,
      grant.number,
      JSON.stringify(grant),
      grant.expiresAt,
      codeHash,
      CODE_KEPT_MS,
    );
  }

  async grantOfCode(hash: string): Promise<string | undefined> {
    const id = await this.#run(GRANT_OF_CODE, hash);
    return id === null ? undefined : String(id);
  }

  async grant(id: string): Promise<Grant | undefined> {
    return parsed(await this.#run(GRANT, id));
  }

  async rotate(next: Grant, from: number): Promise<boolean> {
    const { id, number, expiresAt } = next;
    const json = JSON.stringify(next);
    return await this.#run(ROTATE, id, number, json, expiresAt, from) === 1;
  }

  async touch(id: string, at: number): Promise<void> {
    if (this.#touches.isDue(id, at)) await this.#run(TOUCH, id, at);
  }

  async endGrant(id: string): Promise<Grant | undefined> {
    const ended: Grant | undefined = parsed(await this.#run(END_GRANT, id));
    if (ended === undefined) return undefined;
    this.#isUntold = true;
    await this.#tell();
    return ended;
  }

  async grants(): Promise<readonly UsedGrant[]> {
    const reply = await this.#run(GRANTS);
    const texts = Array.isArray(reply) ? reply.map(String) : [];
    const all: UsedGrant[] = [];
    for (let at = 0; at < texts.length; at += 2) {
      const grant: Grant = JSON.parse(texts[at] ?? "");
      const usedAt = Number(texts[at + 1]) || grant.createdAt;
      all.push({ ...grant, usedAt });
    }
    return all;
  }

  onEnded(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const redis = await this.#redis?.catch(() => undefined);
    await redis?.close();
  }

  async #run(
    script: Script,
    ...args: readonly (string | number)[]
  ): Promise<Reply> {
    try {
      const redis = await this.#connected();
      return await redis.run(script, [ROUTING_KEY], args.map(String));
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error();
      throw new ExplainedError(
        `Redis, which keeps the sign-ins, fails: ${message}`,
        {
          cause: error,
        },
      );
    }
  }

  async #connected(): Promise<StoreRedis> {
    if (this.#isClosed) throw new Error("The store of sign-ins is closed");
    const opened = this.#redis ??= this.#open();
    try {
      return await opened;
    } catch (error) {
      if (this.#redis === opened) this.#redis = undefined;
      throw error;
    }
  }

  async #open(): Promise<StoreRedis> {
    const redis = await this.#connect();
    try {
      await redis.subscribe(CHANNEL, (message) => {
        if (message.toString() !== this.#node) this.#mayHaveEnded();
      });
    } catch (error) {
      await redis.close();
      throw error;
    }
    redis.onState((isConnected) => {
      if (!isConnected) return;
      // Messages of meanwhile are lost.
      this.#mayHaveEnded();
      void this.#tell();
    });
    return redis;
  }

  #mayHaveEnded(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Notifies the other nodes of ends; where that fails, again when Redis is back. */
  async #tell(): Promise<void> {
    if (!this.#isUntold) return;
    this.#isUntold = false;
    try {
      const redis = await this.#connected();
      await redis.publish(CHANNEL, Buffer.from(this.#node));
    } catch (error) {
      this.#isUntold = true;
      if (this.#isClosed) return;
      log.warn(
        "Other nodes do not know yet that a sign-in has ended: {reason}",
        reasonOf(error),
      );
    }
  }
}

const parsed = (reply: Reply) =>
  reply === null ? undefined : JSON.parse(String(reply));

/**
 * All scripts begin with it.
 *
 * | key, after `{smcp2}:sign-in:` | type | value |
 * |---|---|---|
 * | `secret` | string | the secret of all seals, in base64url |
 * | `code:HASH` | string | a code as JSON, until it ends |
 * | `redeemed:HASH` | string | the grant that a code has made, for ten minutes |
 * | `grant:ID` | string | the number of a grant, a space, and the grant as JSON, until it ends |
 * | `grants` | sorted set | the grants, by their end |
 * | `used` | sorted set | the grants, by their last use |
 *
 * Times are milliseconds since 1970, by the clock of the node that writes them; keys end by that of Redis.
 */
const PRELUDE = `
local P = '${PREFIX}sign-in:'
local call = redis.call
local function jsonOf(id)
  local kept = call('GET', P .. 'grant:' .. id)
  return kept and string.match(kept, '^%d+ (.*)$')
end
local function keep(id, number, json, ends)
  call('SET', P .. 'grant:' .. id, number .. ' ' .. json, 'PXAT', ends)
  call('ZADD', P .. 'grants', ends, id)
end
local function forget(id)
  call('UNLINK', P .. 'grant:' .. id)
  call('ZREM', P .. 'grants', id)
  call('ZREM', P .. 'used', id)
end
`;

const script = (source: string): Script => newScript(PRELUDE + source);

/** Keeps a secret unless there is one; returns the one that is kept. */
export const KEEP_SECRET: Script = script(`
local known = call('GET', P .. 'secret')
if known then return known end
call('SET', P .. 'secret', ARGV[1])
return ARGV[1]
`);

/** Arguments: the hash, the code, and when it ends. */
export const PUT_CODE: Script = script(`
call('SET', P .. 'code:' .. ARGV[1], ARGV[2], 'PXAT', ARGV[3])
`);

/** Returns a code, and deletes it. Argument: the hash. */
export const TAKE_CODE: Script = script(`
local code = call('GET', P .. 'code:' .. ARGV[1])
call('UNLINK', P .. 'code:' .. ARGV[1])
return code
`);

/**
 * Forgets grants that have ended by themselves, too. Arguments: the id, the number, the grant, when it
 * ends, the hash of its code, and for how many ms that is kept.
 */
export const PUT_GRANT: Script = script(`
local time = call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'grants', '-inf', string.format('%.0f', now))) do forget(id) end
keep(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
call('SET', P .. 'redeemed:' .. ARGV[5], ARGV[1], 'PX', ARGV[6])
`);

/** Argument: the hash. */
export const GRANT_OF_CODE: Script = script(`
return call('GET', P .. 'redeemed:' .. ARGV[1])
`);

/** Argument: the id. */
export const GRANT: Script = script(`return jsonOf(ARGV[1])`);

/**
 * Replaces a grant that has a number. Arguments: the id, the new number, the grant, when it ends, and the
 * former number.
 */
export const ROTATE: Script = script(`
local kept = call('GET', P .. 'grant:' .. ARGV[1])
if not kept or string.match(kept, '^%d+') ~= ARGV[5] then return 0 end
keep(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
return 1
`);

/** Notes a use, unless a later one is noted. Arguments: the id, and the time. */
export const TOUCH: Script = script(`
local last = tonumber(call('ZSCORE', P .. 'used', ARGV[1]) or 0)
if last >= tonumber(ARGV[2]) or not jsonOf(ARGV[1]) then return 0 end
return call('ZADD', P .. 'used', ARGV[2], ARGV[1])
`);

/** Returns a grant, and deletes it. Argument: the id. */
export const END_GRANT: Script = script(`
local json = jsonOf(ARGV[1])
forget(ARGV[1])
return json
`);

/** Returns each grant, and the time of its last use, in turn. */
export const GRANTS: Script = script(`
local all = {}
for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'grants', '-inf', '+inf')) do
  local json = jsonOf(id)
  if json then
    all[#all + 1] = json
    all[#all + 1] = call('ZSCORE', P .. 'used', id) or ''
  end
end
return all
`);
