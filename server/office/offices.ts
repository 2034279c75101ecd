import { shuttingDown } from "../shared/error_payload.ts";
import type { Deadline } from "../shared/pending.ts";
import type { SharedParts } from "./call.ts";
import type { Member } from "./members.ts";
import { type Kick, kickedFor, Office } from "./office.ts";
import type {
  OfficeParts,
  Offices,
  Peer,
  Refusal,
  Seat,
  WantedSeat,
} from "./peer.ts";

/** What follows the offices of a process. No method calls them before it returns. */
export interface OfficesFollower {
  /** Called when the last seat of an office was left. */
  emptied(office: string): void;
  /** Called when a kick holds a seat free. */
  held(seat: WantedSeat, hold: Omit<Kick, "by">): void;
}

/** The offices whose home is this process, by name. */
export class LocalOffices implements Offices {
  readonly #parts: SharedParts;
  readonly #offices = new Map<string, Office>();
  /** Why, and until when since 1970, seats are held free after a kick: clients reconnect by themselves. */
  readonly #holds = new Map<string, { refused: string; until: number }>();
  #follower: OfficesFollower | undefined;

  /** @param parts what the offices work with */
  constructor(parts: OfficeParts) {
    const calls = { sentCalls: 0, pendingCalls: 0, idle: undefined };
    this.#parts = { ...parts, ...calls, isClosed: false };
  }

  /** Whether the server is shutting down. */
  get isClosed(): boolean {
    return this.#parts.isClosed;
  }

  /** The number of calls that were sent to Computers so far. */
  get sentCalls(): number {
    return this.#parts.sentCalls;
  }

  /** Returns the open offices. */
  [Symbol.iterator](): Iterator<Office> {
    return this.#offices.values();
  }

  /** Finds an office that somebody is in. */
  find(name: string): Office | undefined {
    return this.#offices.get(name);
  }

  /** Finds a member by the id of its connection. */
  findMember(id: string): Member | undefined {
    return this.#offices.values().flatMap(({ members }) => members)
      .find(({ peer }) => peer.id === id);
  }

  /** Sets what follows them. */
  follow(follower: OfficesFollower): void {
    this.#follower = follower;
  }

  /** Returns why a client would get no seat now; `undefined` when it would. */
  judge(peer: Peer, wanted: WantedSeat): Refusal | undefined {
    const { isClosed, clock } = this.#parts;
    if (isClosed) return { refused: shuttingDown().message };
    const { refused, until = 0 } = this.#holds.get(keyOf(wanted)) ?? {};
    if (refused && until > clock.date()) return { refused };
    return this.find(wanted.office)?.judge(peer, wanted);
  }

  /** Takes a seat; an office exists from its first seat on until the last one is left. */
  join(peer: Peer, wanted: WantedSeat, former?: Seat): Seat | Refusal {
    const refusal = this.judge(peer, wanted);
    if (refusal) return refusal;
    const office = this.find(wanted.office) ?? this.#open(wanted.office);
    return office.join(peer, wanted, former);
  }

  #open(name: string): Office {
    const office = new Office(name, this.#parts, () => {
      this.#offices.delete(name);
      this.#follower?.emptied(name);
    });
    this.#offices.set(name, office);
    return office;
  }

  /** Kicks a member, whose client then gets the reason as the answer to its joins for a while. */
  kick(member: Member, order: Kick): void {
    this.hold(member, order);
    this.#follower?.held(member, order);
    this.find(member.office)?.kick(member, order);
  }

  /** Holds a seat free; also for a kick at another node, since the office may move here. */
  hold(seat: WantedSeat, { reason, holdMs }: Omit<Kick, "by">): void {
    const now = this.#parts.clock.date();
    for (const [key, { until }] of this.#holds) {
      if (until <= now) this.#holds.delete(key);
    }
    if (holdMs <= 0) return;
    const hold = { refused: kickedFor(reason), until: now + holdMs };
    this.#holds.set(keyOf(seat), hold);
  }

  /**
   * Refuses joins and calls, waits for pending calls, ends those that remain, and makes everybody leave.
   *
   * @param graceMs how long to wait at most
   */
  async drain(graceMs: number): Promise<void> {
    const parts = this.#parts;
    parts.isClosed = true;
    if (parts.pendingCalls > 0 && graceMs > 0) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const now = parts.clock.now();
      const deadline: Deadline = { due: now + graceMs, expire: resolve };
      parts.idle = resolve;
      parts.deadlines.add(deadline, now);
      await promise;
      parts.deadlines.remove(deadline);
    }
    for (const office of [...this.#offices.values()]) office.close();
  }
}

const keyOf = ({ office, role, name }: WantedSeat): string =>
  JSON.stringify([office, role, name]);
