/** Timers that were armed with one of the delays that a test waits for. */
export interface ChangedTimers extends Disposable {
  /** Their delays in milliseconds, in the order in which they were armed. */
  readonly armed: number[];
}

/** Fires timers of exactly these delays immediately, until the end of the scope; others are not affected. */
export const hurryTimers = (...delays: number[]): ChangedTimers =>
  changeTimers(delays, 0);

/** Prevents timers of exactly these delays from ever firing, even after the end of the scope. */
export const holdTimers = (...delays: number[]): ChangedTimers =>
  changeTimers(delays, 2 ** 31 - 1);

/** Reports the delay of every new timer, until the end of the scope. */
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

/** Timers that wait for the test. */
export interface KeptTimers extends Disposable {
  /** Fires all that are armed. */
  fire(): void;
}

/** Keeps timers of exactly this delay from firing until the test says so. */
export function keepTimers(delay: number): KeptTimers {
  const real = globalThis.setTimeout;
  const kept: (() => void)[] = [];
  const keeping = (
    run: (...args: unknown[]) => void,
    given?: number,
    ...args: unknown[]
  ) => {
    if (given !== delay) return real(run, given, ...args);
    kept.push(() => run(...args));
    return real(() => {}, 0);
  };
  globalThis.setTimeout = Object.assign(keeping, real);
  return {
    fire: () => kept.splice(0).forEach((run) => run()),
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

/** Keeps the process running until the end of the scope: deadlines alone do not. */
export function keepsRunning(): Disposable {
  const timer = setInterval(() => {}, 60_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
