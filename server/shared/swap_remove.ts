/**
 * Takes an item out of a list whose order means nothing: the last one takes its place.
 *
 * What comes and goes with every call stands in such lists, never in a `Map` or `Set`. Those make
 * a new table after some deletions, to which the old one points; once one of them has become old,
 * V8 takes all that come after it for alive, and whatever was in them, until it looks at
 * everything: each collection of garbage would copy all calls.
 */
export function swapRemove<T>(list: T[], at: number): void {
  const last = list.pop();
  if (last !== undefined && at < list.length) list[at] = last;
}
