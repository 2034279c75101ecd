/** What came, by name, until somebody takes it. */
export class Mailboxes {
  readonly #letters: { name: string; data: unknown }[] = [];
  readonly #waiting = new Set<() => void>();
  #closed: Error | undefined;

  /** Puts something in. */
  put(name: string, data: unknown): void {
    this.#letters.push({ name, data });
    this.#wake();
  }

  /** Nothing will come any more: whoever waits is told why. */
  close(why: Error): void {
    this.#closed = why;
    this.#wake();
  }

  /** Resolves with the oldest of that name, now or when it comes, and takes it out. */
  async take(name: string): Promise<unknown> {
    while (true) {
      const at = this.#letters.findIndex((letter) => letter.name === name);
      if (at !== -1) return this.#letters.splice(at, 1)[0]?.data;
      if (this.#closed) throw this.#closed;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
