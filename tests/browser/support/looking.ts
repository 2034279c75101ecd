import axe from "axe-core";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { DESK, PHONE, type Tab, type TabOptions } from "./driven.ts";
import { decodePng, encodePng } from "./png.ts";

/** What a page is looked at in. */
export const LOOKS = [DESK, PHONE].flatMap((size) =>
  (["light", "dark"] as const).map((scheme) => ({ size, scheme }))
);

/** A size and a colour. */
type Look = Required<Pick<TabOptions, "size" | "scheme">>;

const isWriting = Deno.env.get("SMCP_SCREENSHOTS_WRITE") === "1";
const docs = new URL("../../../docs/", import.meta.url);

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

/** Begins to look; with `SMCP_SCREENSHOTS_WRITE=1` it keeps what it sees in a folder of `docs/`. */
export function startLooking(
  { page }: Pick<Tab, "page">,
  { size, scheme }: Look,
  folder: "console" | "approvals" = "console",
): Looking {
  const findings: Record<string, string[]> = {};
  return {
    findings,
    async at(name) {
      const found = [...await seriousFindings(page), ...await tooWide(page)];
      if (found.length > 0) findings[name] = found;
      if (!isWriting) return;
      const file = `${folder}/${scheme}-${size.width}/${name}.png`;
      const picture = decodePng(await page.screenshot());
      await Deno.writeFile(new URL(file, docs), encodePng(picture));
    },
  };
}

/**
 * Asks axe-core what keeps people from using the page as it is now.
 *
 * @returns the serious and the critical findings, a line for each element
 */
export async function seriousFindings(page: Page): Promise<string[]> {
  // Of a document that is not loaded yet only a part is there.
  await page.waitForLoadState();
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
