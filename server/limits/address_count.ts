/** Counts open connections per address. */
export class AddressCount {
  readonly #max: number;
  readonly #open = new Map<string, number>();

  /** @param max how many may be open from one address; `Infinity` counts nothing */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Reserves a slot if one is free.
   *
   * @returns an idempotent function that releases the slot; `undefined` when none is free
   */
  take(address: string): (() => void) | undefined {
    if (this.#max === Infinity) return () => {};
    const open = this.#open.get(address) ?? 0;
    if (open >= this.#max) return undefined;
    this.#open.set(address, open + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      const left = (this.#open.get(address) ?? 0) - 1;
      // Without this, a scan from many addresses would leave millions of entries.
      if (left > 0) this.#open.set(address, left);
      else this.#open.delete(address);
    };
  }

  /** The number of addresses with open connections. */
  get size(): number {
    return this.#open.size;
  }
}
