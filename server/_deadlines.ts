/** Something that may take so long and no longer. */
export interface Deadline {
  /** When it is over, in milliseconds of `performance.now()`. */
  readonly due: number;
  /** Told once, when it is over. */
  expire(): void;
}

/**
 * Many deadlines with one timer.
 *
 * Nearly all of them are taken back long before they are due: that costs no timer, which goes on
 * to the earliest of that time and looks then what there is.
 */
export class Deadlines<T extends Deadline> {
  readonly #open = new Set<T>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #next = Infinity;

  /** How many are watched. */
  get size(): number {
    return this.#open.size;
  }

  /** Those that are watched. */
  [Symbol.iterator](): Iterator<T> {
    return this.#open.values();
  }

  /** Watches a deadline until it is over or taken back. */
  add(deadline: T, now: number): void {
    this.#open.add(deadline);
    if (deadline.due < this.#next) this.#arm(deadline.due, now);
  }

  /** Takes a deadline back. */
  remove(deadline: T): void {
    this.#open.delete(deadline);
  }

  /** Takes all of them back. */
  clear(): void {
    this.#open.clear();
    clearTimeout(this.#timer);
    this.#next = Infinity;
  }

  #arm(due: number, now: number): void {
    clearTimeout(this.#timer);
    this.#next = due;
    this.#timer = setTimeout(() => this.#expire(due), Math.round(due - now));
  }

  #expire(due: number): void {
    this.#next = Infinity;
    for (const deadline of [...this.#open]) {
      if (deadline.due > due || !this.#open.delete(deadline)) continue;
      deadline.expire();
    }
    let next = Infinity;
    for (const { due } of this.#open) next = Math.min(next, due);
    if (next < this.#next) this.#arm(next, performance.now());
  }
}
