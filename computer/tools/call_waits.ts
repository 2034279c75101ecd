/**
 * Reports that a call waits for a person: for a confirmation, or another answer.
 *
 * @module
 */
import type { Waiting } from "../../protocol/mod.ts";
import type { CallTime } from "../../shared/time/call_time.ts";

/** A program that decides in place of a person takes less: nothing is reported of it. */
const GRACE_MS = 50;

/** Reports that one call waits for a person, and that it goes on. */
export class CallWaits {
  readonly #report: (waiting: Waiting | null) => void;
  readonly #open: Waiting[] = [];
  readonly #time: CallTime;
  #reported: Waiting | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isEnded = false;

  /** @param time of the call, which stands still while a person is asked to confirm it */
  constructor(report: (waiting: Waiting | null) => void, time: CallTime) {
    this.#report = report;
    this.#time = time;
  }

  /** How long an answer after the timeout counts for the same call, repeated; 0 for not at all. */
  lateMs = 0;

  /** The reason why the call waits now. */
  get current(): Waiting | undefined {
    return this.#open[0];
  }

  /** Counts as waiting until the work is done; nothing waits for what is done at once. */
  async during<T>(waiting: Waiting, work: () => T | Promise<T>): Promise<T> {
    const result = work();
    if (!(result instanceof Promise)) return result;
    this.#open.push(waiting);
    this.#changed();
    try {
      return await result;
    } finally {
      this.#open.splice(this.#open.indexOf(waiting), 1);
      this.#changed();
    }
  }

  /** Reports nothing more. */
  end(): void {
    this.#isEnded = true;
    clearTimeout(this.#timer);
  }

  #changed(): void {
    if (this.#isEnded) return;
    const { current } = this;
    this.#time.confirms(current === "confirmation");
    if (current === undefined || current === this.#reported) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), GRACE_MS);
  }

  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { current } = this;
    if (current === this.#reported) return;
    this.#reported = current;
    this.#report(current ?? null);
  }
}
