/** A change of `setTimeout` until the end of the scope. */
export interface ChangedTimers extends Disposable {
  /** The delays that it applied to, in the order in which timers were armed. */
  readonly armed: number[];
  /** Fires the timers that are kept. */
  fire(): void;
}

type Delay = number | undefined;

/** @param delayOf the delay in place of the given one, or `"keep"` for a timer that the test fires */
function changeTimers(
  delayOf: (delay: Delay) => Delay | "keep",
): ChangedTimers {
  const real = globalThis.setTimeout;
  const armed: number[] = [];
  const kept: (() => void)[] = [];
  const changed = (
    run: (...args: unknown[]) => void,
    delay?: number,
    ...args: unknown[]
  ) => {
    const other = delayOf(delay);
    if (other !== delay && delay !== undefined) armed.push(delay);
    if (other !== "keep") return real(run, other, ...args);
    kept.push(() => run(...args));
    return real(() => {}, 0);
  };
  globalThis.setTimeout = Object.assign(changed, real);
  return {
    armed,
    fire: () => kept.splice(0).forEach((run) => run()),
    [Symbol.dispose]: () => void (globalThis.setTimeout = real),
  };
}

const changeThose = (delays: readonly Delay[], to: Delay | "keep") =>
  changeTimers((delay) => delays.includes(delay) ? to : delay);

/** Fires timers of exactly these delays immediately, until the end of the scope; others are not affected. */
export const hurryTimers = (...delays: number[]): ChangedTimers =>
  changeThose(delays, 0);

/** Fires timers of exactly a delay after another one, until the end of the scope. */
export const shortenTimers = (delay: number, to: number): ChangedTimers =>
  changeThose([delay], to);

/** Prevents timers of exactly these delays from ever firing, even after the end of the scope. */
export const holdTimers = (...delays: number[]): ChangedTimers =>
  changeThose(delays, 2 ** 31 - 1);

/** Keeps timers of exactly this delay from firing until the test says so. */
export const keepTimers = (delay: number): ChangedTimers =>
  changeThose([delay], "keep");

/** The same for timers of a range of delays, of which some time may have passed when they are armed. */
export const keepTimersOf = (least: number, most: number): ChangedTimers =>
  changeTimers((delay = 0) => delay >= least && delay <= most ? "keep" : delay);

/** Reports the delay of every new timer, until the end of the scope. */
export const watchTimers = (armed: (delay: Delay) => void): Disposable =>
  changeTimers((delay) => {
    armed(delay);
    return delay;
  });

/** Keeps the process running until the end of the scope: deadlines alone do not. */
export function keepsRunning(): Disposable {
  const timer = setInterval(() => {}, 60_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
