import { invalidParams } from "../tools/result.ts";
import type { Weight } from "../../shared/json/values.ts";

/** What a page may weigh, but for its first item: what it takes to send it no other request notices. */
const MAX_PAGE: Weight = { values: 40_000, letters: 1_500_000 };

/** A page of a list, in the fields of MCP. */
interface Page<T> {
  readonly items: T[];
  /** Where the next page begins; absent where this one is the last. */
  readonly next: { readonly nextCursor?: string };
}

/**
 * Cuts a page out of a list: all of it, unless it weighs too much for one message.
 *
 * @param cursor of the request: the `nextCursor` of the page before
 * @param weightOf what an item weighs
 * @throws {ProtocolError} the cursor is invalid
 */
export function cutPage<T>(
  list: readonly T[],
  cursor: string | undefined,
  weightOf: (item: T) => Weight,
): Page<T> {
  // Of the list as it is now: when it changes, clients are notified, and begin again.
  const start = cursor === undefined ? 0 : Number(cursor);
  if (cursor !== undefined && !/^[1-9]\d{0,8}$/.test(cursor)) {
    throw invalidParams(
      `Invalid cursor: expected the nextCursor of the page before, got ${
        JSON.stringify(cursor.slice(0, 40))
      }`,
    );
  }
  const page: Weight = { values: 0, letters: 0 };
  let end = start;
  for (; end < list.length; end++) {
    const { values, letters } = weightOf(list[end] as T);
    page.values += values;
    page.letters += letters;
    const isFull = page.values > MAX_PAGE.values ||
      page.letters > MAX_PAGE.letters;
    if (isFull && end > start) break;
  }
  return {
    items: list.slice(start, end),
    next: end < list.length ? { nextCursor: String(end) } : {},
  };
}
