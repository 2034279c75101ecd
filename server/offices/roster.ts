import type { Seat } from "../shared/member.ts";

/** What the members of an office are told of a seat. */
export interface SeatChange {
  /** Whether its holder came or went. */
  readonly kind: "enter" | "leave";
  /** The seat. */
  readonly seat: Seat;
}

/** How many seats that were left are remembered, against notices that come late. */
const MAX_LEFT = 1000;

interface Known {
  readonly seat: Seat;
  /** When it became known, in this roster's own count. */
  readonly stamp: number;
}

/**
 * Who sits in an office, as far as one node knows.
 *
 * Notices of different nodes arrive in any order, and may arrive twice. The step in which a seat was
 * taken decides which of two is newer: whoever applies the same notices ends with the same office,
 * and its members never hear of a leave without an enter. Has no side effects.
 */
export class Roster {
  readonly #seats = new Map<string, Known>();
  readonly #left = new Map<string, number>();
  #stamp = 0;

  /** The number of changes so far, for {@linkcode Roster.load}. */
  get stamp(): number {
    return this.#stamp;
  }

  /** Returns the seats, in the order in which they became known. */
  seats(): Seat[] {
    return Array.from(this.#seats.values(), ({ seat }) => seat);
  }

  /** Finds a Computer by its name. */
  computer(name: string): Seat | undefined {
    return this.#seats.get(COMPUTER + name)?.seat;
  }

  /** Returns whether this very seat is taken. */
  has(seat: Seat): boolean {
    return this.#seats.get(slotOf(seat))?.seat.rev === seat.rev;
  }

  /** A seat was taken; one that was taken over leaves first. Older news change nothing. */
  enter(seat: Seat): SeatChange[] {
    const slot = slotOf(seat);
    const known = this.#seats.get(slot)?.seat;
    const newest = known?.rev ?? this.#left.get(slot) ?? 0;
    if (newest >= seat.rev) return [];
    this.#left.delete(slot);
    this.#seats.delete(slot); // the order of the seats is that of their joins
    this.#seats.set(slot, { seat, stamp: ++this.#stamp });
    const entered: SeatChange = { kind: "enter", seat };
    return known ? [{ kind: "leave", seat: known }, entered] : [entered];
  }

  /** A seat was left; nothing changes if it was taken again since. */
  leave(seat: Seat): SeatChange[] {
    const slot = slotOf(seat);
    const known = this.#seats.get(slot)?.seat;
    if (known && known.rev > seat.rev) return [];
    this.#seats.delete(slot);
    const before = this.#left.get(slot) ?? 0;
    this.#remember(slot, Math.max(seat.rev, before));
    return known ? [{ kind: "leave", seat: known }] : [];
  }

  /**
   * Compares the office with what the registry has, after notices may have been missed.
   *
   * @param seats the office in the registry
   * @param since the stamp before the registry was asked; what was heard later is newer
   * @param isLocal whether a seat is of this node, which knows best
   */
  load(
    seats: readonly Seat[],
    since: number,
    isLocal: (seat: Seat) => boolean,
  ): SeatChange[] {
    const there = new Set(seats.map(slotOf));
    const gone = [...this.#seats].filter(([slot, { seat, stamp }]) =>
      stamp <= since && !there.has(slot) && !isLocal(seat)
    );
    return [
      ...gone.flatMap(([, { seat }]) => this.leave(seat)),
      ...seats.filter((seat) => !isLocal(seat))
        .flatMap((seat) => this.enter(seat)),
    ];
  }

  #remember(slot: string, rev: number): void {
    this.#left.delete(slot);
    this.#left.set(slot, rev);
    if (this.#left.size <= MAX_LEFT) return;
    for (const oldest of this.#left.keys()) {
      this.#left.delete(oldest);
      return;
    }
  }
}

const COMPUTER = "C";

/** There is one seat for the Agent, whatever its name. */
const slotOf = ({ role, name }: Seat): string =>
  role === "agent" ? "A" : COMPUTER + name;
