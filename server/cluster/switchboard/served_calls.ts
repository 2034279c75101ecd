/** The calls that other nodes brought to Computers here, until they are answered. */
export class ServedCalls {
  readonly #forget = new Map<string, Map<number, () => void>>();

  /** Notes a call, and how it is forgotten. */
  add(node: string, id: number, forget: () => void): void {
    const calls = this.#forget.get(node) ?? new Map<number, () => void>();
    this.#forget.set(node, calls);
    calls.set(id, forget);
  }

  /** Removes a call; returns how it is forgotten, if it has no answer yet. */
  take(node: string, id: number): (() => void) | undefined {
    const calls = this.#forget.get(node);
    const forget = calls?.get(id);
    calls?.delete(id);
    if (calls?.size === 0) this.#forget.delete(node);
    return forget;
  }

  /** Forgets the calls of a node: nobody there waits any more. */
  forget(node: string): void {
    const calls = this.#forget.get(node);
    this.#forget.delete(node);
    for (const forget of calls?.values() ?? []) forget();
  }

  /** Forgets all calls. */
  clear(): void {
    for (const node of [...this.#forget.keys()]) this.forget(node);
  }
}
