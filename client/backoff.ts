/** Limits of the delay between attempts. */
export interface BackoffLimits {
  /** Milliseconds before the first attempt; doubles with each further one. */
  readonly minDelayMs: number;
  /** Maximum number of milliseconds before an attempt. */
  readonly maxDelayMs: number;
  /** Randomizes each delay by up to this fraction of it, 0 to 1. */
  readonly jitter: number;
}

/** The delays between attempts to reconnect (spec §9). */
export const BACKOFF = {
  minDelayMs: 500,
  maxDelayMs: 30_000,
  jitter: 0.5,
} as const;

/**
 * Computes the delay before the next attempt, in milliseconds (spec §9).
 *
 * @param attempt the number of failed attempts so far
 * @param random from 0 to 1, so that clients that failed together do not retry together
 */
export function backoff(
  attempt: number,
  random: number,
  { minDelayMs, maxDelayMs, jitter }: BackoffLimits = BACKOFF,
): number {
  const delay = Math.min(minDelayMs * 2 ** attempt, maxDelayMs);
  return Math.round(delay * (1 + jitter * (2 * random - 1)));
}

/** Schedules one attempt at a time, each after a longer delay than the last. */
export class Retry {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempts = 0;

  /** Runs the work after the next delay. */
  later(work: () => void): void {
    this.#timer = setTimeout(work, backoff(this.#attempts++, Math.random()));
  }

  /** Resets the delay, and cancels a scheduled attempt. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#attempts = 0;
  }
}
