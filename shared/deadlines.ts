/**
 * Time limits that survive a stall of the process, one at a time or many with one timer.
 *
 * @module
 */

import { type Placed, SwapList } from "./swap_list.ts";

/** Something that must end by a certain time. */
export interface Deadline extends Placed {
  /** When it expires, in milliseconds of `performance.now()`. */
  readonly due: number;
  /** Called once, when it expires. */
  expire(): void;
}

/** How many milliseconds late a timer is where the process did not run, or read nothing, for a while. */
const STALL_MS = 100;

/** The most milliseconds that a time limit is extended by then. */
const MAX_GRACE_MS = 1000;

/**
 * Calls back when what is waited for has not come in time. After a stall of the process that is up to a
 * second later, once it has read what came meanwhile.
 *
 * @param keepsProcess whether it keeps the process running
 * @returns a function that stops it
 */
export function limitTime(
  milliseconds: number,
  over: () => void,
  keepsProcess = true,
): () => void {
  const end = performance.now() + milliseconds;
  let timer: ReturnType<typeof setTimeout>;
  const wait = (milliseconds: number, then: () => void) => {
    timer = setTimeout(then, milliseconds);
    if (!keepsProcess) timer.unref();
  };
  wait(milliseconds, () => {
    const lateMs = Math.min(performance.now() - end, MAX_GRACE_MS);
    if (lateMs < STALL_MS) over();
    else wait(lateMs, over);
  });
  return () => clearTimeout(timer);
}

/**
 * Watches many deadlines with one timer.
 *
 * Nearly all are removed long before they are due. Removing one does not touch the timer, which fires
 * at the earliest deadline of the time when it was set, and is only then set again. So the owner must
 * call {@linkcode Deadlines.clear}, {@linkcode Deadlines.end} or {@linkcode Deadlines.release} at its end.
 *
 * By default the timer does not keep the process running: the connection does on which the work waits.
 */
export class Deadlines<T extends Deadline = Deadline> {
  readonly #open = new SwapList<T>();
  readonly #keepsProcess: boolean;
  #disarm = () => {};
  #next = Infinity;
  #isReleased = false;

  /** @param keepsProcess whether the timer keeps the process running, also after the last removal */
  constructor(keepsProcess = false) {
    this.#keepsProcess = keepsProcess;
  }

  /** Iterates over the deadlines. */
  [Symbol.iterator](): Iterator<T> {
    return this.#open.items.values();
  }

  /** Watches a deadline until it expires or is removed. */
  add(deadline: T, now: number): void {
    this.#isReleased = false;
    this.#open.add(deadline);
    if (deadline.due < this.#next) this.#arm(deadline.due, now);
  }

  /** Removes a deadline; returns whether it was watched. */
  remove(deadline: T): boolean {
    if (!this.#open.remove(deadline)) return false;
    if (this.#isReleased) this.release();
    return true;
  }

  /** Lets a deadline expire in so many milliseconds from now on, if it is watched. */
  move(deadline: T & { due: number }, milliseconds: number): void {
    if (!this.#open.has(deadline)) return;
    const now = performance.now();
    deadline.due = now + milliseconds;
    if (deadline.due < this.#next) this.#arm(deadline.due, now);
  }

  /** Removes all deadlines, and stops the timer. */
  clear(): void {
    this.#open.clear();
    this.#stop();
  }

  /** Expires all deadlines immediately, and stops the timer. */
  end(): void {
    const all = [...this];
    this.clear();
    for (const deadline of all) deadline.expire();
  }

  /** Stops the timer once no deadline is left, until the next `add`. */
  release(): void {
    this.#isReleased = true;
    if (this.#open.items.length === 0) this.#stop();
  }

  #arm(due: number, now: number): void {
    this.#disarm();
    this.#next = due;
    // The next one may be overdue already, and Node warns of negative delays.
    const delay = Math.max(0, Math.round(due - now));
    const expire = () => this.#expire(due);
    this.#disarm = limitTime(delay, expire, this.#keepsProcess);
  }

  #stop(): void {
    this.#disarm();
    this.#next = Infinity;
  }

  #expire(due: number): void {
    this.#next = Infinity;
    for (const deadline of [...this]) {
      if (deadline.due <= due && this.remove(deadline)) deadline.expire();
    }
    let next = Infinity;
    for (const { due } of this) next = Math.min(next, due);
    if (next < this.#next) this.#arm(next, performance.now());
  }
}
