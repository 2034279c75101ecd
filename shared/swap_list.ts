/**
 * Lists without an order, for what comes and goes with each call.
 *
 * Such state is never in a `Map` or `Set`: those allocate a new table after some deletions, and the old one
 * points to it. Once an old table is promoted, V8 keeps every later one and its contents alive until the
 * next full collection, so each minor one would copy all calls.
 *
 * @module
 */

/** An item of a {@linkcode SwapList}. */
export interface Placed {
  /** Its index, which the list maintains. */
  place?: number;
}

/** Items in no order; each is in one list at most. */
export class SwapList<T extends Placed> {
  readonly #items: T[] = [];

  /** All of them. */
  get items(): readonly T[] {
    return this.#items;
  }

  /** Adds an item. */
  add(item: T): void {
    item.place = this.#items.push(item) - 1;
  }

  /** Whether it has an item. */
  has(item: T): boolean {
    return this.#items[item.place ?? -1] === item;
  }

  /** Removes an item, by moving the last one to its place; returns whether it was there. */
  remove(item: T): boolean {
    if (!this.has(item)) return false;
    const { place = 0 } = item;
    const last = this.#items.pop();
    if (last && last !== item) {
      this.#items[place] = last;
      last.place = place;
    }
    return true;
  }

  /** Removes all. */
  clear(): void {
    this.#items.length = 0;
  }
}

/** Removes the item at an index, if it is one, by moving the last one there. */
export function swapRemove<T>(list: T[], at: number): void {
  if (at < 0) return;
  const last = list.pop();
  if (last !== undefined && at < list.length) list[at] = last;
}
