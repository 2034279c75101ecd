/**
 * Calls back what waits for too long, with one timer for all.
 *
 * A request is answered long before its deadline as a rule, and a timer of its own would take longer to
 * start and to stop than most of what is done for it. The timer stays behind until {@linkcode end} or
 * {@linkcode release}, so its owner must call one of them.
 */
export class Deadlines {
  /** When each callback is due, in milliseconds of `performance.now()`. */
  readonly #waiting = new Map<() => void, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the timer ends. */
  #wakesAt = Infinity;
  #isReleased = false;

  /**
   * Calls back after a time, unless it is removed before.
   *
   * @param late must differ from all that wait
   * @param ms at most what `setTimeout` takes
   */
  add(late: () => void, ms: number): void {
    const at = performance.now() + ms;
    this.#isReleased = false;
    this.#waiting.set(late, at);
    if (at < this.#wakesAt) this.#wakeAt(at, ms);
  }

  /** Removes a callback; returns whether it still waited. */
  remove(late: () => void): boolean {
    const waited = this.#waiting.delete(late);
    if (this.#isReleased) this.release();
    return waited;
  }

  /** Calls all back that wait, and stops the timer. */
  end(): void {
    const all = [...this.#waiting.keys()];
    this.#waiting.clear();
    this.#stop();
    for (const late of all) late();
  }

  /** Stops the timer as soon as nothing waits, until the next `add`. */
  release(): void {
    this.#isReleased = true;
    if (this.#waiting.size === 0) this.#stop();
  }

  #wakeAt(at: number, ms: number): void {
    clearTimeout(this.#timer);
    this.#wakesAt = at;
    this.#timer = setTimeout(() => this.#wake(), ms);
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#wakesAt = Infinity;
  }

  #wake(): void {
    this.#wakesAt = Infinity;
    const now = performance.now();
    const due: [late: () => void, at: number][] = [];
    let next = Infinity;
    for (const entry of this.#waiting) {
      if (entry[1] <= now) due.push(entry);
      else next = Math.min(next, entry[1]);
    }
    if (next < Infinity) this.#wakeAt(next, next - now);
    due.sort((a, b) => a[1] - b[1]); // several, where the process was busy
    for (const [late] of due) if (this.#waiting.delete(late)) late();
  }
}
