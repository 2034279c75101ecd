/** A moment, as two clocks tell it, in milliseconds. */
export interface Instant {
  /** `performance.now()`: it never jumps, but may stand still while a machine sleeps. */
  readonly steady: number;
  /** `Date.now()`: it goes on while a machine sleeps, but may be set. */
  readonly wall: number;
}

/** The times of a lease; the same for all nodes of a cluster. */
export interface LeaseTimes {
  /** How often a lease is renewed. */
  readonly beatMs: number;
  /** How long it is valid: longer than a fail-over of Redis takes. */
  readonly leaseMs: number;
}

/** The times where an operator names no others. */
export const LEASE_TIMES: LeaseTimes = { beatMs: 3000, leaseMs: 15_000 };

/** A node stops so long before others may be given its seats. */
const MARGIN_MS = 1000;

/** When a beat has failed, the next one does not wait for its turn. */
const RETRY_MS = 500;

/** What a node may do by its lease. */
export type LeaseState =
  /** It serves. */
  | "valid"
  /** Its clocks disagree: it refuses what is asked of it until a beat was answered. */
  | "doubtful"
  /** Others may have its seats: it closes the connections of all clients. */
  | "over";

/**
 * Knows when a node may serve (the other half is Redis, which gives nobody a seat of a living node).
 *
 * It has no clock and no timer: whoever uses it tells the time, and asks at each event, since a
 * process that was frozen runs its timers late. The lease is counted from before its beat was sent;
 * Redis counts from when it arrived, which is later.
 */
export class Lease {
  readonly #times: LeaseTimes;
  #sent: Instant | undefined;
  #next = -Infinity;

  /** @throws {RangeError} when too few beats fit into a lease */
  constructor(times: LeaseTimes = LEASE_TIMES) {
    const { beatMs, leaseMs } = times;
    if (!(beatMs > 0 && leaseMs - MARGIN_MS >= 3 * beatMs)) {
      throw new RangeError(
        `A lease of ${leaseMs} ms is too short for a beat each ${beatMs} ms: it must be at least ${
          3 * beatMs + MARGIN_MS
        } ms`,
      );
    }
    this.#times = times;
  }

  /**
   * Notes that a beat was answered, and renewed the lease.
   *
   * @param sent the moment before it was sent
   */
  renewed(sent: Instant): void {
    this.#sent = sent;
    this.#next = sent.steady + this.#times.beatMs;
  }

  /** Notes that a beat has failed, or was not answered in time. */
  failed(now: Instant): void {
    this.#next = now.steady + RETRY_MS;
  }

  /** Ends it: the node was told that others have its seats, or it has left. */
  end(): void {
    this.#sent = undefined;
    this.#next = Infinity;
  }

  /** Tells what the node may do; `over` before the first beat. */
  state(now: Instant): LeaseState {
    if (this.#sent === undefined) return "over";
    const limit = this.#times.leaseMs - MARGIN_MS;
    if (now.steady - this.#sent.steady >= limit) return "over";
    const wall = now.wall - this.#sent.wall;
    return wall >= limit ? "doubtful" : "valid";
  }

  /** In how many milliseconds the next beat is due; 0 at once; infinite after {@linkcode end}. */
  untilBeat(now: Instant): number {
    return this.state(now) === "doubtful"
      ? 0
      : Math.max(0, this.#next - now.steady);
  }

  /** In how many milliseconds the lease is over, if no beat is answered until then; 0 when it is. */
  untilOver({ steady }: Instant): number {
    if (this.#sent === undefined) return 0;
    const end = this.#sent.steady + this.#times.leaseMs - MARGIN_MS;
    return Math.max(0, end - steady);
  }
}

/** Reads both clocks. */
export const readClocks = (): Instant => ({
  steady: performance.now(),
  wall: Date.now(),
});
