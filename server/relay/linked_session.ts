import type { Session } from "../shared/session.ts";
import type { Link } from "../wire/mod.ts";

/** A session to which requests can be sent. */
export interface LinkedSession extends Session {
  /** Its events and acks. */
  readonly link: Link;
}
