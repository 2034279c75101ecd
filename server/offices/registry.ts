import type { Member } from "../shared/member.ts";
import type { JoinDecision, Joiner } from "./join_rule.ts";

/**
 * Stores the members of every office; the single source of truth (spec §5).
 *
 * An office has one seat for its Agent, and one for each name of a Computer. Socket.IO rooms are only
 * used for broadcasts, never to determine membership.
 */
export interface OfficeRegistry {
  /**
   * Decides with {@linkcode decideJoin} and takes the seat when it admits, in one atomic step.
   *
   * The seat in `leave` stays taken until it is released, so that its office is notified first; the
   * seat in `evict` belongs to the joiner immediately.
   *
   * @param capacity maximum number of members (spec §10)
   */
  claim(
    wanted: Member,
    joiner: Joiner,
    capacity: number,
  ): JoinDecision | Promise<JoinDecision>;
  /** Releases a seat, unless another socket holds it by now. */
  release(member: Member): void | Promise<void>;
  /** Finds a Computer by its name, in this office only. */
  find(
    office: string,
    computer: string,
  ): Member | undefined | Promise<Member | undefined>;
  /** Lists the members of an office: the Agent first, Computers in the order of their joins. */
  list(office: string): Member[] | Promise<Member[]>;
}
