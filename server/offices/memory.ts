import type { Member } from "../shared/member.ts";
import { decideJoin, type JoinDecision, type Joiner } from "./join_rule.ts";
import type { OfficeRegistry } from "./registry.ts";

interface Seats {
  agent: Member | undefined;
  readonly computers: Map<string, Member>;
}

/** An {@linkcode OfficeRegistry} in memory, for a single node; an office exists while it has members. */
export class MemoryRegistry implements OfficeRegistry {
  readonly #offices = new Map<string, Seats>();

  /** Decides and takes the seat in one synchronous step. */
  claim(
    wanted: Member,
    joiner: Joiner,
    capacity: number = Infinity,
  ): JoinDecision {
    const full = this.#size(wanted.office) >= capacity;
    const decision = decideJoin(wanted, joiner, this.#holder(wanted), full);
    if (decision.kind === "admit") this.#seat(wanted);
    return decision;
  }

  /** Releases a seat, unless another socket holds it by now. */
  release(member: Member): void {
    if (this.#holder(member)?.socket !== member.socket) return;
    const seats = this.#offices.get(member.office);
    if (seats === undefined) return;
    if (member.role === "agent") seats.agent = undefined;
    else seats.computers.delete(member.name);
    if (seats.agent === undefined && seats.computers.size === 0) {
      this.#offices.delete(member.office);
    }
  }

  /** Finds a Computer by its name, in this office only. */
  find(office: string, computer: string): Member | undefined {
    return this.#offices.get(office)?.computers.get(computer);
  }

  /** Lists the members of an office, the Agent first. */
  list(office: string): Member[] {
    const seats = this.#offices.get(office);
    if (seats === undefined) return [];
    return [...(seats.agent ? [seats.agent] : []), ...seats.computers.values()];
  }

  #holder({ office, role, name }: Member): Member | undefined {
    const seats = this.#offices.get(office);
    return role === "agent" ? seats?.agent : seats?.computers.get(name);
  }

  #size(office: string): number {
    const seats = this.#offices.get(office);
    return seats ? seats.computers.size + (seats.agent ? 1 : 0) : 0;
  }

  #seat(member: Member): void {
    let seats = this.#offices.get(member.office);
    if (seats === undefined) {
      seats = { agent: undefined, computers: new Map() };
      this.#offices.set(member.office, seats);
    }
    if (member.role === "agent") seats.agent = member;
    else seats.computers.set(member.name, member);
  }
}
