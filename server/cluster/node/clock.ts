import { type Instant, readClocks } from "../directory/lease.ts";

/** Tells the time, and calls back later. */
export interface Clock {
  /** The time by two clocks. */
  now(): Instant;
  /**
   * Calls back once.
   *
   * @returns a function that prevents it
   */
  after(milliseconds: number, callback: () => void): () => void;
}

/** The clock of this machine. */
export const systemClock: Clock = {
  now: readClocks,
  after(milliseconds, callback) {
    // Rounded up: what is due in half a millisecond is not due yet.
    const timer = setTimeout(callback, Math.ceil(milliseconds));
    return () => clearTimeout(timer);
  },
};
