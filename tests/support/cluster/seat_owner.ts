import { ROUTING_KEY } from "../../../server/cluster/directory/prelude.ts";
import { RedisDirectory } from "../../../server/cluster/directory/redis_directory.ts";
import { CLAIM, UNDO } from "../../../server/cluster/directory/scripts.ts";
import {
  claimKey,
  memberCode,
  slotCode,
} from "../../../server/cluster/directory/seat_code.ts";
import type { Redis } from "../../../server/cluster/redis/redis.ts";
import type { Member, Seat } from "../../../server/mod.ts";
import { fresh } from "../server/claims.ts";

/** Free seats wait for 2 ms, so that nobody is asked twice. */
const TIMES = { beatMs: 1, leaseMs: 3_600_000 };

/** A node with members, as a server keeps them; what it tells of others is counted. */
export class SeatOwner {
  readonly directory: RedisDirectory;
  /** The members that it serves, by their sockets. */
  readonly members = new Map<string, Seat>();
  /** The sockets whose leave it has told since its last beat. */
  unsure: string[] = [];
  readonly #redis: Redis;
  readonly #told: (node: SeatOwner, seat: Member) => void;
  readonly #lost: (readonly string[])[] = [];

  constructor(
    redis: Redis,
    told: (node: SeatOwner, seat: Member) => void,
  ) {
    this.#redis = redis;
    this.#told = told;
    this.directory = new RedisDirectory(redis, TIMES);
  }

  /** Returns whom another node has to disconnect. */
  async join(wanted: Member): Promise<Seat | undefined> {
    const { node } = this.directory;
    const claim = await this.directory.registry("0.2").claim(wanted, fresh, 99);
    if (claim.kind !== "admit") return undefined;
    this.members.set(wanted.socket, { ...wanted, rev: claim.rev, node });
    if (claim.evict) this.tell(claim.evict);
    return claim.evict;
  }

  /** A join whose answer is lost: the member is not served, whatever Redis says. */
  async lose(epoch: string, wanted: Member): Promise<void> {
    const slot = slotCode(wanted);
    const claim = ["0.2:north", slot, wanted.socket] as const;
    await this.#redis.run(CLAIM, [ROUTING_KEY], [
      ...[this.directory.node, epoch, "0", ...claim],
      ...[claimKey(wanted), "lost", "99", memberCode(wanted), ""],
    ]);
    this.#lost.push([...claim, "lost"]);
  }

  /** Whether a join for the same seat was lost. */
  hasLost(wanted: Member): boolean {
    return this.#lost.some(([, slot]) => slot === slotCode(wanted));
  }

  /** Takes back what was lost. */
  async undo(epoch: string): Promise<void> {
    for (const claim of this.#lost.splice(0)) {
      const args = [this.directory.node, epoch, "0", ...claim];
      await this.#redis.run(UNDO, [ROUTING_KEY], args);
    }
  }

  async leave(member: Seat): Promise<void> {
    this.members.delete(member.socket);
    this.tell(member);
    await this.directory.registry("0.2").release(member);
  }

  /** Renews the lease, tells what there is to tell, and makes seats and members agree. */
  async beat(): Promise<void> {
    const beat = await this.directory.beat("");
    if (beat.state === "reaped") throw new Error("It was reaped");
    this.unsure = [];
    for (const { member } of beat.gone) this.tell(member);
    if (beat.seats !== this.members.size) await this.#reconcile();
  }

  async reap(other: SeatOwner): Promise<void> {
    const gone = await this.directory.reap(other.directory.node);
    for (const { member } of gone) this.tell(member);
  }

  tell(seat: Member): void {
    this.unsure.push(seat.socket);
    this.#told(this, seat);
  }

  async #reconcile(): Promise<void> {
    const lost = new Set(this.#lost.map(([, , socket]) => socket));
    const own = await this.directory.own();
    const seated = new Set(own.map(({ member }) => member.socket));
    for (const { member } of own) {
      if (this.members.has(member.socket) || lost.has(member.socket)) continue;
      await this.directory.registry("0.2").release(member);
    }
    for (const member of [...this.members.values()]) {
      if (seated.has(member.socket)) continue;
      const seat = { protocol: "0.2", member } as const;
      if (await this.directory.restore(seat)) continue;
      this.members.delete(member.socket);
      this.tell(member);
    }
  }
}
