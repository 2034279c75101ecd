import type { Member, Seat } from "../shared/member.ts";
import type { JoinDecision, Joiner } from "./join_rule.ts";

export type { Seat };

/** The answer to a claim. */
export type Claim =
  | Exclude<JoinDecision, { kind: "admit" }>
  | (Extract<JoinDecision, { kind: "admit" }> & {
    /** The former holder of the seat, if it was taken over. */
    readonly evict?: Seat;
    /** The step of this claim. */
    readonly rev: number;
    /** All seats of the office in this very step, with the joiner's own, where they were asked for. */
    readonly seats?: readonly Seat[];
  });

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
   * seat in `evict` belongs to the joiner immediately. A claim that throws has taken nothing, or
   * takes it back by itself.
   *
   * @param capacity maximum number of members (spec §10)
   * @param withSeats whether the answer has all seats of the office
   */
  claim(
    wanted: Member,
    joiner: Joiner,
    capacity: number,
    withSeats?: boolean,
  ): Claim | Promise<Claim>;
  /**
   * Releases a seat, unless another socket holds it by now.
   *
   * @returns the step of this release; 0 when there was nothing to release
   */
  release(member: Member): number | Promise<number>;
  /** Lists the members of an office: the Agent first, Computers in the order of their joins. */
  list(office: string): readonly Seat[] | Promise<readonly Seat[]>;
}
