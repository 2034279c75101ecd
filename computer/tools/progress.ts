/**
 * What a caller gets of a running call: its progress, at a limited rate, and its waiting
 * for a person.
 *
 * @module
 */
import type { ToolProgress, Waiting } from "../../protocol/mod.ts";
import { MAX_PROGRESS_MESSAGE_LENGTH } from "../../protocol/payloads/tools.ts";

/** Milliseconds between two reports of one call. */
const MIN_INTERVAL_MS = 100;
/** The share of each call that reports: all of a Computer together make 100 reports a second. */
const INTERVAL_PER_CALL_MS = 10;

/**
 * Limits how often the calls of a Computer report their progress, so that tools which count quickly
 * leave room for the Computer's other events within the Server's rate.
 *
 * @returns opens the throttle of one call, which must be ended: it passes on at most ten reports a
 * second, of which the last one wins
 */
export function progressThrottles() {
  let calls = 0;
  return (tell: (progress: ToolProgress) => void) => {
    let last = -Infinity;
    let toldAt = -Infinity;
    let waiting: ToolProgress | undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isEnded = false;
    const flush = () => {
      clearTimeout(timer);
      timer = undefined;
      const progress = waiting;
      waiting = undefined;
      if (progress === undefined) return;
      toldAt = performance.now();
      tell(shortened(progress));
    };
    calls++;
    return {
      /** Takes a report, now or at the next turn; one that does not increase is dropped (MCP). */
      report(progress: ToolProgress): void {
        if (isEnded || !(progress.progress > last)) return;
        last = progress.progress;
        waiting = progress;
        const interval = Math.max(
          MIN_INTERVAL_MS,
          INTERVAL_PER_CALL_MS * calls,
        );
        const wait = toldAt + interval - performance.now();
        if (wait <= 0) flush();
        else timer ??= setTimeout(flush, wait);
      },
      /**
       * Takes no more reports.
       *
       * @param tellLast whether to tell at once what still waits for its turn
       */
      end(tellLast: boolean): void {
        if (isEnded) return;
        isEnded = true;
        if (tellLast) flush();
        clearTimeout(timer);
        calls--;
      },
    };
  };
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

/** A program that decides in place of a person takes less: nothing is reported of it. */
const GRACE_MS = 50;

/** What reports the waiting of one call. */
export type CallWaits = ReturnType<typeof callWaits>;

/** Reports that one call waits for a person, and that it goes on. */
export function callWaits(
  report: (waiting: Waiting | null) => void,
) {
  const open: Waiting[] = [];
  let reported: Waiting | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isEnded = false;
  const send = () => {
    clearTimeout(timer);
    timer = undefined;
    if (open[0] === reported) return;
    reported = open[0];
    report(reported ?? null);
  };
  const changed = () => {
    if (isEnded) return;
    if (open[0] === undefined || open[0] === reported) send();
    else timer ??= setTimeout(send, GRACE_MS);
  };
  return {
    /** What the call waits for now. */
    now: () => open[0],
    /** Counts as waiting until the work is done. */
    async during<T>(waiting: Waiting, work: () => Promise<T>): Promise<T> {
      open.push(waiting);
      changed();
      try {
        return await work();
      } finally {
        open.splice(open.indexOf(waiting), 1);
        changed();
      }
    },
    /** Reports nothing more. */
    end(): void {
      isEnded = true;
      clearTimeout(timer);
    },
  };
}
