/** One page of a list. */
export interface Page<T> {
  /** The items of the page. */
  readonly items: readonly T[];
  /** The cursor of the next page; absent on the last. */
  readonly nextCursor?: string | undefined;
}

/** Maximum number of pages; an endless list is a server's mistake. */
const MAX_PAGES = 1_000;

/**
 * Collects the items of all pages.
 *
 * @param what the name of the list in errors, such as `tools/list`
 * @throws {Error} when a cursor repeats, or there are too many pages
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
    if (cursor !== undefined && (seen.has(cursor) || seen.size > MAX_PAGES)) {
      throw new Error(
        `Cannot list: ${what} never ends (cursor repeated, or over ${MAX_PAGES} pages)`,
      );
    }
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined);
  return items;
}

/**
 * Collects a list of an MCP server, unvalidated.
 *
 * @param field what pages have it under
 * @param ask requests a page
 * @throws {Error} as {@linkcode allPages}, and what `ask` throws
 */
export const allItems = (
  method: string,
  field: string,
  ask: (params: { cursor?: string }) => Promise<Record<string, unknown>>,
): Promise<unknown[]> =>
  allPages(method, async (cursor) => {
    const page = await ask(cursor === undefined ? {} : { cursor });
    return {
      items: Array.isArray(page[field]) ? page[field] : [],
      nextCursor: typeof page.nextCursor === "string"
        ? page.nextCursor
        : undefined,
    };
  });
