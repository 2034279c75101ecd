import type { ProtocolName } from "../../../protocol/mod.ts";
import type { OfficeRegistry, Seat } from "../../offices/registry.ts";
import type { Member } from "../../shared/member.ts";

/** A member of an office of one protocol version. */
export interface Seated<M extends Member = Member> {
  /** The version; offices of different versions never meet (0.4 §18). */
  readonly protocol: ProtocolName;
  /** The member. */
  readonly member: M;
}

/** What a node learns when it renews its lease. */
export type Beat =
  /** The lease is renewed. */
  | {
    readonly state: "ok";
    /** Whether the data was lost since the last beat: all seats must be claimed again. */
    readonly emptied: boolean;
    /** The number of seats that this node holds. */
    readonly seats: number;
    /** All nodes whose lease has not ended, without this one, with what they tell of themselves. */
    readonly nodes: ReadonlyMap<string, string>;
    /** Members of nodes whose lease has ended, told to one caller only, who tells their offices. */
    readonly gone: readonly Seated<Seat>[];
  }
  /** The lease has ended, and the seats of this node are free: others were told that its members left. */
  | { readonly state: "reaped" };

/** Who sits where, and which nodes live: what all nodes of a cluster share. */
export interface Directory extends AsyncDisposable {
  /** This node: random at each start. */
  readonly node: string;
  /** Returns the seats of the offices of one protocol version. */
  registry(protocol: ProtocolName): OfficeRegistry;
  /**
   * Renews the lease of this node; the first one takes it.
   *
   * @param about what this node tells of itself
   */
  beat(about: string): Promise<Beat>;
  /**
   * Frees the seats of a node whose process is proved to have ended, at most 500 in one step.
   *
   * @returns all members that sat there, each to one caller only
   */
  reap(node: string): Promise<readonly Seated<Seat>[]>;
  /** Lists the seats of this node. */
  own(): Promise<readonly Seated<Seat>[]>;
  /**
   * Takes a seat again after the data was lost.
   *
   * @returns the seat that it holds now; `undefined` when another has taken it
   */
  restore(seat: Seated<Seat>): Promise<Seat | undefined>;
  /** Gives up the lease, when no seats are left: nobody has to reap this node. */
  leave(): Promise<void>;
}
