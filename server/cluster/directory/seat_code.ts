import { createHash } from "node:crypto";
import { PROTOCOL_VERSIONS, type ProtocolName } from "../../../protocol/mod.ts";
import type { Seat } from "../../offices/registry.ts";
import type { Member } from "../../shared/member.ts";
import type { Seated } from "./directory.ts";

/**
 * Stands for "the same instance of the same principal" (spec §9): Redis need only compare it, and no
 * `instance_id` can be read there. Empty without an instance, which is the same as no other.
 */
export const claimKey = ({ instance, principal }: Member): string =>
  instance === undefined ? "" : createHash("sha256")
    .update(JSON.stringify([instance, principal ?? null])).digest("base64url");

/** An office of one version, as the end of its key. */
export const officeCode = (protocol: ProtocolName, office: string): string =>
  `${protocol}:${office}`;

/** The seat of a member in its office: one for the Agent, one for each name of a Computer. */
export const slotCode = ({ role, name }: Pick<Member, "role" | "name">) =>
  role === "agent" ? "A" : `C${name}`;

/** What is kept of a member, beside what the scripts need: {@linkcode readSeat} */
export const memberCode = ({ name, version }: Member): string =>
  JSON.stringify([name, version]);

/**
 * Reads a seat as it is kept: `node`, `rev`, socket, claim key, number of the claim, whom it was taken
 * from, and {@linkcode memberCode}, each on a line. Ids have no control characters.
 *
 * The holder's instance and principal are not among them.
 */
export function readSeat(office: string, slot: string, code: string): Seat {
  const [node, rev, socket, , , , rest] = code.split("\n");
  const [name, version] = readStrings(rest);
  if (
    node === undefined || socket === undefined || name === undefined ||
    version === undefined
  ) throw new TypeError(`Cannot read a seat of Redis: ${JSON.stringify(code)}`);
  return {
    role: slot === "A" ? "agent" : "computer",
    name,
    office,
    socket,
    version,
    instance: undefined,
    principal: undefined,
    rev: Number(rev),
    node,
  };
}

/**
 * Reads a place, `PROTOCOL:OFFICE` and the slot on a line each, with who sits there.
 *
 * @returns `undefined` for a version that only a later node serves
 */
export function readSeated(
  place: string,
  code: string,
): Seated<Seat> | undefined {
  const [where = "", slot = ""] = place.split("\n");
  const colon = where.indexOf(":");
  const protocol = where.slice(0, colon);
  if (!isProtocolName(protocol)) return undefined;
  return { protocol, member: readSeat(where.slice(colon + 1), slot, code) };
}

function readStrings(text = "null"): string[] {
  const parsed: unknown = JSON.parse(text);
  return Array.isArray(parsed)
    ? parsed.filter((each) => typeof each === "string")
    : [];
}

const isProtocolName = (text: string): text is ProtocolName =>
  Object.hasOwn(PROTOCOL_VERSIONS, text);
