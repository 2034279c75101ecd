import type { Role } from "../../protocol/mod.ts";

/** A member of an office (spec §5). */
export interface Member {
  /** Fixed for its connection by the first join. */
  readonly role: Role;
  /** Unique among the Computers of its office. */
  readonly name: string;
  /** The `office_id` of the wire. */
  readonly office: string;
  /** The Socket.IO id that speaks for this member. */
  readonly socket: string;
  /** The `a2c_version` of the request that opened its session. */
  readonly version: string;
  /** Random per client instance, never shown to anybody; absent means "never the same as another". */
  readonly instance: string | undefined;
  /** The authenticated identity of the connection; absent without authentication. */
  readonly principal: string | undefined;
}
