/** Lets one piece of work go on at a time, in the order in which they came. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  /** Does the work when its turn has come; what it throws is for the caller alone. */
  take<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }
}
