import { shuttingDown } from "../shared/error_payload.ts";
import { Calls } from "./call.ts";
import { Holds } from "./join_rule.ts";
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
  readonly #parts: OfficeParts;
  readonly #calls: Calls;
  readonly #offices = new Map<string, Office>();
  readonly #holds = new Holds();
  #isClosed = false;
  #follower: OfficesFollower | undefined;

  /** @param parts what the offices work with */
  constructor(parts: OfficeParts) {
    this.#parts = parts;
    this.#calls = new Calls(parts);
  }

  /** Whether the server is shutting down. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The number of calls that were sent to Computers so far. */
  get sentCalls(): number {
    return this.#calls.sent;
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
    if (this.#isClosed) return { refused: shuttingDown().message };
    const refused = this.#holds.reasonFor(wanted, this.#parts.clock.date());
    if (refused !== undefined) return { refused };
    return this.#offices.get(wanted.office)?.judge(peer, wanted);
  }

  /** Takes a seat; an office exists from its first seat on until the last one is left. */
  join(peer: Peer, wanted: WantedSeat, former?: Seat): Seat | Refusal {
    const refusal = this.judge(peer, wanted);
    if (refusal) return refusal;
    const office = this.#offices.get(wanted.office) ??
      this.#open(wanted.office);
    return office.join(peer, wanted, former);
  }

  #open(name: string): Office {
    const office = new Office(
      name,
      this.#calls,
      this.#parts,
      () => {
        this.#offices.delete(name);
        this.#follower?.emptied(name);
      },
    );
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
    this.#holds.add(seat, kickedFor(reason), now + holdMs, now);
  }

  /**
   * Refuses joins and calls, waits for pending calls, ends those that remain, and makes everybody leave.
   *
   * @param graceMs how long to wait at most
   */
  async drain(graceMs: number): Promise<void> {
    this.#isClosed = true;
    this.#calls.close();
    await this.#calls.idle(graceMs);
    for (const office of [...this.#offices.values()]) office.close();
  }
}
