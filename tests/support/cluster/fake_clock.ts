import type { Clock } from "../../../server/cluster/directory.ts";

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** A clock that stands still until the test turns it. */
export class FakeClock implements Clock {
  readonly #timers = new Set<Timer>();
  #now = 0;
  /** How far the clock of the day is ahead of the steady one. */
  ahead = 0;

  now() {
    return { steady: this.#now, wall: this.#now + this.ahead };
  }

  after(milliseconds: number, callback: () => void): () => void {
    const timer = { at: this.#now + milliseconds, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** Turns the clock, and runs what is due, each at its time. */
  async turn(milliseconds: number): Promise<void> {
    const end = this.#now + milliseconds;
    for (;;) {
      await settled();
      const [next] = [...this.#timers].toSorted((a, b) => a.at - b.at);
      if (next === undefined || next.at > end) break;
      this.#now = Math.max(this.#now, next.at);
      this.#timers.delete(next);
      next.callback();
    }
    this.#now = end;
    await settled();
  }

  /** Turns the clock while the process is stopped: timers run late, with the next turn. */
  freeze(milliseconds: number): void {
    this.#now += milliseconds;
  }
}

/** Lets everything run that waits for no timer. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}
