import type { Page } from "playwright-core";

/** What the page's own thread did while it was traced. */
export interface Traced {
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
  readonly args?: { readonly name?: string };
}

/**
 * Traces the threads of pages while something happens, which must be of one page.
 *
 * A task keeps the page from making its next frame for as long as it runs. What counts is its time on
 * the CPU: by the clock, a machine whose processors are busy elsewhere makes every task long.
 */
export async function traceFrames(
  page: Page,
  happens: () => Promise<unknown>,
): Promise<Traced> {
  const browser = page.context().browser();
  if (browser === null) throw new Error("The page has no browser");
  await browser.startTracing(page, { categories: ["toplevel"] });
  await happens();
  const text = new TextDecoder().decode(await browser.stopTracing());
  const { traceEvents: events }: { traceEvents: TraceEvent[] } = JSON.parse(
    text,
  );
  const threads = new Set(
    events.filter(({ name, args }) =>
      name === "thread_name" && args?.name === "CrRendererMain"
    ).map(threadOf),
  );
  const tasks = events.filter((event) =>
    event.ph === "X" && event.name === "ThreadControllerImpl::RunTask" &&
    threads.has(threadOf(event))
  );
  const longest = (of: "dur" | "tdur") =>
    tasks.reduce((most, task) => Math.max(most, task[of] ?? 0), 0) / 1000;
  return {
    tasks: tasks.length,
    longestMs: longest("tdur"),
    longestWallMs: longest("dur"),
  };
}

const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
