/**
 * What an address may do in a minute. Failures are counted, above all wrong keys: many people are behind one
 * address, such as all of claude.ai, and their good requests must pass.
 *
 * @module
 */
import { addressGroup } from "./limits.ts";

/** Why a try has failed. */
interface Failed {
  readonly refused: string;
}

const MINUTE_MS = 60_000;

/** The most addresses that are known at a time; then the oldest is forgotten. */
const MAX_ADDRESSES = 10_000;

/** Counts by address, for a minute, which begins with the first try after the one before. */
export class Tries<Kind extends string> {
  readonly #most: Readonly<Record<Kind, number>>;
  #began = -Infinity;
  readonly #counts = new Map<string, number>();

  /** @param most what is counted, with the most of it in a minute */
  constructor(most: Readonly<Record<Kind, number>>) {
    this.#most = most;
  }

  /** Whether an address has had all of its tries. */
  isExceeded(kind: Kind, address: string): boolean {
    this.#turn();
    const count = this.#counts.get(keyOf(kind, address)) ?? 0;
    return count >= this.#most[kind];
  }

  /** Counts one. */
  count(kind: Kind, address: string): void {
    this.#turn();
    const key = keyOf(kind, address);
    const count = this.#counts.get(key) ?? 0;
    this.#counts.set(key, count + 1);
    const [oldest] = this.#counts.size > MAX_ADDRESSES
      ? this.#counts.keys()
      : [];
    if (oldest !== undefined) this.#counts.delete(oldest);
  }

  /**
   * Judges a try, which counts from the beginning until it is found good: many at once are as many in a row.
   *
   * @throws what `judge` throws; then it does not count
   */
  async judge<T extends object, F extends Failed>(
    kind: Kind,
    address: string,
    judge: () => Promise<T | F>,
  ): Promise<T | F> {
    let isRefused = false;
    this.count(kind, address);
    try {
      const verdict = await judge();
      isRefused = "refused" in verdict;
      return verdict;
    } finally {
      if (!isRefused) this.#takeBack(keyOf(kind, address));
    }
  }

  #takeBack(key: string): void {
    this.#turn();
    const count = this.#counts.get(key) ?? 0;
    if (count > 0) this.#counts.set(key, count - 1);
  }

  #turn(): void {
    const now = Date.now(); // which may be set back
    if (now >= this.#began && now < this.#began + MINUTE_MS) return;
    this.#began = now;
    this.#counts.clear();
  }
}

const keyOf = (kind: string, address: string): string =>
  `${kind} ${addressGroup(address)}`;
