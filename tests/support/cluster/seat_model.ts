import { decideJoin, type Joiner, type Member } from "../../../server/mod.ts";
import { member } from "../member.ts";

/** A connection to a node of a history. */
export interface Place {
  readonly node: number;
  readonly connection: number;
}

/** What happens in a history; each step is one question to the registry. */
export type Step =
  | (Place & {
    readonly kind: "claim";
    readonly role: "agent" | "computer";
    readonly name: string;
    readonly office: string;
    readonly capacity: number;
  })
  | (Place & { readonly kind: "release" })
  /** A release of a seat that was taken over, or that never was. */
  | (Place & {
    readonly kind: "release other";
    readonly role: "agent" | "computer";
    readonly name: string;
    readonly office: string;
  })
  /** The lease of a node ends; nobody notices at first. */
  | { readonly kind: "expire"; readonly node: number }
  | { readonly kind: "reap"; readonly by: number; readonly node: number };

/** What a step answers. */
export type Outcome =
  | { readonly kind: "fenced" }
  | { readonly kind: "already-member" }
  | { readonly kind: "refuse"; readonly reason: string; readonly full?: true }
  | { readonly kind: "admit"; readonly evict?: string; readonly leave?: string }
  | { readonly kind: "released" | "nothing" }
  | { readonly kind: "told"; readonly left: readonly string[] };

/** Who has come with which instance of which principal. */
const INSTANCES = [
  [undefined, undefined],
  ["i", "me"],
  ["i", "me"],
  ["i", "you"],
] as const;

/** The number of connections that differ. */
export const CONNECTIONS: number = INSTANCES.length;

const NOBODY: Joiner = { role: undefined, member: undefined };

interface Taken {
  readonly member: Member;
  readonly node: number;
}

/** What {@linkcode decideJoin} makes of a history, with the seats in plain maps. */
export class SeatModel {
  readonly #offices = new Map<string, Map<string, Taken>>();
  readonly #joiners = new Map<string, Joiner>();
  readonly #dead = new Set<number>();
  readonly #told = new Map<number, string[]>();
  /** By office: the last Agent of a node that is only said to have ended. */
  readonly #held = new Map<string, Member>();

  /** What a connection asks for, as a member. */
  wanted(
    { node, connection }: Place,
    seat: Pick<Member, "role" | "name" | "office">,
  ): Member {
    const [instance, principal] = INSTANCES[connection] ?? INSTANCES[0];
    const socket = `${node}.${connection}`;
    return member({ ...seat, socket, instance, principal });
  }

  /** The state of a connection. */
  joiner(step: Step): Joiner {
    if (!("connection" in step)) return NOBODY;
    const { node, connection } = step;
    return this.#joiners.get(`${node}.${connection}`) ??
      NOBODY;
  }

  /** Applies a step. */
  apply(step: Step): Outcome {
    switch (step.kind) {
      case "claim":
        return this.#claim(step);
      case "release": {
        const { member } = this.joiner(step);
        return member ? this.#release(step, member) : { kind: "nothing" };
      }
      case "release other":
        return this.#release(step, this.wanted(step, step));
      case "expire":
        this.#dead.add(step.node);
        return { kind: "nothing" };
      case "reap":
        return this.#reap(step.by, step.node);
    }
  }

  /** The sockets of an office whose nodes live: the Agent first, then by their joins. */
  list(office: string): string[] {
    const seats = [...this.#offices.get(office)?.values() ?? []]
      .filter(({ node }) => !this.#dead.has(node))
      .map(({ member }) => member);
    const [agents, computers] = [true, false].map((isAgent) =>
      seats.filter(({ role }) => (role === "agent") === isAgent)
    );
    return [...agents ?? [], ...computers ?? []].map(({ socket }) => socket);
  }

  /** Whether a node has a lease. */
  lives(node: number): boolean {
    return !this.#dead.has(node);
  }

  #claim(step: Extract<Step, { kind: "claim" }>): Outcome {
    const wanted = this.wanted(step, step);
    const joiner = this.joiner(step);
    const seats = this.#seats(wanted.office);
    const before = seats.get(slot(wanted));
    const holder = before && this.lives(before.node) ? before : undefined;
    const full = this.list(wanted.office).length >= step.capacity;
    const held = wanted.role === "agent" && !holder
      ? this.#held.get(wanted.office)
      : undefined;
    const barred = held && decideJoin(wanted, joiner, held);
    const decision = barred?.kind === "refuse"
      ? barred
      : decideJoin(wanted, joiner, holder?.member, full);
    // What the connection alone decides needs no Redis.
    const alone = decideJoin(wanted, joiner, undefined);
    if (!this.lives(step.node) && alone.kind === "admit") {
      return { kind: "fenced" };
    }
    if (decision.kind !== "admit") return decision;
    if (holder) this.#joiners.delete(holder.member.socket);
    seats.delete(slot(wanted));
    seats.set(slot(wanted), { member: wanted, node: step.node });
    this.#joiners.set(wanted.socket, { role: wanted.role, member: wanted });
    if (joiner.member) {
      this.#seats(joiner.member.office).delete(slot(joiner.member));
    }
    return {
      kind: "admit",
      ...(before && { evict: before.member.socket }),
      ...(joiner.member && { leave: joiner.member.office }),
    };
  }

  #release(place: Place, { role, name, office }: Member): Outcome {
    const wanted = this.wanted(place, { role, name, office });
    const seats = this.#seats(office);
    const held = seats.get(slot(wanted));
    if (held?.member.socket !== wanted.socket || !this.lives(place.node)) {
      return { kind: "nothing" };
    }
    seats.delete(slot(wanted));
    this.#joiners.set(wanted.socket, { role: wanted.role, member: undefined });
    return { kind: "released" };
  }

  #reap(by: number, node: number): Outcome {
    if (!this.lives(by) || by === node) return { kind: "fenced" };
    const isProofAlone = this.lives(node);
    this.#dead.add(node);
    // What the dead one was told, but may not have passed on, is told again.
    const left = this.#told.get(node) ?? [];
    this.#told.delete(node);
    for (const seats of this.#offices.values()) {
      for (const [slot, taken] of seats) {
        if (taken.node !== node) continue;
        seats.delete(slot);
        const { role, office } = taken.member;
        if (isProofAlone && role === "agent") {
          this.#held.set(office, taken.member);
        }
        left.push(taken.member.socket);
      }
    }
    this.#told.set(by, [...this.#told.get(by) ?? [], ...left]);
    return { kind: "told", left: left.sort() };
  }

  #seats(office: string): Map<string, Taken> {
    const seats = this.#offices.get(office) ?? new Map<string, Taken>();
    this.#offices.set(office, seats);
    return seats;
  }
}

const slot = ({ role, name }: Member): string => role === "agent" ? "" : name;
