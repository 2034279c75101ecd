/** One page of a list. */
export interface Page<T> {
  /** What is on it. */
  readonly items: readonly T[];
  /** Where the next page starts; absent on the last. */
  readonly nextCursor?: string | undefined;
}

/** A list that goes on and on is a server's mistake. */
const MOST_PAGES = 1_000;

/**
 * Collects a list page by page.
 *
 * @param what names the list in the error, such as `tools/list`
 * @throws {Error} when the pages run in a circle or never end
 */
export async function allPages<T>(
  what: string,
  fetchPage: (cursor: string | undefined) => Promise<Page<T>>,
): Promise<T[]> {
  const items: T[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await fetchPage(cursor);
    for (const item of page.items) items.push(item);
    cursor = page.nextCursor;
    if (cursor !== undefined && (seen.has(cursor) || seen.size > MOST_PAGES)) {
      throw new Error(
        `Cannot list: ${what} never ends (cursor repeated, or over ${MOST_PAGES} pages)`,
      );
    }
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined);
  return items;
}
