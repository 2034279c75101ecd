import { assert, assertEquals, assertGreater } from "@std/assert";
import fc from "fast-check";
import { RegistryUnavailableError } from "../../../server/cluster/directory/unavailable.ts";
import { RedisDirectory } from "../../../server/cluster/directory/redis_directory.ts";
import { ROUTING_KEY } from "../../../server/cluster/directory/prelude.ts";
import { connectRedis } from "../../../server/cluster/redis/connect.ts";
import type { Redis } from "../../../server/cluster/redis/redis.ts";
import { newScript } from "../../../server/cluster/redis/script.ts";
import type { Joiner } from "../../../server/mod.ts";
import { startRedis } from "../../support/cluster/redis.ts";
import {
  CONNECTIONS,
  type Outcome,
  SeatModel,
  type Step,
} from "../../support/cluster/seat_model.ts";

const NODES = 3;
const OFFICES = ["north", "south"];
const HISTORIES = 10_000;
/** So many go on at once, one step each: their questions are sent together. */
const AT_ONCE = 100;

const place = {
  node: fc.nat(NODES - 1),
  connection: fc.nat(CONNECTIONS - 1),
};
const seat = {
  role: fc.constantFrom("agent" as const, "computer" as const),
  name: fc.constantFrom("pc", "mac"),
  office: fc.constantFrom(...OFFICES),
};
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({
      kind: fc.constant("claim" as const),
      ...place,
      ...seat,
      capacity: fc.constantFrom(1, 2, 3, Infinity),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("release" as const), ...place }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("release other" as const),
      ...place,
      ...seat,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("expire" as const),
      node: place.node,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("reap" as const),
      by: place.node,
      node: place.node,
    }).filter(({ by, node }) => by !== node),
  },
);
const history = fc.array(step, { minLength: 5, maxLength: 25, size: "max" });

/** What must have been played, and answered so. */
const OFTEN: readonly string[] = [
  "claim: seat free",
  "claim: seat free, from another office",
  "claim: seat of the same instance",
  "claim: seat of the same instance, from another office",
  "claim: seat of a dead node",
  "claim: seat of a dead node, from another office",
  "claim: already-member",
  "claim: refused",
  "claim: full",
  "claim: fenced",
  "release: released",
  "release: nothing",
  "release other: released",
  "release other: nothing",
  "expire: nothing",
  "reap: told",
  "reap: fenced",
];

function described(outcome: Outcome, model: SeatModel): string {
  if (outcome.kind === "refuse") return outcome.full ? "full" : "refused";
  if (outcome.kind !== "admit") return outcome.kind;
  const { evict, leave } = outcome;
  const from = evict === undefined
    ? "free"
    : model.lives(Number(evict[0]))
    ? "of the same instance"
    : "of a dead node";
  return `seat ${from}${leave === undefined ? "" : ", from another office"}`;
}

/** The lease of a node is over, as if its time had passed. */
const EXPIRE = newScript("return redis.call('ZADD', KEYS[1], 0, ARGV[1])");

/** One history, played by nodes of its own in offices of its own. */
class Played {
  readonly model = new SeatModel();
  readonly #redis: Redis;
  readonly #nodes: readonly RedisDirectory[];
  readonly #id: number;
  #rev = 0;

  constructor(redis: Redis, id: number) {
    this.#redis = redis;
    this.#id = id;
    this.#nodes = Array.from(
      { length: NODES },
      () => new RedisDirectory(redis),
    );
  }

  async start(): Promise<void> {
    for (const node of this.#nodes) await node.beat("");
  }

  /** Asks Redis, as the connection was before the step. */
  async ask(step: Step, joiner: Joiner): Promise<Outcome> {
    if (step.kind === "expire") {
      await this.#redis.run(EXPIRE, [ROUTING_KEY], [this.#node(step).node]);
      return { kind: "nothing" };
    }
    try {
      if (step.kind === "reap") {
        const reaper = this.#node({ node: step.by });
        const left = await reaper.reap(this.#node(step).node);
        return {
          kind: "told",
          left: left.map(({ member }) => member.socket).sort(),
        };
      }
      return await this.#askSeat(step, joiner);
    } catch (error) {
      assert(error instanceof RegistryUnavailableError, String(error));
      return { kind: "fenced" };
    }
  }

  async #askSeat(
    step: Exclude<Step, { kind: "expire" | "reap" }>,
    joiner: Joiner,
  ): Promise<Outcome> {
    const registry = this.#node(step).registry("0.2");
    if (step.kind === "claim") {
      const wanted = this.model.wanted(step, this.#own(step));
      const own = joiner.member && this.#own(joiner.member);
      const claim = await registry.claim(
        wanted,
        { role: joiner.role, member: own },
        step.capacity,
        true,
      );
      if (claim.kind !== "admit") return claim;
      this.#grows(claim.rev);
      assertEquals(claim.seats, await registry.list(wanted.office));
      if (claim.leave) this.#grows(await registry.release(claim.leave));
      return {
        kind: "admit",
        ...(claim.evict && { evict: claim.evict.socket }),
        ...(claim.leave && { leave: claim.leave.office.replace(/\d+/, "") }),
      };
    }
    const left = step.kind === "release other"
      ? this.model.wanted(step, step)
      : joiner.member;
    if (left === undefined) return { kind: "nothing" };
    const rev = await registry.release(this.#own(left));
    if (rev === 0) return { kind: "nothing" };
    this.#grows(rev);
    return { kind: "released" };
  }

  async check(): Promise<void> {
    const living = this.#nodes.find((_, index) => this.model.lives(index)) ??
      this.#nodes[0];
    assert(living);
    for (const office of OFFICES) {
      const seats = await living.registry("0.2").list(`${office}${this.#id}`);
      assertEquals(
        seats.map(({ socket }) => socket),
        this.model.list(office),
      );
    }
  }

  async close(): Promise<void> {
    for (const node of this.#nodes) await node[Symbol.asyncDispose]();
  }

  #grows(rev: number): void {
    assertGreater(rev, this.#rev);
    this.#rev = rev;
  }

  #node({ node }: { readonly node: number }): RedisDirectory {
    const found = this.#nodes[node];
    assert(found);
    return found;
  }

  #own<T extends { office: string }>(seat: T): T {
    return { ...seat, office: `${seat.office}${this.#id}` };
  }
}

Deno.test(`the Lua and decideJoin() agree at each step of ${HISTORIES} random histories`, async () => {
  await using server = await startRedis();
  await using redis = await connectRedis(server.url);
  let steps = 0;
  const seen = new Map<string, number>();
  const seed = Math.floor(Math.random() * 2 ** 31);
  for (let batch = 0; batch < HISTORIES / AT_ONCE; batch++) {
    const histories = fc.sample(history, {
      seed: seed + batch,
      numRuns: AT_ONCE,
    });
    await server.command("FLUSHALL");
    const played = histories.map((_, index) => new Played(redis, index));
    for (const each of played) await each.start();
    for (let at = 0; histories.some(({ length }) => at < length); at++) {
      await Promise.all(played.map(async (each, index) => {
        const step = histories[index]?.[at];
        if (step === undefined) return;
        const joiner = each.model.joiner(step);
        const expected = each.model.apply(step);
        assertEquals(
          await each.ask(step, joiner),
          expected,
          `seed ${seed + batch}, step ${at + 1} of ${
            JSON.stringify(histories[index])
          }`,
        );
        steps++;
        const what = `${step.kind}: ${described(expected, each.model)}`;
        seen.set(what, (seen.get(what) ?? 0) + 1);
      }));
    }
    for (const each of played) await each.check();
    for (const each of played) await each.close();
  }
  assertGreater(steps, 10 * HISTORIES);
  // Each rule was played often enough to mean something.
  for (const what of OFTEN) assertGreater(seen.get(what) ?? 0, 9, what);
});
