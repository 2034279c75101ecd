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
import { RedisDirectory } from "../../server/cluster/redis_directory.ts";
import { connectRedis } from "../../server/cluster/redis/connect.ts";
import { FakeClock } from "../support/cluster/fake_clock.ts";
import { startRedis } from "../support/cluster/redis.ts";
import { type Fate, SlowRedis } from "../support/cluster/slow_redis.ts";

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

/** All that happens to nodes. */
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
};

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

/** Many claims and releases whose messages are late or lost, in a time that is too short for leases to end. */
const DENSE = {
  steps: { ...STEPS, claim: 20, release: 8, deliver: 16, "all beat": 8 },
  fates: { ...FATES, unsent: 4, late: 5, slow: 5 },
};

const stepOf = ({ steps, fates }: Pick<typeof DENSE, "steps" | "fates">) =>
  fc.record({
    kind: oneOf<keyof typeof STEPS>(steps),
    node: fc.nat(NODES - 1),
    office: fc.constantFrom(...OFFICES),
    ms: fc.nat(2500),
    fates: fc.array(oneOf<Fate>(fates), { maxLength: 3 }),
  });

type Step = ReturnType<typeof stepOf> extends fc.Arbitrary<infer T> ? T : never;

const history = fc.oneof(
  ...[{ steps: STEPS, fates: FATES }, DENSE].map((weights) =>
    fc.array(stepOf(weights), { minLength: 20, maxLength: 80, size: "max" })
  ),
);

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

/** Lets a world go through a history, and on until all is quiet. */
async function play(
  slow: SlowRedis,
  steps: readonly Step[],
  name: string,
): Promise<number> {
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
    const played = JSON.stringify(steps.slice(0, at + 1));
    throw new Error(`${name} at step ${at}: ${played}`, { cause: error });
  } finally {
    await world.close();
  }
  return world.claimed;
}

const later = (ms: number): Step => ({
  kind: "time passes",
  node: 0,
  office: "north",
  ms,
  fates: [],
});

const at = (node: number, kind: Step["kind"], ...fates: Fate[]): Step => ({
  ...later(0),
  kind,
  node,
  fates,
});

/** Histories that have failed once, shrunk. First all nodes begin anew, and the offices may get homes. */
const FAILED: Readonly<Record<string, readonly Step[]>> = {
  // It took the number of the later claim away, and the release of the late one ended that home.
  "a claim that arrives late, after one that was answered": [
    at(1, "claim", "late"),
    at(1, "claim"),
    at(1, "deliver"),
    at(1, "deliver"),
    at(1, "beat"),
    at(2, "claim"),
  ],
  // The home was taken for one, though its release was on its way.
  "a claim that is answered after a later one has failed": [
    at(1, "claim", "slow"),
    at(1, "claim", "unsent"),
    at(1, "beat"),
    at(1, "deliver"),
    at(1, "deliver"),
    at(2, "claim"),
  ],
  "a claim that is answered after a later one has failed, and a release": [
    at(1, "claim", "slow"),
    at(1, "claim", "unsent"),
    at(1, "release"),
    at(1, "deliver"),
    at(1, "deliver"),
    at(2, "claim"),
  ],
};

Deno.test("no office has two homes in histories that have failed once", async (t) => {
  await using server = await startRedis({ used: false });
  await using redis = await connectRedis(server.url);
  for (const [name, steps] of Object.entries(FAILED)) {
    await t.step(name, async () => {
      const all = [later(0), later(600), ...steps];
      await play(new SlowRedis(redis), all, name);
    });
  }
});

Deno.test(`no office has two homes in ${HISTORIES} random histories of claims, late and lost messages, deaths and lost data`, async () => {
  await using server = await startRedis({ used: false });
  await using redis = await connectRedis(server.url);
  const slow = new SlowRedis(redis);
  const seed = Math.floor(Math.random() * 2 ** 31);
  let claimed = 0;
  const histories = fc.sample(history, { seed, numRuns: HISTORIES });
  for (const [index, steps] of histories.entries()) {
    claimed += await play(slow, steps, `History ${index} of seed ${seed}`);
  }
  assertGreater(claimed, HISTORIES);
});
