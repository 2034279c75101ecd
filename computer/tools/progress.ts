/**
 * The reports of a running call to its caller about its progress, at a limited rate.
 *
 * @module
 */
import type { ToolProgress } from "../../protocol/mod.ts";
import { MAX_PROGRESS_MESSAGE_LENGTH } from "../../protocol/payloads/tools.ts";

/** Milliseconds between two reports of one call. */
const MIN_INTERVAL_MS = 100;
/** The share of each call that reports: all of a Computer together make 100 reports a second. */
const INTERVAL_PER_CALL_MS = 10;

/**
 * Limits how often the calls of a Computer report their progress, so that tools which count quickly
 * leave room for the Computer's other events within the Server's rate.
 */
export class ProgressThrottle {
  #calls = 0;

  /**
   * Opens the throttle of one call, which must be ended: it passes on at most ten reports a second,
   * of which the last one wins.
   */
  open(report: (progress: ToolProgress) => void): CallProgress {
    this.#calls++;
    return new CallProgress(report, {
      interval: () =>
        Math.max(MIN_INTERVAL_MS, INTERVAL_PER_CALL_MS * this.#calls),
      ended: () => this.#calls--,
    });
  }
}

/** The throttle that all calls share. */
interface SharedThrottle {
  /** Returns the milliseconds between two reports. */
  readonly interval: () => number;
  /** Called when the call takes no more reports. */
  readonly ended: () => void;
}

/** The throttle of one call. */
class CallProgress {
  readonly #report: (progress: ToolProgress) => void;
  readonly #throttle: SharedThrottle;
  /** The highest progress so far. */
  #last = -Infinity;
  #reportedAt = -Infinity;
  #waiting: ToolProgress | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isEnded = false;

  constructor(
    report: (progress: ToolProgress) => void,
    throttle: SharedThrottle,
  ) {
    this.#report = report;
    this.#throttle = throttle;
  }

  /** Takes a report, now or at the next turn; one that does not increase is dropped (MCP). */
  report(progress: ToolProgress): void {
    if (this.#isEnded || !(progress.progress > this.#last)) return;
    this.#last = progress.progress;
    this.#waiting = progress;
    const next = this.#reportedAt + this.#throttle.interval();
    const wait = next - performance.now();
    if (wait <= 0) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), wait);
  }

  /**
   * Takes no more reports.
   *
   * @param flush whether to report immediately what still waits for its turn
   */
  end(flush: boolean): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (flush) this.#flush();
    clearTimeout(this.#timer);
    this.#throttle.ended();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const progress = this.#waiting;
    this.#waiting = undefined;
    if (progress === undefined) return;
    this.#reportedAt = performance.now();
    this.#report(shortened(progress));
  }
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
