import type { Waiting } from "../../protocol/mod.ts";
import type { ProgressClock } from "./progress_throttle.ts";

/** A program that decides in place of a person takes less: nothing is reported of it. */
const GRACE_MS = 50;

/** Reports that one call waits for a person, and that it goes on. */
export class CallWaits {
  readonly #report: (waiting: Waiting | null) => void;
  readonly #clock: Pick<ProgressClock, "after">;
  readonly #open: Waiting[] = [];
  #reported: Waiting | undefined;
  #stopTimer: (() => void) | undefined;
  #isEnded = false;

  constructor(
    report: (waiting: Waiting | null) => void,
    clock: Pick<ProgressClock, "after"> = systemClock,
  ) {
    this.#report = report;
    this.#clock = clock;
  }

  /** What the call waits for now. */
  get now(): Waiting | undefined {
    return this.#open[0];
  }

  /** Counts as waiting until the work is done. */
  async during<T>(waiting: Waiting, work: () => Promise<T>): Promise<T> {
    this.#open.push(waiting);
    this.#changed();
    try {
      return await work();
    } finally {
      this.#open.splice(this.#open.indexOf(waiting), 1);
      this.#changed();
    }
  }

  /** Reports nothing more. */
  end(): void {
    this.#isEnded = true;
    this.#stopTimer?.();
  }

  #changed(): void {
    if (this.#isEnded) return;
    if (this.now === undefined || this.now === this.#reported) this.#send();
    else this.#stopTimer ??= this.#clock.after(GRACE_MS, () => this.#send());
  }

  #send(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.now === this.#reported) return;
    this.#reported = this.now;
    this.#report(this.now ?? null);
  }
}

const systemClock: Pick<ProgressClock, "after"> = {
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
