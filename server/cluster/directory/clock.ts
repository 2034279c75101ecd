/** A moment by two clocks, in milliseconds. */
export interface Instant {
  /** `performance.now()`: it never jumps, but may stand still while a machine sleeps. */
  readonly steady: number;
  /** `Date.now()`: it goes on while a machine sleeps, but may be set. */
  readonly wall: number;
}

/** Reads the time, and calls back later. */
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
  now: () => ({ steady: performance.now(), wall: Date.now() }),
  after(milliseconds, callback) {
    // Rounded up: what is due in half a millisecond is not due yet.
    const timer = setTimeout(callback, Math.ceil(milliseconds));
    return () => clearTimeout(timer);
  },
};
