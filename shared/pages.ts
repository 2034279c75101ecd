/** One page of a list. */
export interface Page<T> {
  /** The items of the page. */
  readonly items: readonly T[];
  /** The cursor of the next page; absent on the last. */
  readonly nextCursor?: string | undefined;
}

/** The most pages of a list. */
const MAX_PAGES = 1_000;

/** Follows the pages of a list whose end is not sure: an MCP server may give cursors without end. */
export class PagedList<T> {
  readonly #key: string;
  readonly #known = new Set<string>();
  readonly #cursors = new Set<string>();
  /** The cursor of the next page; undefined at the end. */
  cursor: string | undefined;
  /** Why the list ends, though the last page has a cursor. */
  problem: string | undefined;

  /** @param key the field that identifies an item */
  constructor(key: string) {
    this.#key = key;
  }

  /** Takes the next page; returns its items without those that came before. */
  take({ items, nextCursor }: Page<T>): T[] {
    const fresh = items.filter((item) => this.#isNew(item));
    const repeats = nextCursor !== undefined && this.#cursors.has(nextCursor) ||
      items.length > 0 && fresh.length === 0;
    // By an empty cursor some mean the end, and give the first page again.
    const isEnd = nextCursor === undefined || this.cursor === "" && repeats;
    if (!isEnd) {
      this.#cursors.add(nextCursor);
      if (repeats) this.problem = "never ends (a page or its cursor repeats)";
      else if (this.#cursors.size > MAX_PAGES) {
        this.problem = `never ends (over ${MAX_PAGES} pages)`;
      }
    }
    this.cursor = isEnd || this.problem !== undefined ? undefined : nextCursor;
    return fresh;
  }

  #isNew(item: T): boolean {
    const key: unknown = Object(item)[this.#key];
    if (typeof key !== "string") return true;
    if (this.#known.has(key)) return false;
    this.#known.add(key);
    return true;
  }
}
