import type { Role } from "../../protocol/mod.ts";
import type { OwnSeat } from "./connection.ts";
import type { Peer, Refusal, Seat, Seated, WantedSeat } from "./peer.ts";

/**
 * Decides what the state of the connection alone decides about a join (spec §5).
 *
 * @param fixed the role that was declared at connect or fixed by the first join, also after leaving
 * @param own the seat that the connection holds
 * @returns its own seat where it joins that again, of which nobody is notified; `undefined` when it may
 *   have the seat if the office agrees
 */
export function judgeJoiner(
  { role, name, office }: WantedSeat,
  fixed: Role | undefined,
  own: OwnSeat | undefined,
): Refusal | Seat | undefined {
  if (fixed !== undefined && fixed !== role) {
    return {
      refused:
        `Cannot join as ${role}: the role of this connection is ${fixed}`,
    };
  }
  if (own?.office === office) {
    return own.name === name ? own.seat : {
      refused:
        `Cannot join under another name: this connection is in the office as ${
          JSON.stringify(own.name)
        }`,
    };
  }
  if (own?.role === "agent") {
    return {
      refused:
        "Cannot join a second office: an agent is in one office at a time, leave the other first",
    };
  }
  return undefined;
}

/**
 * Decides what the office alone decides about a join (spec §5, §9, §10).
 *
 * @param holder has the seat now: that of the Agent, or of the Computer with the name
 * @param isFull whether the office has as many members as it may; a seat can still be taken over
 * @returns why not, or `undefined` when the peer gets the seat, and the holder loses it
 */
export function judgeSeat(
  peer: Peer,
  { role, name }: WantedSeat,
  holder: Seated | undefined,
  isFull: boolean,
): Refusal | undefined {
  if (holder === undefined) return isFull ? ROOM_FULL : undefined;
  if (isSameInstance(holder.peer, peer)) return undefined;
  return role === "agent"
    ? { refused: AGENT_SEAT_TAKEN, holder: holder.name }
    : {
      refused: `Computer ${JSON.stringify(name)} already exists in the room`,
    };
}

/** The reason when the office has another Agent. */
export const AGENT_SEAT_TAKEN = "Room already has an agent";

/** The refusal when every seat is taken. */
export const ROOM_FULL: Refusal = {
  refused: "Room is full: it has as many members as this server allows",
};

/** Another principal with the same instance id has guessed it (spec §9). */
const isSameInstance = (a: Peer, b: Peer): boolean =>
  a.instance !== undefined && a.instance === b.instance &&
  a.identity?.principal === b.identity?.principal;
