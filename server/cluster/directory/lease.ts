import type { Instant } from "./clock.ts";

/** How long a lease is valid where an operator sets no other time. */
export const LEASE_MS = 6000;

/** A lease is renewed so often in its time: some beats may fail. */
const BEATS = 4;

/** A node stops serving so long before others may have its homes. */
const MARGIN_MS = 1000;

/** When a beat has failed, the next one does not wait for its turn. */
const RETRY_MS = 500;

/** What a node may do by its lease. */
export type LeaseState =
  /** It serves. */
  | "valid"
  /** Its clocks disagree: it refuses what is asked of it until a beat was answered. */
  | "doubtful"
  /** Others may have its homes: it closes the connections of all clients. */
  | "over";

/**
 * Decides when a node may serve (the other half is Redis, which gives nobody a home of a living node).
 *
 * It has no clock and no timer: it gets the time, and is asked at each event, since a process that was
 * frozen runs its timers late. The lease is counted from before its beat was sent; Redis counts from when
 * it arrived, which is later.
 */
export class Lease {
  readonly #leaseMs: number;
  #sent: Instant | undefined;
  #next = -Infinity;

  constructor(leaseMs: number = LEASE_MS) {
    this.#leaseMs = leaseMs;
  }

  /**
   * Notes that a beat was answered, and renewed the lease.
   *
   * @param sent the moment before it was sent
   */
  renewed(sent: Instant): void {
    this.#sent = sent;
    this.#next = sent.steady + this.#leaseMs / BEATS;
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
    const limit = this.#leaseMs - MARGIN_MS;
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
    const end = this.#sent.steady + this.#leaseMs - MARGIN_MS;
    return Math.max(0, end - steady);
  }
}
