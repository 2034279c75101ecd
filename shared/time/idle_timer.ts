/** The share of a time by which it may end late, so that it is rarely set again. */
const PRECISION = 1 / 8;

/**
 * Calls back when something was unused for a time.
 *
 * Uses do not touch the timer: it is set at the first end of a use, and when it fires after others it is set
 * again for the rest. So the callback may come late by an eighth of the time, and never early.
 */
export class IdleTimer {
  readonly #idle: () => void;
  readonly #idleMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isUsed = false;
  /** Whether there was a use since the timer was set. */
  #wasUsed = false;
  #unusedSince = 0;

  /** @param idle called once for each time that it was unused for so long */
  constructor(idle: () => void, idleMs: number) {
    this.#idle = idle;
    this.#idleMs = idleMs;
  }

  /** Notes that it is in use. */
  begin(): void {
    this.#isUsed = true;
    this.#wasUsed = true;
  }

  /** Notes that it is unused from now on. */
  end(): void {
    this.#isUsed = false;
    this.#unusedSince = performance.now();
    if (this.#timer === undefined) this.#set(this.#idleMs);
  }

  /** Calls back no more, until the next end of a use. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #set(milliseconds: number): void {
    this.#wasUsed = false;
    this.#timer = setTimeout(this.#look, milliseconds);
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    if (this.#isUsed) return; // its end sets the timer again
    if (!this.#wasUsed) return this.#idle();
    const passed = performance.now() - this.#unusedSince;
    const step = Math.max(1, this.#idleMs * PRECISION);
    const steps = Math.max(1, Math.ceil((this.#idleMs - passed) / step));
    this.#set(Math.min(steps * step, this.#idleMs));
  };
}
