/** Milliseconds between attempts to come back, doubling, each ± `jitter` of itself (spec §9). */
export const BACKOFF = { first: 500, most: 30_000, jitter: 0.5 } as const;

/**
 * How long to wait before the next attempt, in milliseconds (spec §9).
 *
 * @param attempt how many have failed before, from 0
 * @param random from 0 to 1; spreads clients that failed together
 */
export function backoff(attempt: number, random: number): number {
  const delay = Math.min(BACKOFF.first * 2 ** attempt, BACKOFF.most);
  return Math.round(delay * (1 + BACKOFF.jitter * (2 * random - 1)));
}
