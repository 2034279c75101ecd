import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";

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
