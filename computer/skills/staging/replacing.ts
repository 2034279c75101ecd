/**
 * Keeps readers of folders apart from those who replace one: for a moment there is neither the old
 * folder nor the new one.
 */
export class Replacing {
  #begun = 0;
  #work: Promise<unknown> = Promise.resolve();

  /** Replaces a folder. */
  async write(replace: () => Promise<void>): Promise<void> {
    this.#begun++;
    const done = replace();
    this.#work = Promise.allSettled([this.#work, done]);
    await done;
  }

  /**
   * Reads in a folder: before or after a replacement, or again where one came between.
   *
   * @throws what `read` throws
   */
  async read<T>(read: () => Promise<T>): Promise<T> {
    while (true) {
      // Counted before the wait: another replacement may begin as this one ends.
      const begun = this.#begun;
      await this.#work;
      try {
        return await read();
      } catch (error) {
        if (begun === this.#begun) throw error;
      }
    }
  }
}
