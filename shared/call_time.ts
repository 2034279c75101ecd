/**
 * The time of a tool call: what its tool may take, and what a person may take who confirms it.
 *
 * Only one of the two passes at a time. Agent and Computer count both alike, each by its own clock, so that
 * neither ends a call that the other still waits for.
 *
 * @module
 */

/** The most seconds of a call (protocol §4). */
const MOST_SECONDS = 3600;

/** The two times of a call, in milliseconds. */
export interface CallTimes {
  /** What it may take while it waits for no confirmation. */
  readonly runMs: number;
  /** What the person may take who confirms it; 0 if that counts as running. */
  readonly confirmMs: number;
}

/** What is left of the time of a call. */
export class CallTime {
  /** Called when the other time begins to pass. */
  changed: () => void = () => {};
  readonly #now: () => number;
  readonly #limits: CallTimes;
  #runMs: number;
  #confirmMs: number;
  #since: number;
  #isConfirming = false;

  /** @param now returns milliseconds of a monotonic clock */
  constructor(
    limits: CallTimes,
    now: () => number = () => performance.now(),
  ) {
    this.#now = now;
    this.#limits = limits;
    this.#runMs = limits.runMs;
    this.#confirmMs = limits.confirmMs;
    this.#since = now();
  }

  /** Whether the time of the person passes, and not that of the tool. */
  get isConfirming(): boolean {
    return this.#isConfirming;
  }

  /** How long the time that passes was at first. */
  get limitMs(): number {
    const { runMs, confirmMs } = this.#limits;
    return this.#isConfirming ? confirmMs : runMs;
  }

  /** What is left of the time that passes. */
  get leftMs(): number {
    const left = this.#isConfirming ? this.#confirmMs : this.#runMs;
    return left - (this.#now() - this.#since);
  }

  /** What is left for a person who is asked to confirm it now. */
  get confirmLeftMs(): number {
    const counts = this.#isConfirming || this.#limits.confirmMs === 0;
    return counts ? this.leftMs : this.#confirmMs;
  }

  /** Begins now, and not when it was made. */
  begin(): void {
    this.#since = this.#now();
  }

  /** Lets the time of the person pass, or that of the tool again. */
  confirms(isConfirming: boolean): void {
    if (this.#limits.confirmMs === 0) return;
    if (isConfirming === this.#isConfirming) return;
    const { leftMs } = this;
    if (this.#isConfirming) this.#confirmMs = leftMs;
    else this.#runMs = leftMs;
    this.#isConfirming = isConfirming;
    this.#since = this.#now();
    this.changed();
  }
}

/**
 * Returns the seconds of a call's confirmation, as its request has them: both times together are at most an
 * hour, of which the tool's comes first.
 *
 * @param runSeconds the seconds that its tool may take
 */
export const confirmSeconds = (
  confirmMs: number,
  runSeconds: number,
): number =>
  Math.min(Math.ceil(confirmMs / 1000), Math.max(0, MOST_SECONDS - runSeconds));

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
