import { swapRemove } from "./swap_remove.ts";

/** Something that may take so long and no longer. */
export interface Deadline {
  /** When it is over, in milliseconds of `performance.now()`. */
  readonly due: number;
  /** Where it stands in {@linkcode Deadlines}; theirs to write. */
  place?: number;
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
  readonly #open: T[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #next = Infinity;

  /** How many are watched. */
  get size(): number {
    return this.#open.length;
  }

  /** Those that are watched. */
  [Symbol.iterator](): Iterator<T> {
    return this.#open.values();
  }

  /** Watches a deadline until it is over or taken back. */
  add(deadline: T, now: number): void {
    deadline.place = this.#open.push(deadline) - 1;
    if (deadline.due < this.#next) this.#arm(deadline.due, now);
  }

  /** Takes a deadline back; tells whether it was watched. */
  remove(deadline: T): boolean {
    const { place } = deadline;
    if (place === undefined || this.#open[place] !== deadline) return false;
    swapRemove(this.#open, place);
    const moved = this.#open[place];
    if (moved !== undefined) moved.place = place;
    return true;
  }

  /** Takes all of them back. */
  clear(): void {
    this.#open.length = 0;
    clearTimeout(this.#timer);
    this.#next = Infinity;
  }

  #arm(due: number, now: number): void {
    clearTimeout(this.#timer);
    this.#next = due;
    // The next one may be overdue already, and Node warns of negative delays.
    const delay = Math.max(0, Math.round(due - now));
    this.#timer = setTimeout(() => this.#expire(due), delay);
  }

  #expire(due: number): void {
    this.#next = Infinity;
    for (const deadline of [...this.#open]) {
      if (deadline.due <= due && this.remove(deadline)) deadline.expire();
    }
    let next = Infinity;
    for (const { due } of this.#open) next = Math.min(next, due);
    if (next < this.#next) this.#arm(next, performance.now());
  }
}
