import { assert } from "@std/assert";
import type { Claim, Joiner, Member } from "../../../server/mod.ts";

/** A connection that has not joined yet. */
export const fresh: Joiner = { role: undefined, member: undefined };

/** What all members know of a seat; others do not learn its instance and principal everywhere. */
export const seen = ({ role, name, office, socket, version }: Member) => ({
  role,
  name,
  office,
  socket,
  version,
});

/** Requires that a claim was admitted. */
export function admitted(claim: Claim): Extract<Claim, { kind: "admit" }> {
  assert(claim.kind === "admit", JSON.stringify(claim));
  return claim;
}
