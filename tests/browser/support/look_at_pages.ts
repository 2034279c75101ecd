import { DESK, PHONE, type Tab } from "./driven.ts";
import { seriousFindings, tooWide } from "./findings.ts";
import { decodePng, encodePng } from "./png.ts";

/** What a page is looked at in. */
export const LOOKS = [DESK, PHONE].flatMap((size) =>
  (["light", "dark"] as const).map((scheme) => ({ size, scheme }))
);

/** A size and a colour. */
export type Look = typeof LOOKS[number];

const isWriting = Deno.env.get("SMCP_SCREENSHOTS_WRITE") === "1";
const folder = new URL("../../../docs/console/", import.meta.url);

/** Looks at one page after the other. */
export interface Looking {
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
