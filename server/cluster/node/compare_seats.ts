import type { Seat } from "../../shared/member.ts";
import type { Seated } from "../directory/directory.ts";

/** What a node has to do, so that the directory has its members and nobody else. */
export interface SeatComparison {
  /** Members here without a seat in the directory. */
  readonly missing: readonly Seated<Seat>[];
  /** Seats that nobody here holds, the second time. */
  readonly unheld: readonly Seated<Seat>[];
  /** Seats that nobody here holds, for the first time: a join may be on its way. */
  readonly suspects: ReadonlySet<string>;
}

/**
 * Compares the members of a node with its seats in the directory.
 *
 * Joins and leaves go on meanwhile: a join has its seat first and is a member later, who leaves is no
 * member first and releases its seat later.
 *
 * @param before the members before the directory was asked
 * @param after the members after it has answered
 * @param own the node's seats in the directory
 * @param suspects the last comparison's, at least a beat ago
 */
export function compareSeats(
  before: readonly Seated<Seat>[],
  after: readonly Seated<Seat>[],
  own: readonly Seated<Seat>[],
  suspects: ReadonlySet<string>,
): SeatComparison {
  const wasThere = new Set(before.map(keyOf));
  const isThere = new Set(after.map(keyOf));
  const isOwn = new Set(own.map(keyOf));
  const unheld = own.filter((seat) => {
    const key = keyOf(seat);
    return !wasThere.has(key) && !isThere.has(key);
  });
  const stillUnheld = (seat: Seated<Seat>) => suspects.has(claimOf(seat));
  return {
    missing: after.filter((seat) => {
      const key = keyOf(seat);
      return wasThere.has(key) && !isOwn.has(key);
    }),
    unheld: unheld.filter(stillUnheld),
    suspects: new Set(
      unheld.filter((seat) => !stillUnheld(seat)).map(claimOf),
    ),
  };
}

const keyOf = (
  { protocol, member: { office, role, name, socket } }: Seated<Seat>,
): string => JSON.stringify([protocol, office, role, name, socket]);

/** A seat that was released and taken again has another step. */
const claimOf = (seat: Seated<Seat>): string =>
  `${seat.member.rev} ${keyOf(seat)}`;
