/**
 * What a caller gets to know of a running call: its progress, at a limited rate, and its waiting
 * for a person.
 *
 * @module
 */
import type { ToolProgress, Waiting } from "../../protocol/mod.ts";
import { MAX_PROGRESS_MESSAGE_LENGTH } from "../../protocol/payloads/tools.ts";

/** What a throttle needs of the world. */
export interface ProgressClock {
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** Runs a function later; returns what prevents it. */
  after(ms: number, run: () => void): () => void;
}

/** Milliseconds between two reports of one call. */
const MIN_INTERVAL_MS = 100;
/** The share of each call that reports: all of a Computer together make 100 reports a second. */
const INTERVAL_PER_CALL_MS = 10;

/**
 * Limits how often the calls of a Computer report their progress, so that tools which count quickly
 * leave room for the Computer's other events within the Server's rate.
 */
export class ProgressThrottles {
  readonly #clock: ProgressClock;
  #open = 0;

  constructor(clock: ProgressClock = systemClock) {
    this.#clock = clock;
  }

  /** Opens the throttle of one call, which must be ended. */
  open(tell: (progress: ToolProgress) => void): ProgressThrottle {
    const clock = this.#clock;
    let last = -Infinity;
    let toldAt = -Infinity;
    let waiting: ToolProgress | undefined;
    let stopTimer: (() => void) | undefined;
    let isEnded = false;
    const flush = () => {
      stopTimer?.();
      stopTimer = undefined;
      const progress = waiting;
      waiting = undefined;
      if (progress === undefined) return;
      toldAt = clock.now();
      tell(shortened(progress));
    };
    this.#open++;
    return {
      report: (progress) => {
        if (isEnded || !(progress.progress > last)) return;
        last = progress.progress;
        waiting = progress;
        const interval = INTERVAL_PER_CALL_MS * this.#open;
        const wait = toldAt + Math.max(MIN_INTERVAL_MS, interval) - clock.now();
        if (wait <= 0) flush();
        else stopTimer ??= clock.after(wait, flush);
      },
      end: (tellLast) => {
        if (isEnded) return;
        isEnded = true;
        if (tellLast) flush();
        stopTimer?.();
        this.#open--;
      },
    };
  }
}

/** Passes on the progress of one call: at most ten reports a second, of which the last one wins. */
interface ProgressThrottle {
  /** Takes a report, now or at the next turn; one that does not increase is dropped (MCP). */
  report(progress: ToolProgress): void;
  /**
   * Takes no more reports.
   *
   * @param tellLast whether to tell at once what still waits for its turn
   */
  end(tellLast: boolean): void;
}

function shortened(progress: ToolProgress): ToolProgress {
  const { message } = progress;
  if (message === undefined || message.length <= MAX_PROGRESS_MESSAGE_LENGTH) {
    return progress;
  }
  const kept = message.slice(0, MAX_PROGRESS_MESSAGE_LENGTH - 1)
    .replace(/[\ud800-\udbff]$/, ""); // half of a character
  return { ...progress, message: `${kept}…` };
}

const systemClock: ProgressClock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

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
