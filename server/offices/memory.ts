import type { Member } from "../shared/member.ts";
import { decideJoin, type Joiner } from "./join_rule.ts";
import type { Claim, OfficeRegistry, Seat } from "./registry.ts";

interface Seats {
  agent: Seat | undefined;
  readonly computers: Map<string, Seat>;
}

/** An {@linkcode OfficeRegistry} in memory, for a single node; an office exists while it has members. */
export class MemoryRegistry implements OfficeRegistry {
  readonly #offices = new Map<string, Seats>();
  #rev = 0;

  /** Decides and takes the seat in one synchronous step. */
  claim(
    wanted: Member,
    joiner: Joiner,
    capacity: number = Infinity,
    withSeats: boolean = false,
  ): Claim {
    const full = this.#size(wanted.office) >= capacity;
    const holder = this.#holder(wanted);
    const decision = decideJoin(wanted, joiner, holder, full);
    if (decision.kind !== "admit") return decision;
    const { evict: _, ...admitted } = decision;
    const seat = { ...wanted, rev: ++this.#rev };
    this.#seat(seat);
    return {
      ...admitted,
      ...(holder && { evict: holder }),
      rev: seat.rev,
      ...(withSeats && { seats: this.list(wanted.office) }),
    };
  }

  /** Releases a seat, unless another socket holds it by now. */
  release(member: Member): number {
    if (this.#holder(member)?.socket !== member.socket) return 0;
    const seats = this.#offices.get(member.office);
    if (seats === undefined) return 0;
    if (member.role === "agent") seats.agent = undefined;
    else seats.computers.delete(member.name);
    if (seats.agent === undefined && seats.computers.size === 0) {
      this.#offices.delete(member.office);
    }
    return ++this.#rev;
  }

  /** Lists the members of an office, the Agent first. */
  list(office: string): Seat[] {
    const seats = this.#offices.get(office);
    if (seats === undefined) return [];
    return [...(seats.agent ? [seats.agent] : []), ...seats.computers.values()];
  }

  #holder({ office, role, name }: Member): Seat | undefined {
    const seats = this.#offices.get(office);
    return role === "agent" ? seats?.agent : seats?.computers.get(name);
  }

  #size(office: string): number {
    const seats = this.#offices.get(office);
    return seats ? seats.computers.size + (seats.agent ? 1 : 0) : 0;
  }

  #seat(member: Seat): void {
    let seats = this.#offices.get(member.office);
    if (seats === undefined) {
      seats = { agent: undefined, computers: new Map() };
      this.#offices.set(member.office, seats);
    }
    if (member.role === "agent") seats.agent = member;
    else {
      // Who takes a seat over has joined later than those who are there.
      seats.computers.delete(member.name);
      seats.computers.set(member.name, member);
    }
  }
}
