/** Milliseconds between two checks of the clock. */
const CHECK_INTERVAL_MS = 250;

/**
 * Measures how late timers fire: the delay that a busy event loop adds to everything.
 *
 * The runtime's own histogram (`monitorEventLoopDelay`) is wrong on Deno.
 */
export class LoopLag {
  readonly #timer: ReturnType<typeof setInterval>;
  #expected = performance.now() + CHECK_INTERVAL_MS;
  #worst = 0;

  /** Starts measuring, until it is stopped. */
  constructor() {
    this.#timer = setInterval(() => {
      this.#worst = Math.max(this.#worst, performance.now() - this.#expected);
      this.#expected = performance.now() + CHECK_INTERVAL_MS;
    }, CHECK_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Returns the longest delay in milliseconds since the last call. */
  read(): number {
    // The current check may be late already.
    const now = performance.now() - this.#expected;
    const worst = Math.max(this.#worst, now, 0);
    this.#worst = 0;
    return worst;
  }

  /** Stops measuring. */
  stop(): void {
    clearInterval(this.#timer);
  }
}
