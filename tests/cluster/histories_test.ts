/**
 * The directory on a Redis whose clock, process and network are the test's: answers that get lost or come
 * late, and random histories.
 *
 * @module
 */
import {
  assert,
  assertEquals,
  assertGreater,
  assertRejects,
} from "@std/assert";
import fc from "fast-check";
import {
  Lease,
  LEASE_MS,
  RegistryUnavailableError,
} from "../../server/cluster/directory.ts";
import {
  PREFIX,
  RedisDirectory,
  ROUTING_KEY,
  type ScriptRedis,
} from "../../server/cluster/redis_directory.ts";
import {
  connectRedis,
  type Redis,
} from "../../server/cluster/redis/connect.ts";
import {
  newScript,
  type Reply,
  type Script,
} from "../../server/cluster/redis/redis_connection.ts";
import { FakeClock, settled } from "../support/cluster/fake_clock.ts";
import { startRedis } from "../support/cluster/redis.ts";

/** What becomes of answers while a node claims, releases and beats; at the end the office has a home, or not. */
const ANSWERS: Readonly<Record<string, string>> = {
  "a claim without an answer is released with the next beat":
    "unanswered claim home beat",
  "a claim without an answer may be released at once":
    "unanswered claim home release",
  "a claim without an answer may be repeated":
    "unanswered claim claim beat beat home",
  "a claim without an answer does not end the home that there was":
    "claim unanswered claim beat home",
  "such a home is released as any other": "claim unanswered claim beat release",
  "a release that was not sent is repeated with the next beat":
    "claim unsent release home beat",
  "a release that arrives late does not end the home that was claimed since":
    "claim late release claim home",
};

Deno.test("a claim or release without an answer takes no home away, and leaves none behind", async () => {
  await using redis = await startRedis();
  await using client = await connectRedis(redis.url);
  for (const [name, words] of Object.entries(ANSWERS)) {
    const steps = words.split(" ");
    await redis.command("FLUSHALL");
    const slow = new SlowRedis(client);
    await slow.turn(0);
    await using directory = new RedisDirectory(slow.connect(), 10);
    await directory.beat("");
    await slow.turn(9);
    await directory.beat("");
    await slow.turn(1);
    const acts = {
      claim: () => directory.claim("north"),
      release: () => directory.release("north"),
      beat: () => directory.beat(""),
      home: async () =>
        assertEquals(await slow.homesOf(directory.node), ["north"], name),
    };
    for (const step of steps) {
      if (!(step in acts)) slow.fates = [step as Fate];
      else if (slow.fates[0] === "unanswered") {
        await assertRejects(acts.claim, RegistryUnavailableError, "try again");
      } else await acts[step as keyof typeof acts]();
      await slow.quiet();
    }
    for (let i = 0; i < 3; i++) await slow.deliver();
    const homes = await slow.homesOf(directory.node);
    assertEquals(homes, steps.at(-1) === "home" ? ["north"] : [], name);
  }
});

const HISTORIES = 300;
const NODES = 3;
const OFFICES = ["north", "south"];

const STEPS = {
  claim: 8,
  release: 4,
  beat: 8,
  "time passes": 8,
  "all beat": 4,
  deliver: 4,
  "say goodbye": 1,
  die: 1,
  "lose data": 1,
  "restart empty": 1,
  "restart with data": 1,
  remember: 3,
  "fail over": 1,
} as const;

const FATES: Readonly<Record<Fate, number>> = {
  answered: 12,
  unsent: 1,
  unanswered: 2,
  late: 2,
  slow: 2,
};

const oneOf = <T extends string>(weights: Readonly<Record<T, number>>) =>
  fc.oneof(
    ...Object.entries<number>(weights).map(([value, weight]) => ({
      weight,
      arbitrary: fc.constant(value as T),
    })),
  );

const step = fc.record({
  kind: oneOf(STEPS),
  node: fc.nat(NODES - 1),
  office: fc.constantFrom(...OFFICES),
  ms: fc.nat(2500),
  fates: fc.array(oneOf(FATES), { maxLength: 3 }),
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const history = fc.array(step, { minLength: 20, maxLength: 80, size: "max" });

/** One term of a node: what it does by itself is done by the test. */
class Node {
  readonly directory: RedisDirectory;
  readonly #lease = new Lease();
  readonly #clock: FakeClock;
  isOver = false;

  constructor(redis: SlowRedis, clock: FakeClock) {
    this.#clock = clock;
    this.directory = new RedisDirectory(redis.connect(), LEASE_MS, clock);
  }

  async beat(): Promise<void> {
    if (this.isOver) return;
    const sent = this.#clock.now();
    const beat = await this.directory.beat("").catch(() => undefined);
    if (beat?.state === "ok" && !this.isOver) this.#lease.renewed(sent);
    if (beat?.state === "reaped") this.isOver = true;
  }

  /** The offices that live here, which it serves while its lease is valid. */
  get served(): readonly string[] {
    return this.hasLease ? [...this.directory.homes.keys()] : [];
  }

  get hasLease(): boolean {
    return !this.isOver && this.#lease.state(this.#clock.now()) !== "over";
  }

  async end(): Promise<void> {
    this.isOver = true;
    await this.directory[Symbol.asyncDispose]();
  }
}

/** Three nodes, and all that may befall them. */
class World {
  readonly #redis: SlowRedis;
  readonly #clock = new FakeClock();
  readonly #nodes: Node[] = [];
  readonly #waiting = new Set<Promise<unknown>>();
  claimed = 0;

  constructor(redis: SlowRedis) {
    this.#redis = redis;
  }

  async start(): Promise<void> {
    this.#redis.fates = [];
    await this.#redis.set("empty", true);
    await this.#redis.set("remember");
    for (let index = 0; index < NODES; index++) await this.#begin(index);
    await this.#pass(LEASE_MS - 500);
  }

  async play({ kind, node: index, office, ms, fates }: Step): Promise<void> {
    this.#redis.fates = [...fates];
    const node = this.#node(index);
    const redis = this.#redis;
    const acts: Record<Step["kind"], () => unknown> = {
      // Also a node whose lease is over claims, before it notices.
      claim: () =>
        this.#begun(
          node.directory.claim(office).then(({ node: home }) => {
            if (home === node.directory.node) this.claimed++;
          }),
        ),
      release: () => this.#begun(node.directory.release(office)),
      beat: () => this.#begun(node.beat()),
      "all beat": () => {
        for (const each of this.#nodes) this.#begun(each.beat());
      },
      "time passes": () => this.#pass(ms),
      deliver: () => redis.deliver(),
      "say goodbye": async () => {
        node.isOver = true;
        this.#begun(node.directory.leave());
        await redis.quiet();
        await this.#begin(index);
      },
      die: () => this.#begin(index),
      "lose data": () => redis.set("empty"),
      "restart empty": () => redis.set("empty", true),
      "restart with data": () => redis.set("keep", true),
      remember: () => redis.set("remember"),
      // The replica may lack writes that were answered.
      "fail over": () => redis.set("recall", true),
    };
    await acts[kind]();
    await redis.quiet();
    await this.#check();
  }

  /** When all is quiet, Redis and all nodes agree. */
  async checkEnd(): Promise<void> {
    this.#redis.fates = [];
    for (let i = 0; i < 4; i++) await this.#redis.deliver();
    for (let passed = 0; passed < 2 * LEASE_MS; passed += 1000) {
      await this.#pass(1000);
      for (const node of this.#nodes) await node.beat();
      await this.#check();
    }
    for (const office of OFFICES) {
      const homes = await Promise.all(
        this.#nodes.map(({ directory }) => directory.claim(office)),
      );
      assertEquals(new Set(homes.map(({ node }) => node)).size, 1, office);
    }
    await this.#check();
    for (const { directory } of this.#nodes) {
      const known = new Set(await this.#redis.homesOf(directory.node));
      const all = [...directory.homes.keys()];
      assert(all.every((office) => known.has(office)), all.join());
    }
  }

  async close(): Promise<void> {
    for (const node of this.#nodes) await node.end();
    for (let i = 0; i < 4; i++) await this.#redis.deliver();
    await Promise.allSettled(this.#waiting);
  }

  /** No office is served by two nodes; who is not served any more begins anew. */
  async #check(): Promise<void> {
    for (const office of OFFICES) {
      const homes = this.#nodes.filter(({ served }) => served.includes(office));
      assert(homes.length <= 1, `${office} has ${homes.length} homes`);
    }
    for (const [index, node] of this.#nodes.entries()) {
      if (!node.hasLease) await this.#begin(index);
    }
  }

  #begun(work: Promise<unknown>): void {
    const ended: Promise<unknown> = work.catch(() => {}).finally(() =>
      this.#waiting.delete(ended)
    );
    this.#waiting.add(ended);
  }

  async #pass(milliseconds: number): Promise<void> {
    for (let left = milliseconds; left > 0; left -= 250) {
      await this.#redis.turn(Math.min(left, 250));
      await this.#clock.turn(Math.min(left, 250));
      await this.#redis.quiet();
    }
  }

  #node(index: number): Node {
    const node = this.#nodes[index];
    assert(node);
    return node;
  }

  /** A term whose first beat is not answered is no node yet: it is tried again with the next step. */
  async #begin(index: number): Promise<void> {
    await this.#nodes[index]?.end();
    const node = new Node(this.#redis, this.#clock);
    this.#nodes[index] = node;
    const { fates } = this.#redis;
    this.#redis.fates = [];
    await node.beat();
    this.#redis.fates = fates;
  }
}

Deno.test(`no office has two homes in ${HISTORIES} random histories of claims, late and lost messages, deaths and lost data`, async () => {
  await using server = await startRedis({ used: false });
  await using redis = await connectRedis(server.url);
  const slow = new SlowRedis(redis);
  const seed = Math.floor(Math.random() * 2 ** 31);
  let claimed = 0;
  const histories = fc.sample(history, { seed, numRuns: HISTORIES });
  for (const [index, steps] of histories.entries()) {
    const world = new World(slow);
    await world.start();
    let at = 0;
    try {
      for (; at < steps.length; at++) {
        const step = steps[at];
        if (step) await world.play(step);
      }
      await world.checkEnd();
    } catch (error) {
      throw new Error(
        `History ${index} of seed ${seed} at step ${at}: ${
          JSON.stringify(steps.slice(0, at + 1))
        }`,
        { cause: error },
      );
    } finally {
      await world.close();
    }
    claimed += world.claimed;
  }
  assertGreater(claimed, HISTORIES);
});

/** What becomes of a command. */
type Fate =
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
class SlowRedis {
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
