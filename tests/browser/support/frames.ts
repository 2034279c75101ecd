import { assert } from "@std/assert";
import type { Page } from "playwright-core";

/** How long a page may be without a frame, in milliseconds on the CPU. */
const MAX_FRAME_MS = 100;

/** How often a page may show that it is not the page that is slow. */
const ATTEMPTS = 3;

/** A mark by which a trace tells which process is the page's. */
const MARK = "the traced page";

/** What the page's own thread did while it was traced. */
interface Traced {
  /** Tasks of the thread; each frame is made in one. */
  readonly tasks: number;
  /** Milliseconds on the CPU of its longest task. */
  readonly longestMs: number;
  /** Milliseconds of its longest task by the clock, in which others may have had the CPU. */
  readonly longestWallMs: number;
}

/** An event of a trace; times are in microseconds. */
interface TraceEvent {
  readonly name: string;
  readonly ph: string;
  readonly tid: number;
  readonly pid: number;
  readonly dur?: number;
  readonly tdur?: number;
}

/**
 * Asserts that a page can always make its next frame soon while something happens.
 *
 * What its own code costs is there each time, and what a busy machine adds is not: of some attempts the
 * best counts.
 *
 * @param happens can be repeated
 */
export async function assertResponsive(
  page: Page,
  happens: () => Promise<unknown>,
): Promise<void> {
  const attempts: Traced[] = [];
  do attempts.push(await traceFrames(page, happens)); while (
    attempts.every(({ longestMs }) => longestMs >= MAX_FRAME_MS) &&
    attempts.length < ATTEMPTS
  );
  const isResponsive = attempts.some(({ tasks, longestMs }) =>
    tasks > 0 && longestMs < MAX_FRAME_MS
  );
  assert(isResponsive, JSON.stringify(attempts));
}

/**
 * Traces the thread of a page while something happens.
 *
 * A task keeps the page from making its next frame for as long as it runs. What counts is its time on
 * the CPU: by the clock, a machine whose processors are busy elsewhere makes every task long.
 */
async function traceFrames(
  page: Page,
  happens: () => Promise<unknown>,
): Promise<Traced> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("The page has no browser");
  await browser.startTracing(page, {
    categories: ["toplevel", "blink.user_timing"],
  });
  await page.evaluate(`performance.mark(${JSON.stringify(MARK)})`);
  await happens();
  const text = new TextDecoder().decode(await browser.stopTracing());
  const { traceEvents: events }: { traceEvents: TraceEvent[] } = JSON.parse(
    text,
  );
  const marked = events.find(({ name }) => name === MARK);
  if (marked === undefined) throw new Error("The trace has not the page");
  const tasks = events.filter(({ name, ph, pid, tid }) =>
    name === "ThreadControllerImpl::RunTask" && ph === "X" &&
    pid === marked.pid && tid === marked.tid
  );
  const longest = (of: "dur" | "tdur") =>
    tasks.reduce((most, task) => Math.max(most, task[of] ?? 0), 0) / 1000;
  return {
    tasks: tasks.length,
    longestMs: longest("tdur"),
    longestWallMs: longest("dur"),
  };
}
