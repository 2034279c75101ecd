/**
 * Who a client is, and what its policy lets it join, use and operate (protocol §10): pure rules.
 *
 * @module
 */
import type { Role } from "../../protocol/mod.ts";
import { isWellFormed } from "../../protocol/names.ts";
import type { NamesOf } from "../../shared/checks.ts";
import type { CallSource } from "../../shared/gateway.ts";

/** An authenticated client, and what it may do. */
export interface Identity {
  /** Names the holder of the credentials, in logs too; the same one may take its own seat over (protocol §9). */
  readonly principal: string;
  /** Checked at every join; absent allows everything (protocol §10). */
  readonly policy?: Policy;
  /** Milliseconds since 1970 at which the session ends, and from which joins are refused; absent means never. */
  readonly expiresAt?: number;
  /** Who sends a request in its name, for the audit log: an MCP client, whose Agent is the gateway's. */
  readonly caller?: CallSource;
}

/** What a client may join as; an absent field allows everything but to operate (protocol §10). */
export interface Policy {
  /**
   * Allowed roles; `"operator"` joins nowhere, but may use the operator API. That it must be named: the
   * absence of this field does not allow it.
   */
  readonly roles?: readonly (Role | "operator")[];
  /** Patterns of allowed offices, for an operator of those it sees; `*` matches any text. */
  readonly offices?: readonly string[];
  /** Patterns of allowed names of members; `*` matches any text. They do not apply to an operator. */
  readonly names?: readonly string[];
}

/** The names of {@linkcode Policy}. */
export const POLICY_NAMES = {
  roles: true,
  offices: true,
  names: true,
} satisfies NamesOf<Policy>;

/** The names of {@linkcode Identity}. */
export const IDENTITY_NAMES = {
  principal: true,
  policy: POLICY_NAMES,
  expiresAt: true,
  caller: {
    principal: true,
    client: true,
    grant: true,
  } satisfies NamesOf<CallSource>,
} satisfies NamesOf<Identity>;

/** The seat of a member, or the one that a join requests. */
export interface MemberSeat {
  readonly role: Role;
  readonly office: string;
  readonly name: string;
}

/**
 * Decides whether an identity may join (protocol §10).
 *
 * @param now milliseconds since 1970
 * @returns why not, as a message for people, or `undefined` when it may
 */
export function checkIdentity(
  { policy, expiresAt }: Identity,
  wanted: MemberSeat,
  now: number,
): string | undefined {
  if (expiresAt !== undefined && now >= expiresAt) {
    return "The credentials have expired: connect again with new ones";
  }
  return policy && checkPolicy(policy, wanted);
}

/**
 * Decides whether an identity may use an office through a gateway, whose Agent sits there: as that of
 * an Agent of its own, except for the name, which is the gateway's.
 *
 * @param now milliseconds since 1970
 * @returns as {@linkcode checkIdentity}
 */
export function checkGatewayUse(
  { policy: { names: _, ...policy } = {}, ...identity }: Identity,
  office: string,
  now: number,
): string | undefined {
  const wanted = { role: "agent", office, name: "" } as const;
  return checkIdentity({ ...identity, policy }, wanted, now);
}

/**
 * Decides whether a policy allows a join (protocol §10).
 *
 * @returns why not, as a message for people, or `undefined` when it does
 */
export function checkPolicy(
  { roles, offices, names }: Policy,
  { role, office, name }: MemberSeat,
): string | undefined {
  if (roles && !roles.includes(role)) {
    return `Not allowed to join as ${role}: the credentials are for ${
      roles.join(" and ") || "no role"
    }`;
  }
  if (offices && !offices.some((pattern) => matches(pattern, office))) {
    return "Not allowed to join this office";
  }
  if (names && !names.some((pattern) => matches(pattern, name))) {
    return `Not allowed to join under the name ${JSON.stringify(name)}`;
  }
  return undefined;
}

/** Returns whether a policy lets its holder use the operator API: it must name the role. */
export const mayOperate = (policy: Policy | undefined): boolean =>
  policy?.roles?.includes("operator") === true;

/** Returns whether an operator sees an office. */
export const seesOffice = ({ offices }: Policy, office: string): boolean =>
  offices === undefined || offices.some((pattern) => matches(pattern, office));

/** Returns whether an operator sees every office, whatever its name: what concerns all is for it alone. */
export const seesAll = ({ offices }: Policy): boolean =>
  offices === undefined || offices.includes("*");

/**
 * Checks that what restricts an operator can restrict it.
 *
 * @returns what is wrong, and what to do; `undefined` when nothing is
 */
export const checkOperatorPolicy = (
  { roles, names }: Policy,
): string | undefined =>
  names !== undefined && roles?.every((role) => role === "operator")
    ? '"names" restricts who joins, and an operator joins nowhere: restrict it with "offices", or leave "names" out'
    : undefined;

/**
 * Checks that each pattern of a policy is well-formed Unicode, as every name is: a lone surrogate would
 * match a half of a character.
 *
 * @returns what is wrong, and what to do; `undefined` when nothing is
 */
export function checkPatterns(
  { offices = [], names = [] }: Policy,
): string | undefined {
  const [field] = Object.entries({ offices, names })
    .find(([, patterns]) => !patterns.every(isWellFormed)) ?? [];
  return field &&
    `"${field}" has a lone surrogate, which no name has: write the whole character, or "*"`;
}

/** Returns whether a policy restricts the names of its members. */
export const restrictsNames = ({ names }: Policy): boolean =>
  names !== undefined && !names.includes("*");

/** Returns whether the whole text matches a pattern; `*` matches any text, and nothing else is special. */
export function matches(pattern: string, text: string): boolean {
  const [head = "", ...middle] = pattern.split("*");
  const tail = middle.pop();
  if (tail === undefined) return text === pattern;
  if (!text.startsWith(head)) return false;
  // Not a regular expression: this is linear for any pattern.
  let at = head.length;
  for (const part of middle) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - tail.length >= at && text.endsWith(tail);
}

/** A time as the field `expires` of an API key holds it: with its zone, so that it is the same everywhere. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/**
 * Parses the time at which a key expires.
 *
 * @returns milliseconds since 1970; `undefined` when it is none
 */
export function parseExpiry(text: string): number | undefined {
  const time = TIME.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(time) ? undefined : time;
}
