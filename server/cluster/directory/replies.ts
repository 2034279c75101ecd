import type { Seat } from "../../offices/registry.ts";
import type { Reply } from "../redis/redis.ts";
import { readSeat } from "./seat_code.ts";

/** Reads an answer that must be a list. */
export function listOf(reply: Reply | undefined): readonly Reply[] {
  if (Array.isArray(reply)) return reply;
  throw new TypeError(`Redis answers ${typeof reply} instead of a list`);
}

/** Reads a list in which names and values take turns. */
export function pairsOf(
  list: readonly Reply[],
): readonly (readonly [string, string])[] {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < list.length; index += 2) {
    pairs.push([String(list[index]), String(list[index + 1])]);
  }
  return pairs;
}

/** Reads the seats of an office: the Agent first, Computers in the order of their joins. */
export const seatsOf = (office: string, list: readonly Reply[]): Seat[] =>
  pairsOf(list)
    .map(([slot, code]) => readSeat(office, slot, code))
    .toSorted((a, b) => rank(a) - rank(b) || a.rev - b.rev);

const rank = ({ role }: Seat): number => role === "agent" ? 0 : 1;
