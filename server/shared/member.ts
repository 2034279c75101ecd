import type { Role } from "../../protocol/mod.ts";

/** A member of an office (spec §5). */
export interface Member {
  /** Fixed for its connection by the first join. */
  readonly role: Role;
  /** Unique among the Computers of its office. */
  readonly name: string;
  /** The `office_id` of the wire. */
  readonly office: string;
  /** The Socket.IO id of this member's connection. */
  readonly socket: string;
  /** The `a2c_version` of the request that opened its session. */
  readonly version: string;
  /** Random per client instance, never revealed to other clients; without it, no other client counts as the same. */
  readonly instance: string | undefined;
  /** The authenticated identity of the connection; absent without authentication. */
  readonly principal: string | undefined;
}

/** A member with its seat. */
export interface Seat extends Member {
  /**
   * The step of the registry's history in which it was taken. Each claim that is admitted and each
   * release is one step; a later step has a larger number.
   */
  readonly rev: number;
  /** The node of the holder's connection, where several share the registry. */
  readonly node?: string;
}
