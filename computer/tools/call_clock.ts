/**
 * The time of a call at its Computer, which ends it, and what is left of it for the person.
 *
 * @module
 */
import { CallTime, type CallTimes } from "../../shared/time/call_time.ts";

/** The time of a call that a person may have to confirm. */
export class CallClock extends CallTime {
  /** Called when the other time begins to pass. */
  changed: () => void = () => {};

  /** What is left for a person who is asked to confirm it now. */
  get confirmLeftMs(): number {
    const counts = this.isConfirming || this.limits[1] === 0;
    return counts ? this.leftMs : this.left[1];
  }

  /** Begins now, and not when it was made. */
  begin(): void {
    this.since = this.now();
  }

  /** Lets the time of the person pass, or that of the tool again. */
  override confirms(isConfirming: boolean): void {
    super.confirms(isConfirming);
    this.changed();
  }
}

/**
 * Returns the two times of a request (protocol §7); a part of no use counts as absent.
 *
 * @param timeout seconds of both together
 * @param confirmation seconds that are for the confirmation alone
 */
export function timesOf(timeout: number, confirmation: unknown): CallTimes {
  const own = Number.isInteger(confirmation) ? Number(confirmation) : 0;
  const confirmS = own > 0 && own < timeout ? own : 0;
  return { runMs: (timeout - confirmS) * 1000, confirmMs: confirmS * 1000 };
}
