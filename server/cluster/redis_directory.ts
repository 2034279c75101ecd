/**
 * The directory in Redis: claims, releases and beats, each one script that runs atomically; the scripts
 * are at the end. Redis may lose its data: a new epoch begins then, in which each node registers its
 * homes again before new ones are assigned.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import {
  type Beat,
  type Clock,
  type Home,
  LEASE_MS,
  type LeasedDirectory,
  RegistryUnavailableError,
  systemClock,
} from "./directory.ts";
import type { Redis } from "./redis/connect.ts";
import {
  newScript,
  NotConnectedError,
  type Reply,
  type Script,
} from "./redis/redis_connection.ts";
import { log } from "../shared/log.ts";
import { onAbort } from "../../shared/async.ts";

/** When a claim asks again for a home that is not registered yet: at first soon, later less often. */
const FIRST_RETRY_MS = 20;
const MAX_RETRY_MS = 250;

/** How much longer than a lease a claim waits until homes are known. */
const CLAIM_MARGIN_MS = 1000;

/** How many homes one script takes again: more would hold Redis for too long. */
const RESTORE_STEP = 500;

/** What the directory needs of Redis. */
export type ScriptRedis = Pick<Redis, "place" | "run">;

/** A random id of a node, or of the data. */
const newId = (): string => randomBytes(12).toString("hex");

/**
 * The {@linkcode LeasedDirectory} in Redis. Its owner closes Redis.
 *
 * Claims are numbered, and each home in Redis has the number of its last claim: a release ends what was
 * claimed up to a number, so that one which arrives late, or is repeated, ends nothing that was claimed
 * since.
 */
export class RedisDirectory implements LeasedDirectory {
  readonly node: string = newId();
  /** The offices whose home is this node, with the numbers of their last claims. */
  readonly homes: Map<string, number> = new Map();
  readonly #redis: ScriptRedis;
  readonly #leaseMs: number;
  readonly #clock: Clock;
  /** Offices that are being claimed, each with the number of the last claim. */
  readonly #claiming = new Map<string, number>();
  /** Releases that have no answer, or are to be sent, by office, each with its highest number. */
  readonly #unreleased = new Map<string, number>();
  readonly #closing = new AbortController();
  #epoch = "";
  #claims = 0;
  #isRefused = false;

  /** @param leaseMs the same for all nodes of the cluster */
  constructor(
    redis: ScriptRedis,
    leaseMs: number = LEASE_MS,
    clock: Clock = systemClock,
  ) {
    this.#redis = redis;
    this.#leaseMs = leaseMs;
    this.#clock = clock;
  }

  /** Asks Redis, again while it does not have all homes. */
  async claim(office: string): Promise<Home> {
    const end = this.#now + this.#leaseMs + CLAIM_MARGIN_MS;
    let delay = FIRST_RETRY_MS;
    for (;;) {
      const home = await this.#claim(office);
      if (typeof home === "object") return home;
      if (home === "REAPED" || this.#now >= end) {
        throw new RegistryUnavailableError();
      }
      await this.#wait(delay);
      delay = Math.min(2 * delay, MAX_RETRY_MS);
    }
  }

  /**
   * Resolves also without an answer: then it is repeated with the next beats. It ends a home too that a
   * claim without an answer has got.
   */
  async release(office: string): Promise<void> {
    const number = this.homes.get(office);
    this.homes.delete(office);
    if (number === undefined && this.#claiming.has(office)) return;
    await this.#release(office, number ?? this.#claims);
  }

  /** Renews the lease; in a new epoch once all homes are taken again. */
  async beat(about: string): Promise<Beat> {
    const homes = this.homes.size;
    const [state, epoch, settleMs, others, known] = listOf(
      await this.#run(BEAT, newId(), String(this.#leaseMs), about),
    );
    if (state === "REAPED") return { state: "reaped" };
    const isNew = epoch !== this.#epoch;
    // It has dropped some, as where its memory is full.
    const isLacking = !isNew && Number(known) < homes;
    const lost = isNew || isLacking ? await this.#restore(String(epoch)) : [];
    for (const release of [...this.#unreleased]) void this.#release(...release);
    return {
      state: "ok",
      nodes: pairsOf(listOf(others)),
      isNew: isNew || isLacking,
      isEmpty: isLacking || this.#epoch.endsWith(":empty"),
      settleMs: Number(settleMs),
      lost,
    };
  }

  /** Ends the lease. */
  async leave(): Promise<void> {
    this.homes.clear();
    await this.#run(LEAVE);
  }

  /** Ends claims that wait. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    return Promise.resolve();
  }

  get #now(): number {
    return this.#clock.now().steady;
  }

  async #wait(milliseconds: number): Promise<void> {
    const { signal } = this.#closing;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#clock.after(milliseconds, resolve);
    const off = onAbort(signal, resolve);
    await promise;
    cancel();
    off();
    if (signal.aborted) throw new RegistryUnavailableError();
  }

  /** @returns why there is no answer yet, or never */
  async #claim(office: string): Promise<Home | string> {
    const number = ++this.#claims;
    const epoch = this.#epoch;
    this.#claiming.set(office, number);
    const isHere = () => {
      const last = this.homes.get(office) ?? number;
      this.homes.set(office, Math.max(number, last));
    };
    try {
      const [state, node, leaseLeftMs] = listOf(
        await this.#run(CLAIM, office, String(number)),
      );
      if (state !== "HOME") return String(state);
      // A new epoch has begun meanwhile, in which this claim was not made.
      if (epoch !== this.#epoch) return "STALE";
      if (node === this.node) {
        // A release that was begun meanwhile ends this claim: only a later one gets a home that stays.
        if (number <= (this.#unreleased.get(office) ?? 0)) return "RELEASED";
        isHere();
      }
      return { node: String(node), leaseLeftMs: Number(leaseLeftMs) };
    } catch (error) {
      // It may have been done.
      if (this.homes.has(office)) isHere();
      else if (wasSent(error)) this.#toRelease(office, number);
      throw error;
    } finally {
      if (this.#claiming.get(office) === number) this.#claiming.delete(office);
    }
  }

  async #release(office: string, number: number): Promise<void> {
    const last = this.#toRelease(office, number);
    try {
      await this.#run(RELEASE, office, String(last));
    } catch {
      return; // It is repeated with the next beat.
    }
    if (this.#unreleased.get(office) === last) this.#unreleased.delete(office);
  }

  /** @returns the number up to which claims of the office are to be released */
  #toRelease(office: string, number: number): number {
    const last = Math.max(number, this.#unreleased.get(office) ?? number);
    this.#unreleased.set(office, last);
    return last;
  }

  /**
   * Takes all homes again, which others cannot have got: in a new epoch none is assigned for a lease, and
   * by then this node serves no more unless this is done.
   *
   * @returns the offices whose home is elsewhere nevertheless: an other node has another lease
   */
  async #restore(epoch: string): Promise<readonly string[]> {
    const lost: string[] = [];
    const restored = new Set<string>();
    for (;;) {
      const offices = [...this.homes.keys()]
        .filter((office) => !restored.has(office)).slice(0, RESTORE_STEP);
      if (offices.length === 0) break;
      const number = this.#claims;
      const [state, ...taken] = listOf(
        await this.#runIn(epoch, RESTORE, String(number), ...offices),
      );
      if (state !== "OK") throw new RegistryUnavailableError();
      for (const office of offices) {
        restored.add(office);
        if (this.homes.has(office)) this.homes.set(office, number);
      }
      for (const office of taken.map(String)) {
        this.homes.delete(office);
        lost.push(office);
      }
    }
    this.#epoch = epoch;
    return lost;
  }

  #run(script: Script, ...args: readonly string[]): Promise<Reply> {
    return this.#runIn(this.#epoch, script, ...args);
  }

  async #runIn(
    epoch: string,
    script: Script,
    ...args: readonly string[]
  ): Promise<Reply> {
    const all = [this.node, epoch, ...args];
    const reply = await this.#redis.run(script, [ROUTING_KEY], all)
      .catch((error) => {
        this.#failed(error);
        throw new RegistryUnavailableError(error);
      });
    if (this.#isRefused) {
      this.#isRefused = false;
      log.info("Redis at {place} accepts commands again", {
        place: this.#redis.place,
      });
    }
    return reply;
  }

  /** A failure without an answer fails the heartbeats too, which the node logs. */
  #failed(error: unknown): void {
    const isRefusal = error instanceof Error &&
      /^[A-Z]{2,} /.test(error.message);
    if (!isRefusal || this.#isRefused || this.#closing.signal.aborted) return;
    this.#isRefused = true;
    log.warn(
      "Redis at {place} refuses commands, check its memory and its access list: {reason}",
      { place: this.#redis.place, reason: String(error) },
    );
  }
}

const wasSent = (error: unknown): boolean =>
  !(error instanceof Error && error.cause instanceof NotConnectedError);

function listOf(reply: Reply | undefined): readonly Reply[] {
  if (Array.isArray(reply)) return reply;
  throw new TypeError(`Redis answers ${typeof reply} instead of a list`);
}

/** Reads a list in which names and values take turns. */
function pairsOf(list: readonly Reply[]): ReadonlyMap<string, string> {
  const pairs = new Map<string, string>();
  for (let at = 0; at < list.length; at += 2) {
    pairs.set(String(list[at]), String(list[at + 1]));
  }
  return pairs;
}

/**
 * The begin of each name in Redis: the layout's version, as the hash tag that keeps all keys of a Redis
 * Cluster together, since a claim must see homes and leases in one step.
 *
 * | key | type | value |
 * |---|---|---|
 * | `{smcp2}:epoch` | string | the process of Redis, a random id, and `kept` or `empty`; see `epoch()` |
 * | `{smcp2}:settle` | string | until when an office without a home gets none, in ms of Redis' own clock |
 * | `{smcp2}:nodes` | sorted set | the end of each node's lease, in ms of Redis' own clock |
 * | `{smcp2}:about` | hash | what each node publishes about itself |
 * | `{smcp2}:h:NODE` | hash | the offices whose home is this node, with the numbers of their claims |
 *
 * Homes are kept by node: with the lease they end in one step, however many they are.
 */
export const PREFIX = "{smcp2}:";

/** The key by which a Redis Cluster finds the server for all scripts. */
export const ROUTING_KEY = `${PREFIX}nodes`;

/** All scripts begin with it; the first arguments are the node, and the epoch that it has seen. */
const PRELUDE = `
local P = '${PREFIX}'
local NODE, EPOCH = ARGV[1], ARGV[2]
local call = redis.call
local time = call('TIME')
local NOW = time[1] * 1000 + math.floor(time[2] / 1000)
local RUN = string.match(call('INFO', 'server'), 'run_id:(%x+)') or ''

local function text(number) return string.format('%.0f', number) end

-- The epoch of the data, nil where none is valid. A process of Redis that was started again, or took
-- over from another one, may lack writes that were answered: its data count for nothing.
local function epoch()
  local known = call('GET', P .. 'epoch')
  if known and string.sub(known, 1, #RUN + 1) == RUN .. ':' then return known end
end

-- Milliseconds until the lease of a node ends; not positive where it has ended.
local function leaseOf(node)
  return tonumber(call('ZSCORE', P .. 'nodes', node) or 0) - NOW
end

local living
local function homeOf(office)
  living = living or call('ZRANGEBYSCORE', P .. 'nodes', '(' .. text(NOW), '+inf')
  for _, node in ipairs(living) do
    if call('HEXISTS', P .. 'h:' .. node, office) == 1 then return node end
  end
end

-- Notes a home of this node. A claim that arrives late does not lower the number of a later one: a release
-- of the late one would end that home.
local function keep(office, number)
  local homes = P .. 'h:' .. NODE
  local last = tonumber(call('HGET', homes, office) or 0)
  call('HSET', homes, office, text(math.max(tonumber(number), last)))
end

local function settleMs()
  return math.max(0, tonumber(call('GET', P .. 'settle') or 0) - NOW)
end
`;

/**
 * Returns the home of an office, or takes it. Arguments: the office, and the number of the claim.
 *
 * Answers `STALE` for an epoch that is over, `REAPED`, `WAIT` and the ms until homes are known, or `HOME`,
 * the node, and the ms until its lease ends.
 */
export const CLAIM: Script = newScript(`${PRELUDE}
local office, number = ARGV[3], ARGV[4]
if epoch() ~= EPOCH then return { 'STALE' } end
if leaseOf(NODE) <= 0 then return { 'REAPED' } end
local home = homeOf(office)
if not home then
  local wait = settleMs()
  if wait > 0 then return { 'WAIT', wait } end
  home = NODE
end
if home == NODE then keep(office, number) end
return { 'HOME', home, leaseOf(home) }
`);

/**
 * Ends a home that was not claimed after a number. Arguments: the office, and the number.
 */
export const RELEASE: Script = newScript(`${PRELUDE}
local homes = P .. 'h:' .. NODE
local number = tonumber(call('HGET', homes, ARGV[3]))
if number and number <= tonumber(ARGV[4]) then call('HDEL', homes, ARGV[3]) end
return 1
`);

/**
 * Renews the lease, or takes it where the node has seen no epoch yet, and ends homes of dead nodes.
 *
 * Without a valid epoch it begins one: nothing that Redis has is valid then, and what it does not have
 * may be. Nodes that serve do so by a lease of before, and all of those are over after a lease.
 *
 * Arguments: a random id, the lease in ms, and what the node publishes about itself. Answers `REAPED`, or
 * `OK`, the epoch, the ms until homes are known, the other nodes with what they publish, and the number of homes of this one.
 */
export const BEAT: Script = newScript(`${PRELUDE}
local lease = tonumber(ARGV[4])
local nodes = P .. 'nodes'
local function forget(dead)
  call('UNLINK', P .. 'h:' .. dead)
  call('ZREM', nodes, dead)
  call('HDEL', P .. 'about', dead)
end

local current = epoch()
if not current then
  local state = call('GET', P .. 'epoch') and 'kept' or 'empty'
  current = table.concat({ RUN, ARGV[3], state }, ':')
  call('SET', P .. 'epoch', current)
  call('SET', P .. 'settle', text(NOW + lease))
  for _, node in ipairs(call('ZRANGEBYSCORE', nodes, '-inf', '+inf')) do forget(node) end
elseif EPOCH == current and leaseOf(NODE) <= 0 then
  return { 'REAPED' }
end
for _, dead in ipairs(call('ZRANGEBYSCORE', nodes, '-inf', text(NOW))) do forget(dead) end
call('ZADD', nodes, text(NOW + lease), NODE)
call('HSET', P .. 'about', NODE, ARGV[5])

local others = {}
for _, node in ipairs(call('ZRANGEBYSCORE', nodes, '-inf', '+inf')) do
  if node ~= NODE then
    others[#others + 1] = node
    others[#others + 1] = call('HGET', P .. 'about', node) or ''
  end
end
return { 'OK', current, settleMs(), others, call('HLEN', P .. 'h:' .. NODE) }
`);

/**
 * Takes homes again in a new epoch. Arguments: the number of the last claim, and offices. Answers `STALE`
 * for an epoch that is over, or `OK`, and offices whose home is elsewhere.
 */
export const RESTORE: Script = newScript(`${PRELUDE}
if epoch() ~= EPOCH or leaseOf(NODE) <= 0 then return { 'STALE' } end
local answer = { 'OK' }
for i = 4, #ARGV do
  local home = homeOf(ARGV[i])
  if home and home ~= NODE then answer[#answer + 1] = ARGV[i]
  else keep(ARGV[i], ARGV[3]) end
end
return answer
`);

/** Ends the lease of this node, and all its homes. */
export const LEAVE: Script = newScript(`${PRELUDE}
call('UNLINK', P .. 'h:' .. NODE)
call('ZREM', P .. 'nodes', NODE)
call('HDEL', P .. 'about', NODE)
return 1
`);
