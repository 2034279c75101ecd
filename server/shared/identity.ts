import type { Role } from "../../protocol/mod.ts";

/** An authenticated client, and what it may do. */
export interface Identity {
  /** Names the holder of the credentials, in logs too; the same one may take its own seat over (spec §9). */
  readonly principal: string;
  /** Asked at every join; absent allows everything (spec §10). */
  readonly policy?: Policy;
  /** Milliseconds since 1970 at which the session ends, and from which joins are refused; absent means never. */
  readonly expiresAt?: number;
}

/** What a client may join as; an absent field allows everything but to operate (spec §10). */
export interface Policy {
  /**
   * Allowed roles; `"operator"` joins nowhere, but may use the operator API. That it must be named: the
   * absence of this field does not allow it.
   */
  readonly roles?: readonly (Role | "operator")[];
  /** Patterns of allowed offices, for an operator of those it sees; `*` matches any text. */
  readonly offices?: readonly string[];
  /** Patterns of allowed names of members; `*` matches any text. They say nothing of an operator. */
  readonly names?: readonly string[];
}
