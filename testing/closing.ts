/** Closes what a test started, the last first; Node 22 has no `AsyncDisposableStack`. */
export class CloseStack implements AsyncDisposable {
  readonly #items: AsyncDisposable[] = [];
  #closed = false;

  /**
   * Adds an item that is closed with the stack.
   *
   * @throws {Error} when the stack is closed already: nothing would close the item
   */
  use<T extends AsyncDisposable>(item: T): T {
    this.checkOpen();
    this.#items.push(item);
    return item;
  }

  /** @throws {Error} when the stack is closed */
  checkOpen(): void {
    if (this.#closed) throw new Error("Cannot add to an office that is closed");
  }

  /**
   * Closes every item, whatever becomes of the others.
   *
   * @throws the error of the one item that failed, or an `AggregateError` of several
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const errors: unknown[] = [];
    for (let item = this.#items.pop(); item; item = this.#items.pop()) {
      try {
        await item[Symbol.asyncDispose]();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 1) {
      throw new AggregateError(
        errors,
        `Cannot close ${errors.length} members of the office`,
      );
    }
    if (errors.length === 1) throw errors[0];
  }
}
