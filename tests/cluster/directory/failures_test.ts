import { assert, assertEquals, assertGreater } from "@std/assert";
import fc from "fast-check";
import { slotCode } from "../../../server/cluster/directory/seat_code.ts";
import { connectRedis } from "../../../server/cluster/redis/connect.ts";
import type { Redis } from "../../../server/cluster/redis/redis.ts";
import type { Seat } from "../../../server/mod.ts";
import { startRedis, type TestRedis } from "../../support/cluster/redis.ts";
import { SeatOwner } from "../../support/cluster/seat_owner.ts";
import { member } from "../../support/member.ts";

const HISTORIES = 400;

const STEPS = {
  join: 10,
  "join without an answer": 3,
  "take back": 2,
  leave: 3,
  beat: 4,
  "die and be reaped": 1,
  "die unnoticed": 1,
  "lose all data": 1,
} as const;
type Step = {
  readonly kind: keyof typeof STEPS;
  readonly node: number;
  readonly seat: number;
  readonly instance: number;
};

const history = fc.array(
  fc.record({
    kind: fc.oneof(
      ...Object.entries(STEPS).map(([kind, weight]) => ({
        weight,
        arbitrary: fc.constant(kind as keyof typeof STEPS),
      })),
    ),
    node: fc.nat(2),
    seat: fc.nat(2),
    instance: fc.nat(1),
  }),
  { minLength: 20, maxLength: 60, size: "max" },
);

/** Three nodes with members, all that may befall them, and what was told of whom. */
class World {
  readonly #server: TestRedis;
  readonly #redis: Redis;
  readonly #nodes: SeatOwner[] = [];
  /** Who died with its node, and must be told of. */
  readonly #died = new Set<string>();
  /** How often each leave was told. */
  readonly #told = new Map<string, number>();
  /** How often a leave may be told once more: who told of it has died before its next beat. */
  readonly #again = new Map<string, number>();
  #sockets = 0;
  #epoch = "";

  constructor(server: TestRedis, redis: Redis) {
    this.#server = server;
    this.#redis = redis;
  }

  async start(): Promise<void> {
    await this.#server.command("FLUSHALL");
    for (let i = 0; i < 3; i++) await this.#replace(i);
  }

  async play({ kind, node, seat, instance }: Step): Promise<void> {
    const owner = this.#owner(node);
    const wanted = member({
      ...(seat === 0 ? { role: "agent", name: "boss" } : { name: `pc${seat}` }),
      socket: `s${++this.#sockets}`,
      instance: `i${instance}`,
    });
    switch (kind) {
      case "join": {
        const joining = owner.join(wanted);
        // What was not answered is taken back soon; who wants that seat waits for it.
        const lost = this.#nodes.filter((each) => each.hasLost(wanted));
        for (const each of lost) await each.undo(this.#epoch);
        const evicted = await joining;
        if (evicted) this.#disconnect(evicted);
        break;
      }
      case "join without an answer":
        await owner.lose(this.#epoch, wanted);
        break;
      case "take back":
        await owner.undo(this.#epoch);
        break;
      case "leave": {
        const [first] = owner.members.values();
        if (first) await owner.leave(first);
        break;
      }
      case "beat":
        await owner.beat();
        break;
      case "die and be reaped":
      case "die unnoticed": {
        this.#bury(owner);
        if (kind === "die and be reaped") {
          await this.#owner((node + 1) % 3).reap(owner);
        } else {
          const { node } = owner.directory;
          await this.#server.command("ZADD", "{smcp1}:nodes", "0", node);
        }
        await this.#replace(node);
        break;
      }
      case "lose all data":
        // What a dead node has left behind is lost as well: nobody can tell it.
        this.#died.clear();
        await this.#server.command("FLUSHALL");
        for (let i = 0; i < 3; i++) await this.#owner((node + i) % 3).beat();
        await this.#readEpoch();
    }
    this.checkServed();
  }

  /** Nobody serves a seat for somebody while another node does for another. */
  checkServed(): void {
    const instances = new Map<string, string | undefined>();
    for (const { members } of this.#nodes) {
      for (const seat of members.values()) {
        const slot = slotCode(seat);
        if (instances.has(slot)) {
          assertEquals(seat.instance, instances.get(slot), slot);
        }
        instances.set(slot, seat.instance);
      }
    }
  }

  /** When all is quiet, Redis has the members of all nodes, and each end was told once. */
  async checkEnd(): Promise<void> {
    for (let i = 0; i < 3; i++) await this.#owner(i).undo(this.#epoch);
    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 3; i++) await this.#owner(i).beat();
    }
    const seats = await this.#owner(0).directory.registry("0.2").list("north");
    const served = this.#nodes.flatMap(({ members }) => [...members.values()]);
    assertEquals(
      seats.map(({ socket }) => socket).sort(),
      served.map(({ socket }) => socket).sort(),
    );
    assertEquals(new Set(served.map(slotCode)).size, served.length);
    for (const socket of this.#died) {
      const times = this.#told.get(socket) ?? 0;
      const most = 1 + (this.#again.get(socket) ?? 0);
      assert(times >= 1 && times <= most, `${socket} was told ${times} times`);
    }
  }

  async close(): Promise<void> {
    for (const { directory } of this.#nodes) {
      await directory[Symbol.asyncDispose]();
    }
  }

  #owner(index: number): SeatOwner {
    const owner = this.#nodes[index];
    assert(owner);
    return owner;
  }

  #disconnect({ socket }: Seat): void {
    for (const { members } of this.#nodes) members.delete(socket);
  }

  #bury(owner: SeatOwner): void {
    for (const socket of owner.members.keys()) this.#died.add(socket);
    for (const socket of owner.unsure) {
      this.#again.set(socket, (this.#again.get(socket) ?? 0) + 1);
    }
    owner.members.clear();
  }

  async #replace(index: number): Promise<void> {
    await this.#nodes[index]?.directory[Symbol.asyncDispose]();
    const owner = new SeatOwner(this.#redis, (_, { socket }) => {
      this.#told.set(socket, (this.#told.get(socket) ?? 0) + 1);
    });
    this.#nodes[index] = owner;
    await owner.beat();
    await this.#readEpoch();
  }

  async #readEpoch(): Promise<void> {
    this.#epoch = String(await this.#server.command("GET", "{smcp1}:epoch"));
  }
}

Deno.test(`nodes and Redis agree after ${HISTORIES} random histories of joins, lost answers, deaths and lost data`, async () => {
  await using server = await startRedis();
  await using redis = await connectRedis(server.url);
  const seed = Math.floor(Math.random() * 2 ** 31);
  let steps = 0;
  const histories = fc.sample(history, { seed, numRuns: HISTORIES });
  for (const [index, history] of histories.entries()) {
    const world = new World(server, redis);
    await world.start();
    try {
      for (const step of history) {
        await world.play(step);
        steps++;
      }
      await world.checkEnd();
    } catch (error) {
      throw new Error(
        `History ${index} of seed ${seed}: ${JSON.stringify(history)}`,
        { cause: error },
      );
    } finally {
      await world.close();
    }
  }
  assertGreater(steps, 20 * HISTORIES);
});
