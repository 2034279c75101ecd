/**
 * Redis for tests of the directory, whose answers get lost or come late.
 *
 * @module
 */
import {
  PREFIX,
  ROUTING_KEY,
  type ScriptRedis,
} from "../../../server/cluster/redis_directory.ts";
import type { Redis } from "../../../server/cluster/redis/connect.ts";
import {
  newScript,
  type Reply,
  type Script,
} from "../../../server/cluster/redis/redis_connection.ts";
import { settled } from "./fake_clock.ts";

/** What becomes of a command. */
export type Fate =
  /** It is executed, and answered. */
  | "answered"
  /** It fails, and is never executed. */
  | "unsent"
  /** It is executed, and fails. */
  | "unanswered"
  /** It fails, and is executed with the second {@linkcode SlowRedis.deliver} from then. */
  | "late"
  /** It is executed with the next {@linkcode SlowRedis.deliver}, and answered with the one after it. */
  | "slow";

const WORLD = newScript(`
local now, run, data = ARGV[1], ARGV[2], ARGV[3]
local function keys() return redis.call('KEYS', '${PREFIX}*') end
if data == 'remember' then
  redis.call('DEL', 'remembered')
  for _, key in ipairs(keys()) do redis.call('HSET', 'remembered', key, redis.call('DUMP', key)) end
elseif data ~= 'keep' then
  for _, key in ipairs(keys()) do redis.call('DEL', key) end
end
if data == 'recall' then
  local all = redis.call('HGETALL', 'remembered')
  for i = 1, #all, 2 do redis.call('RESTORE', all[i], 0, all[i + 1]) end
end
redis.call('HSET', 'world', 'now', now, 'run', run)
`);

/** Redis whose clock, process and network are the test's. */
export class SlowRedis {
  readonly #redis: Redis;
  /** What the next commands come to, in turn; then all are answered. */
  fates: Fate[] = [];
  #now = 1_000_000;
  #run = 1;
  #running = new Set<Promise<unknown>>();
  #parked: (() => void)[] = [];

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /**
   * Changes its data: keeps or loses all, remembers all, as a replica that gets no more, or goes back to that.
   *
   * @param isOtherProcess whether it is another process from then on
   */
  async set(
    data: "keep" | "empty" | "remember" | "recall",
    isOtherProcess = false,
  ): Promise<void> {
    if (isOtherProcess) this.#run++;
    const args = [String(this.#now), String(this.#run), data];
    await this.#redis.run(WORLD, [ROUTING_KEY], args);
  }

  /** Turns its clock. */
  turn(milliseconds: number): Promise<void> {
    this.#now += milliseconds;
    return this.set("keep");
  }

  /** Returns a connection of a node, which executes and answers in order; what is late has been on another. */
  connect(): ScriptRedis {
    let executed: Promise<unknown> = Promise.resolve();
    let answered: Promise<unknown> = Promise.resolve();
    const run = async (
      execute: () => Promise<Reply>,
      isSlow: boolean,
    ): Promise<Reply> => {
      const before = executed;
      const answeredBefore = answered;
      const parked = isSlow ? this.#twoDeliveries() : undefined;
      const reply = before.then(() => parked?.[0]).then(execute);
      executed = reply.catch(() => {});
      const answer = answeredBefore.then(() => parked?.[1]).then(() => reply);
      answered = answer.catch(() => {});
      return await answer;
    };
    return {
      place: "redis",
      run: async (...command) => {
        const fate = this.fates.shift() ?? "answered";
        const execute = () => this.#execute(...command);
        if (fate === "late") {
          void this.#twoDeliveries()[1].then(execute);
        } else if (fate !== "unsent") {
          const reply = await run(execute, fate === "slow");
          if (fate !== "unanswered") return reply;
        }
        throw new Error(`It was ${fate}`);
      },
    };
  }

  /** Lets what was parked go a step on, in its order. */
  async deliver(): Promise<void> {
    const parked = this.#parked;
    this.#parked = [];
    for (const go of parked) go();
    await this.quiet();
  }

  /** Waits until nothing is on its way but what is parked. */
  async quiet(): Promise<void> {
    do {
      await Promise.allSettled([...this.#running]);
      await settled();
    } while (this.#running.size > 0);
  }

  /** Returns the fields of the homes of a node. */
  async homesOf(node: string): Promise<readonly string[]> {
    const script = newScript(`return redis.call('HKEYS', ARGV[1])`);
    const keys = await this.#redis.run(script, [ROUTING_KEY], [
      `${PREFIX}h:${node}`,
    ]);
    return Array.isArray(keys) ? keys.map(String) : [];
  }

  /** Returns what resolves with the next delivery, and with the one after it. */
  #twoDeliveries(): readonly [Promise<void>, Promise<void>] {
    const first = Promise.withResolvers<void>();
    const second = Promise.withResolvers<void>();
    this.#parked.push(() => {
      first.resolve();
      this.#parked.push(second.resolve);
    });
    return [first.promise, second.promise];
  }

  #execute(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<Reply> {
    const reply = this.#redis.run(inWorld(script), keys, args);
    this.#running.add(reply);
    reply.finally(() => this.#running.delete(reply)).catch(() => {});
    return reply;
  }
}

const worlds = new Map<Script, Script>();

/** The script with the clock and the process of the test. */
function inWorld(script: Script): Script {
  const known = worlds.get(script);
  if (known !== undefined) return known;
  const source = script.source
    .replace(
      /^local NOW = .*$/m,
      "local NOW = tonumber(call('HGET', 'world', 'now'))",
    )
    .replace(/^local RUN = .*$/m, "local RUN = call('HGET', 'world', 'run')");
  const made = newScript(source);
  worlds.set(script, made);
  return made;
}
