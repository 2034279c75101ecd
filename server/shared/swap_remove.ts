/**
 * Removes an item in O(1) by swapping in the last one (order is not preserved).
 *
 * Per-call state is kept in such lists, never in a `Map` or `Set`: those allocate a new table after
 * some deletions, and the old one points to it. Once an old table is promoted, V8 keeps every later
 * one and its contents alive until the next full collection, so each minor one would copy all calls.
 */
export function swapRemove<T>(list: T[], at: number): void {
  const last = list.pop();
  if (last !== undefined && at < list.length) list[at] = last;
}

/** Removes an item, if it is there, by linear search: the lists are short. */
export function removeItem<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) swapRemove(list, at);
}
