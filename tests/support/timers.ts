/** Timers that were armed with one of the delays that a test waits for. */
export interface ChangedTimers extends Disposable {
  /** Their delays in milliseconds, in the order in which they were armed. */
  readonly armed: number[];
}

/** Lets timers of exactly these delays run at once, until the end of the scope; all others are left alone. */
export const hurryTimers = (...delays: number[]): ChangedTimers =>
  changeTimers(delays, 0);

/** Keeps timers of exactly these delays from ever running, even after the end of the scope. */
export const holdTimers = (...delays: number[]): ChangedTimers =>
  changeTimers(delays, 2 ** 31 - 1);

/** Tells of the delay of every timer that is armed, until the end of the scope. */
export function watchTimers(
  armed: (delay: number | undefined) => void,
): Disposable {
  const real = globalThis.setTimeout;
  const watched = (
    run: (...args: unknown[]) => void,
    delay?: number,
    ...args: unknown[]
  ) => {
    armed(delay);
    return real(run, delay, ...args);
  };
  globalThis.setTimeout = Object.assign(watched, real);
  return {
    [Symbol.dispose]() {
      globalThis.setTimeout = real;
    },
  };
}

function changeTimers(delays: readonly number[], to: number): ChangedTimers {
  const real = globalThis.setTimeout;
  const armed: number[] = [];
  const changed = (
    run: (...args: unknown[]) => void,
    delay?: number,
    ...args: unknown[]
  ) => {
    if (delay === undefined || !delays.includes(delay)) {
      return real(run, delay, ...args);
    }
    armed.push(delay);
    return real(run, to, ...args);
  };
  globalThis.setTimeout = Object.assign(changed, real);
  return {
    armed,
    [Symbol.dispose]() {
      globalThis.setTimeout = real;
    },
  };
}
