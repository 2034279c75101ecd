import type { Awaitable } from "../shared/awaitable.ts";
import type { Member } from "../shared/member.ts";
import type { JoinDecision, Joiner } from "./join_rule.ts";

/**
 * Holds the members of every office; the single source of truth (spec §5).
 *
 * A seat is the Agent's of an office, or one Computer's name in it. Rooms of Socket.IO carry
 * broadcasts; they are never asked who is a member.
 */
export interface OfficeRegistry {
  /**
   * Decides with {@linkcode decideJoin} and takes the seat when it admits, in one atomic step.
   *
   * The seat in `leave` stays taken until it is released, so that its office hears of the
   * leave first; the seat of `evict` is the joiner's from this moment.
   *
   * @param capacity how many members the office may have (spec §10)
   */
  claim(
    wanted: Member,
    joiner: Joiner,
    capacity: number,
  ): Awaitable<JoinDecision>;
  /** Releases a seat, unless another socket holds it by now. */
  release(member: Member): Awaitable<void>;
  /** Finds a Computer by its name, in this office only. */
  find(office: string, computer: string): Awaitable<Member | undefined>;
  /** Lists the members of an office: the Agent first, Computers in the order of their joins. */
  list(office: string): Awaitable<Member[]>;
}
