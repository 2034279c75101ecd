/** Milliseconds between two looks at the clock. */
const INTERVAL = 250;

/**
 * How late timers are: what a busy event loop costs everybody.
 *
 * The runtime's own histogram, which `prom-client` reads, is wrong on Deno.
 */
export class LoopLag {
  readonly #timer: ReturnType<typeof setInterval>;
  #expected = performance.now() + INTERVAL;
  #worst = 0;

  /** Starts to watch, until it is stopped. */
  constructor() {
    this.#timer = setInterval(() => {
      this.#worst = Math.max(this.#worst, performance.now() - this.#expected);
      this.#expected = performance.now() + INTERVAL;
    }, INTERVAL);
    this.#timer.unref();
  }

  /** Seconds that a timer was late at worst since this was last asked. */
  read(): number {
    // A loop that is blocked right now is late already.
    const now = performance.now() - this.#expected;
    const worst = Math.max(this.#worst, now, 0) / 1000;
    this.#worst = 0;
    return worst;
  }

  /** Watches no more. */
  stop(): void {
    clearInterval(this.#timer);
  }
}
