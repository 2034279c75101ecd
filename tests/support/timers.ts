/** Timers that were armed with one of the delays that a test waits for. */
export interface HurriedTimers extends Disposable {
  /** Their delays in milliseconds, in the order in which they were armed. */
  readonly armed: number[];
}

/** Lets timers of exactly these delays run at once, until the end of the scope; all others are left alone. */
export function hurryTimers(...delays: number[]): HurriedTimers {
  const real = globalThis.setTimeout;
  const armed: number[] = [];
  const hurried = (
    run: (...args: unknown[]) => void,
    delay?: number,
    ...args: unknown[]
  ) => {
    if (delay === undefined || !delays.includes(delay)) {
      return real(run, delay, ...args);
    }
    armed.push(delay);
    return real(run, 0, ...args);
  };
  globalThis.setTimeout = Object.assign(hurried, real);
  return {
    armed,
    [Symbol.dispose]() {
      globalThis.setTimeout = real;
    },
  };
}
