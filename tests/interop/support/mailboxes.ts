/** Queues of messages by name. */
export class Mailboxes {
  readonly #letters: { name: string; data: unknown }[] = [];
  readonly #waiting = new Set<() => void>();
  #closed: Error | undefined;

  /** Adds a message. */
  put(name: string, data: unknown): void {
    this.#letters.push({ name, data });
    this.#wake();
  }

  /** Returns how many messages of a name were not taken. */
  unread(name: string): number {
    return this.#letters.filter((letter) => letter.name === name).length;
  }

  /** Closes the queues; waiting readers reject with the reason. */
  close(why: Error): void {
    this.#closed = why;
    this.#wake();
  }

  /** Removes and resolves with the oldest message of a name, now or when it arrives. */
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
