import type { Role } from "../../protocol/mod.ts";
import type { Member } from "../shared/member.ts";

/** The state of a connection before it joins. */
export interface Joiner {
  /** Declared at connect or fixed by the first join, also after leaving. */
  readonly role: Role | undefined;
  /** The seat that this connection holds now. */
  readonly member: Member | undefined;
}

/** How the server must handle a join. */
export type JoinDecision =
  /** The seat is the joiner's: `leave` its old office first, then disconnect `evict`. */
  | { kind: "admit"; leave?: Member; evict?: Member }
  /** The joiner already holds this seat: no notification. */
  | { kind: "already-member" }
  /** The reason, as a message for people; `full` when the office has no free seat. */
  | { kind: "refuse"; reason: string; full?: true };

/** What the office says to a joiner that may take a seat somewhere. */
export type SeatDecision =
  | { kind: "admit"; evict?: Member }
  | Extract<JoinDecision, { kind: "refuse" }>;

/**
 * Decides whether a connection may join an office (spec §5, §9).
 *
 * Has no side effects: a registry applies the decision in the same step in which it read `holder`,
 * which makes the claim of a seat atomic.
 *
 * @param wanted the requested seat
 * @param joiner the current state of the connection
 * @param holder the current holder of the requested seat (the Agent's, or the Computer's name)
 * @param full whether the office has its maximum of members; taking over a seat is still possible
 */
export function decideJoin(
  wanted: Member,
  joiner: Joiner,
  holder: Member | undefined,
  full = false,
): JoinDecision {
  const decision = judgeJoiner(wanted, joiner) ??
    judgeSeat(wanted, holder, full);
  const { member } = joiner;
  return decision.kind === "admit" && member
    ? { ...decision, leave: member }
    : decision;
}

/**
 * Decides what the state of the connection alone decides.
 *
 * @returns `undefined` when it may take the seat if its office agrees
 */
export function judgeJoiner(
  wanted: Member,
  { role, member }: Joiner,
): Exclude<JoinDecision, { kind: "admit" }> | undefined {
  if (role !== undefined && role !== wanted.role) {
    return refuse(
      `Cannot join as ${wanted.role}: the role of this connection is ${role}`,
    );
  }
  if (member?.office === wanted.office) {
    return member.name === wanted.name ? { kind: "already-member" } : refuse(
      `Cannot join under another name: this connection is in the office as ${
        JSON.stringify(member.name)
      }`,
    );
  }
  if (member?.role === "agent") {
    return refuse(
      "Cannot join a second office: an agent is in one office at a time, leave the other first",
    );
  }
  return undefined;
}

/** Decides what the office alone decides; a registry elsewhere must agree with it in each case. */
export function judgeSeat(
  wanted: Member,
  holder: Member | undefined,
  full: boolean,
): SeatDecision {
  if (holder && !isSameInstance(holder, wanted)) return seatTaken(wanted);
  if (full && holder === undefined) return officeFull();
  return { kind: "admit", ...(holder && { evict: holder }) };
}

/** The refusal where somebody else has the seat. */
export const seatTaken = (wanted: Member): Refusal =>
  refuse(
    wanted.role === "agent"
      ? "Room already has an agent"
      : `Computer ${JSON.stringify(wanted.name)} already exists in the room`,
  );

/** The refusal where no seat is free. */
export const officeFull = (): Refusal => ({
  ...refuse("Room is full: it has as many members as this server allows"),
  full: true,
});

type Refusal = Extract<JoinDecision, { kind: "refuse" }>;

const refuse = (reason: string): Refusal => ({ kind: "refuse", reason });

/** Another principal with the same instance id has guessed it (spec §9). */
const isSameInstance = (a: Member, b: Member): boolean =>
  a.instance !== undefined && a.instance === b.instance &&
  a.principal === b.principal;
