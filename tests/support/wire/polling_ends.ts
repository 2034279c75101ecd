/**
 * Waits, at the end of a scope, for the timers in which the library of polling clients ends its
 * last requests; declare it before everything that has to be closed first.
 */
export const pollingEnds = (): AsyncDisposable => ({
  async [Symbol.asyncDispose]() {
    // Each starts when an answer has come over the network, which nobody else is told.
    for (let i = 0; i < 20; i++) {
      await new Promise<void>((resolve) => setTimeout(resolve, 15));
    }
  },
});
