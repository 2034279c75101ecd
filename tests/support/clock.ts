/** The timers and `performance.now()` of this process, which stand still until the test moves them; until the end of the scope. */
export class TestClock implements Disposable {
  time = 0;
  readonly #timers = new Map<object, { at: number; run: () => void }>();
  readonly #set = globalThis.setTimeout;
  readonly #clear = globalThis.clearTimeout;

  constructor() {
    const set = (run: () => void, ms = 0) => {
      const timer = {};
      this.#timers.set(timer, { at: this.time + ms, run });
      return timer;
    };
    const clear = (timer: object) => void this.#timers.delete(timer);
    Object.assign(globalThis, { setTimeout: set, clearTimeout: clear });
    Object.assign(performance, { now: () => this.time });
  }

  /** How many timers are armed. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Goes to the time of the next timer up to a time, if there is one, and fires it. */
  next(until = Infinity): boolean {
    const [next] = [...this.#timers].toSorted(([, a], [, b]) => a.at - b.at);
    if (next === undefined || next[1].at > until) return false;
    this.#timers.delete(next[0]);
    this.time = next[1].at;
    next[1].run();
    return true;
  }

  /** Lets time pass. */
  pass(ms: number): void {
    const end = this.time + ms;
    while (this.next(end));
    this.time = end;
  }

  /** Lets everything run that waits for nothing but its turn. */
  settled(): Promise<void> {
    return new Promise((resolve) => this.#set(resolve, 0));
  }

  [Symbol.dispose](): void {
    const setTimeout = this.#set;
    const clearTimeout = this.#clear;
    Object.assign(globalThis, { setTimeout, clearTimeout });
    Reflect.deleteProperty(performance, "now");
  }
}
