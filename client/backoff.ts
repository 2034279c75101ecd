/** How the time between attempts grows. */
export interface BackoffLimits {
  /** Milliseconds before the first attempt; each further one waits twice as long. */
  readonly first: number;
  /** Milliseconds before any attempt at most. */
  readonly most: number;
  /** Spreads each wait by up to this part of itself, 0 to 1. */
  readonly jitter: number;
}

/** Milliseconds between attempts to come back, doubling, each ± `jitter` of itself (spec §9). */
export const BACKOFF = { first: 500, most: 30_000, jitter: 0.5 } as const;

/**
 * How long to wait before the next attempt, in milliseconds (spec §9).
 *
 * @param attempt how many have failed before, from 0
 * @param random from 0 to 1; spreads clients that failed together
 */
export function backoff(
  attempt: number,
  random: number,
  { first, most, jitter }: BackoffLimits = BACKOFF,
): number {
  const delay = Math.min(first * 2 ** attempt, most);
  return Math.round(delay * (1 + jitter * (2 * random - 1)));
}

/** One attempt at a time, each after a longer wait than the one before. */
export class Retry {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempts = 0;

  /** Does the work after the next wait. */
  later(work: () => void): void {
    this.#timer = setTimeout(work, backoff(this.#attempts++, Math.random()));
  }

  /** Forgets the attempts so far, and the one that waits. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#attempts = 0;
  }
}
