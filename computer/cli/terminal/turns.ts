/** Runs tasks one at a time, in order. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs the work after all earlier work; its error reaches only the caller. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}
