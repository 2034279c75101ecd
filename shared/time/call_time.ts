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
  /** Returns milliseconds of a monotonic clock. */
  protected readonly now: () => number;
  /** The tool's time, and that of the person. */
  protected readonly limits: readonly [number, number];
  protected readonly left: [number, number];
  protected since: number;
  /** Which of the two passes. */
  #at: 0 | 1 = 0;

  /** @param now returns milliseconds of a monotonic clock */
  constructor(
    { runMs, confirmMs }: CallTimes,
    now: () => number = () => performance.now(),
  ) {
    this.now = now;
    this.limits = [runMs, confirmMs];
    this.left = [runMs, confirmMs];
    this.since = now();
  }

  /** Whether the time of the person passes, and not that of the tool. */
  get isConfirming(): boolean {
    return this.#at > 0;
  }

  /** How long the time that passes was at first. */
  get limitMs(): number {
    return this.limits[this.#at];
  }

  /** What is left of the time that passes. */
  get leftMs(): number {
    return this.left[this.#at] - (this.now() - this.since);
  }

  /** Lets the time of the person pass, or that of the tool again. */
  confirms(isConfirming: boolean): void {
    if (this.limits[1] === 0) return;
    this.left[this.#at] = this.leftMs;
    this.#at = isConfirming ? 1 : 0;
    this.since = this.now();
  }
}

/** Returns the seconds that are left for a confirmation: both times together are at most an hour. */
export const confirmSeconds = (seconds: number, runSeconds: number): number =>
  Math.min(seconds, MOST_SECONDS - runSeconds);
