import type { Role } from "../../protocol/mod.ts";
import type { Identity } from "../shared/identity.ts";
import type { Refused } from "./authenticator.ts";
import type { Policy } from "../shared/identity.ts";
import { checkOperatorPolicy } from "../shared/identity.ts";

/** What the principals of tokens begin with. */
export const PRINCIPAL_PREFIX = "jwt:";

/** Seconds by which the clocks of issuer and server may differ. */
export const CLOCK_TOLERANCE_SECONDS = 5;

/**
 * Converts the claims of a verified JWT to an identity (spec §10).
 *
 * `role`, `office_id` and `name` restrict it; each is a string or a list of strings, and `*` in the
 * last two matches any text. An invalid claim is a refusal, since it was meant to restrict something.
 */
export function readClaims(
  claims: Readonly<Record<string, unknown>>,
): Identity | Refused {
  const { sub, exp } = claims;
  if (typeof sub !== "string" || sub === "") {
    return refuse("sub", "a text that is not empty");
  }
  if (typeof exp !== "number") return refuse("exp", "a number");
  const roles = readList(claims.role, isRole);
  if (roles === null) {
    return refuse(
      "role",
      '"agent", "computer" or "operator", or a list of them',
    );
  }
  const offices = readList(claims.office_id, isText);
  if (offices === null) return refuse("office_id", TEXTS);
  const names = readList(claims.name, isText);
  if (names === null) return refuse("name", TEXTS);
  const policy: Policy = {
    ...(roles && { roles }),
    ...(offices && { offices }),
    ...(names && { names }),
  };
  if (checkOperatorPolicy(policy) !== undefined) {
    return refuse(
      "name",
      "absent, as it must be for an operator, who joins nowhere",
    );
  }
  const expiresAt = (exp + CLOCK_TOLERANCE_SECONDS) * 1000; // as long as the token opens sessions
  return { principal: PRINCIPAL_PREFIX + sub, policy, expiresAt };
}

const TEXTS = "a text or a list of texts";

const refuse = (claim: string, expected: string): Refused => ({
  refused: `token refused: claim ${claim} is not ${expected}`,
});

const isRole = (value: unknown): value is Role | "operator" =>
  value === "agent" || value === "computer" || value === "operator";

const isText = (value: unknown): value is string => typeof value === "string";

/** @returns `undefined` when the claim is absent, `null` when it is invalid */
function readList<T>(
  claim: unknown,
  is: (value: unknown) => value is T,
): readonly T[] | undefined | null {
  if (claim === undefined) return undefined;
  const values: unknown[] = Array.isArray(claim) ? claim : [claim];
  return values.every(is) ? values : null;
}
