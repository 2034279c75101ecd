/** A queue, first in, first out; neither end costs more when it is long. */
export class Fifo<T> {
  #items: T[] = [];
  #head = 0;

  /** How many wait. */
  get size(): number {
    return this.#items.length - this.#head;
  }

  /** Iterates over all that wait. */
  [Symbol.iterator](): Iterator<T> {
    return this.#items.values().drop(this.#head);
  }

  /** Adds an item at the end. */
  push(item: T): void {
    this.#items.push(item);
  }

  /** Returns the item at the front, which stays. */
  peek(): T | undefined {
    return this.#items[this.#head];
  }

  /** Takes the item at the front. */
  shift(): T | undefined {
    const item = this.#items[this.#head];
    if (++this.#head < this.#items.length) {
      if (this.#head > 1024 && this.#head * 2 > this.#items.length) {
        this.#items = this.#items.slice(this.#head);
        this.#head = 0;
      }
    } else {
      this.#items = [];
      this.#head = 0;
    }
    return item;
  }

  /** Removes all. */
  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}
