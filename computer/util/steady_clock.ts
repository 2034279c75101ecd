/**
 * A clock for what must end: each reading adds the larger of what the monotonic and the wall clock say has
 * passed. One of them may stand still while the machine sleeps, and the other may be set back.
 */
export class SteadyClock {
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  #now: number;
  #lastWall: number;
  #lastMonotonic: number;

  /** @param wall and monotonic: for tests */
  constructor(
    wall: () => number = Date.now,
    monotonic: () => number = () => performance.now(),
  ) {
    this.#wall = wall;
    this.#monotonic = monotonic;
    this.#now = this.#lastWall = wall();
    this.#lastMonotonic = monotonic();
  }

  /** Milliseconds since 1970; never less than before. */
  readonly now = (): number => {
    const wall = this.#wall();
    const monotonic = this.#monotonic();
    this.#now += Math.max(
      0,
      wall - this.#lastWall,
      monotonic - this.#lastMonotonic,
    );
    this.#lastWall = wall;
    this.#lastMonotonic = monotonic;
    return this.#now;
  };
}
