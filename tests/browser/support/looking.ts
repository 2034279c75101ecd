import axe from "axe-core";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { assert } from "@std/assert";
import { DESK, PHONE, type Tab } from "./driven.ts";
import { decodePng, encodePng } from "./png.ts";

/** What a page is looked at in. */
export const LOOKS = [DESK, PHONE].flatMap((size) =>
  (["light", "dark"] as const).map((scheme) => ({ size, scheme }))
);

/** A size and a colour. */
type Look = typeof LOOKS[number];

const isWriting = Deno.env.get("SMCP_SCREENSHOTS_WRITE") === "1";
const folder = new URL("../../../docs/console/", import.meta.url);

/** Looks at one page after the other. */
interface Looking {
  /**
   * Looks at the page as it is now.
   *
   * @param name that of its screenshot
   */
  at(name: string): Promise<void>;
  /** The serious faults, and what makes the page wider than the window, by the names of pages. */
  readonly findings: Readonly<Record<string, readonly string[]>>;
}

/** Begins to look; with `SMCP_SCREENSHOTS_WRITE=1` it keeps what it sees in `docs/console/`. */
export function startLooking(
  { page }: Pick<Tab, "page">,
  { size, scheme }: Look,
): Looking {
  const findings: Record<string, string[]> = {};
  return {
    findings,
    async at(name) {
      const found = [...await seriousFindings(page), ...await tooWide(page)];
      if (found.length > 0) findings[name] = found;
      if (!isWriting) return;
      const file = `${scheme}-${size.width}/${name}.png`;
      const picture = decodePng(await page.screenshot());
      await Deno.writeFile(new URL(file, folder), encodePng(picture));
    },
  };
}

/**
 * Asks axe-core what keeps people from using the page as it is now.
 *
 * @returns the serious and the critical findings, a line for each element
 */
export async function seriousFindings(page: Page): Promise<string[]> {
  // Through the DevTools protocol, which the page's policy of content does not concern.
  await page.evaluate(`${axe.source}; undefined`);
  const { violations }: AxeResults = await page.evaluate(
    "axe.run(document, { resultTypes: ['violations'] })",
  );
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) =>
        `${id}: ${target.join(" ")}: ${failureSummary}`
      )
    );
}

/**
 * Lists what is wider than the window, so that the page scrolls sideways.
 *
 * What scrolls in a box of its own is none of it.
 */
export const tooWide = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth) return [];
    const wide = [...document.body.querySelectorAll("*")].filter((each) =>
      each.getBoundingClientRect().left + each.scrollWidth > root.clientWidth + 1
    );
    return [root.scrollWidth + " px", ...wide.map((each) =>
      each.tagName + "." + each.className + " " + each.textContent.slice(0, 40)
    )];
  })()`);

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
 * best counts. A slow machine has more time, as much as it takes for work like that of a page.
 *
 * @param happens can be repeated
 */
export async function assertResponsive(
  page: Page,
  happens: () => Promise<unknown>,
): Promise<void> {
  const attempts: Traced[] = [];
  const slowness = Number(await page.evaluate(SAMPLE)) / SAMPLE_MS;
  const mostMs = MAX_FRAME_MS * Math.max(1, slowness);
  do attempts.push(await traceFrames(page, happens)); while (
    attempts.every(({ longestMs }) => longestMs >= mostMs) &&
    attempts.length < ATTEMPTS
  );
  const isResponsive = attempts.some(({ tasks, longestMs }) =>
    tasks > 0 && longestMs < mostMs
  );
  assert(isResponsive, `${mostMs} ms; ${JSON.stringify(attempts)}`);
}

/** What {@linkcode SAMPLE} takes on a machine where a frame may take {@linkcode MAX_FRAME_MS}. */
const SAMPLE_MS = 40;

/** Work like that of a page: makes rows of texts and lays them out; returns the milliseconds of the fastest time. */
const SAMPLE = `(() => {
  let fastest = Infinity;
  for (let time = 0; time < 7; time++) {
    const began = performance.now();
    const list = document.createElement("div");
    for (let row = 0; row < 1_000; row++) {
      const line = document.createElement("div");
      for (let cell = 0; cell < 3; cell++) {
        const text = document.createElement("span");
        text.textContent = "row ".repeat(1 + cell) + row;
        line.append(text);
      }
      list.append(line);
    }
    document.body.append(list);
    void list.offsetHeight;
    list.remove();
    fastest = Math.min(fastest, performance.now() - began);
  }
  return fastest;
})()`;

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
