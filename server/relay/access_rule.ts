import { ErrorCode, ProtocolError, type Role } from "../../protocol/mod.ts";
import type { Policy } from "../shared/identity.ts";
import { restrictsNames } from "../shared/identity.ts";
import type { Member } from "../shared/member.ts";

/** What a request claims about its sender. */
export interface Claim {
  /** The role that may send it, as the event table says. */
  readonly role: Role | "both";
  /** The claimed name: `agent` of an Agent's request, `computer` of a Computer's. */
  readonly name: string;
  /** The office it names, if any. */
  readonly office?: string;
}

/**
 * Decides whether a connection may send a request with a valid payload. Checks membership (4103), role
 * (403), name (403) and office (4104), in this order (spec §5).
 *
 * A Computer must give its own name. An Agent may give any, since released SDKs take it from another
 * setting than the name of the join; the name of its seat is used instead. Credentials that restrict
 * names require the exact name of an Agent, too.
 *
 * @param member the sender's seat, if it has one
 * @param policy what the sender's credentials allow
 * @returns the sender's seat
 * @throws {ProtocolError} with the code of the first check that fails
 */
export function checkAccess(
  member: Member | undefined,
  claim: Claim,
  policy?: Policy,
): Member {
  if (member === undefined) throw notInOffice();
  if (claim.role !== "both" && member.role !== claim.role) {
    throw new ProtocolError(
      ErrorCode.FORBIDDEN,
      `Only ${
        claim.role === "agent" ? "an agent" : "a computer"
      } may send this event`,
    );
  }
  const held = member.role === "computer" ||
    (policy !== undefined && restrictsNames(policy));
  if (held && member.name !== claim.name) {
    throw new ProtocolError(
      ErrorCode.FORBIDDEN,
      `Cannot act for another member: "${member.role}" must be the name you joined with`,
    );
  }
  if (claim.office !== undefined && claim.office !== member.office) {
    throw new ProtocolError(
      ErrorCode.CROSS_ROOM_ACCESS,
      "Cannot reach another office: office_id must be the one you are in",
    );
  }
  return member;
}

/** The error for a connection that is in no office, or no longer in one (spec §5). */
export const notInOffice = (): ProtocolError =>
  new ProtocolError(
    ErrorCode.NOT_IN_ROOM,
    "Not in an office: join one first",
  );
