/** The shortest time that is added for good, in ms: the wall clock has whole ones. */
const STEP_MS = 100;

/**
 * A clock for what must end: it adds the larger of what the monotonic and the wall clock show to have passed.
 * One of them may stand still while the machine sleeps, and the other may be set back.
 *
 * They are compared over at least 100 ms: with each reading, it would go faster the more often it is read.
 */
export class SteadyClock {
  readonly #wall: () => number;
  readonly #monotonic: () => number;
  #now: number;
  #lastWall: number;
  /** Since when both are compared. */
  #since: {
    readonly wall: number;
    readonly monotonic: number;
    readonly now: number;
  };

  /** @param wall and monotonic: for tests */
  constructor(
    wall: () => number = Date.now,
    monotonic: () => number = () => performance.now(),
  ) {
    this.#wall = wall;
    this.#monotonic = monotonic;
    this.#now = this.#lastWall = wall();
    this.#since = { wall: this.#now, monotonic: monotonic(), now: this.#now };
  }

  /** Milliseconds since 1970; never less than before. */
  readonly now = (): number => {
    const wall = this.#wall();
    const monotonic = this.#monotonic();
    const since = this.#since;
    const passed = Math.max(wall - since.wall, monotonic - since.monotonic);
    const now = this.#now = Math.max(this.#now, since.now + passed);
    const isSetBack = wall < this.#lastWall;
    this.#lastWall = wall;
    if (passed >= STEP_MS || isSetBack) this.#since = { wall, monotonic, now };
    return now;
  };
}
