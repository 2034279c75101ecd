/**
 * Work with an end: aborting, time limits, bounded concurrency and rates, order, and coalescing.
 *
 * @module
 */
/** The longest delay that `setTimeout` takes, about 24 days; a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** How {@linkcode withDeadline} ends work early. */
interface DeadlineOptions {
  /** Ends the work too, with its own reason. */
  readonly signal?: AbortSignal | undefined;
  /** Creates the reason at the deadline; default: an error that states the limit. */
  readonly error?: (() => unknown) | undefined;
}

/**
 * Calls back when a signal is aborted; at once where it is already.
 *
 * @returns stops listening
 */
export function onAbort(
  signal: AbortSignal | undefined,
  callback: () => void,
): () => void {
  if (signal?.aborted) callback();
  else signal?.addEventListener("abort", callback, { once: true });
  return () => signal?.removeEventListener("abort", callback);
}

/**
 * Settles like `work`, or rejects on abort; the outcome of `work` after that is dropped.
 *
 * @throws what `work` throws, or the signal's reason
 */
export async function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const off = onAbort(signal, () => aborted.reject(signal.reason));
  try {
    return await Promise.race([aborted.promise, work]);
  } finally {
    off();
  }
}

/**
 * Resolves after a delay.
 *
 * @throws the signal's reason, as soon as it is aborted
 */
export async function sleep(
  milliseconds: number,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  try {
    await abortable(promise, signal);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Runs `work` with a deadline, and waits until it has ended.
 *
 * @param work must react to its signal
 * @throws what `work` throws: after the deadline or an abort, the reason of its signal as a rule
 */
export async function withDeadline<T>(
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<T>,
  { signal, error = () => tookTooLong(milliseconds) }: DeadlineOptions = {},
): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(error()), milliseconds);
  try {
    return await work(
      signal ? AbortSignal.any([signal, late.signal]) : late.signal,
    );
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Runs `work` with a time limit, which may ignore its signal: its outcome after that is dropped.
 *
 * @throws what `work` throws, or the reason at the deadline or abort
 */
export const withTimeout = <T>(
  milliseconds: number,
  work: (signal: AbortSignal) => Promise<T>,
  options?: DeadlineOptions,
): Promise<T> =>
  withDeadline(
    milliseconds,
    (signal) => abortable(work(signal), signal),
    options,
  );

const tookTooLong = (milliseconds: number): Error =>
  new Error(`it took longer than ${milliseconds / 1000} s`);

/**
 * Runs `work` over items, in order and with bounded concurrency.
 *
 * @param limit how many items are worked on at a time
 * @throws the first failure; no further item is started after it
 */
export async function forEachConcurrent<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const item = items[next++] as T;
      try {
        await work(item);
      } catch (error) {
        next = items.length;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
}

/**
 * Returns a function that runs work after all earlier work has ended, and settles like it: an error
 * reaches only its own caller.
 */
export function queue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const turn = last.then(work);
    last = turn.catch(() => {});
    return turn;
  };
}

/**
 * Returns a trigger that runs `work` once at a time; all triggers while it runs are coalesced into
 * one more run, so the last state is always seen.
 *
 * @param work must handle its own errors
 */
export function coalesce(work: () => Promise<void>): () => void {
  let running = false;
  let again = false;
  const run = async () => {
    running = true;
    try {
      do {
        again = false;
        await work();
      } while (again);
    } finally {
      running = false;
    }
  };
  return () => {
    if (running) again = true;
    else void run();
  };
}

/** Lets work begin in its order, as often and as much at once as limits allow. */
export class RateQueue {
  #perSecond: number;
  #atOnce: number;
  #running = 0;
  /** How many may begin now; earned by time, and the work of one second at most. */
  #allowance: number;
  #allowedAt = performance.now();
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #waiting = new Set<() => void>();

  /**
   * @param perSecond the most that begin in a second, and how many may begin at once
   * @param atOnce the most that run at once
   */
  constructor(perSecond = Infinity, atOnce = Infinity) {
    this.#perSecond = perSecond;
    this.#atOnce = atOnce;
    this.#allowance = perSecond;
  }

  /**
   * Begins work, unless it has to wait; `end` must follow.
   *
   * @param isFirst whether no other work came before
   */
  tryBegin(isFirst: boolean = this.#waiting.size === 0): boolean {
    if (!isFirst || this.#running >= this.#atOnce) return false;
    if (this.#perSecond < Infinity) {
      this.#refill();
      if (this.#allowance < 1) return false;
      this.#allowance--;
    }
    this.#running++;
    return true;
  }

  /**
   * Waits until work may begin; `end` must follow.
   *
   * @throws the signal's reason, as soon as that is aborted
   */
  begin(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const off = onAbort(signal, () => {
        this.#waiting.delete(begin);
        this.#next();
        reject(signal.reason);
      });
      const begin = () => {
        off();
        resolve();
      };
      this.#waiting.add(begin);
      this.#next();
    });
  }

  /** Notes that work has ended. */
  end(): void {
    this.#running--;
    if (this.#waiting.size > 0) this.#next();
  }

  /**
   * Runs work in its order.
   *
   * @throws the signal's reason, as soon as that is aborted while the work waits
   */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (!this.tryBegin()) await this.begin(signal);
    try {
      return await work();
    } finally {
      this.end();
    }
  }

  /** Limits the rate from now on; the next work may begin after a time. */
  limitRate(perSecond: number, nextInMs: number): void {
    this.#refill();
    this.#perSecond = perSecond;
    const next = 1 - nextInMs * perSecond / 1000;
    this.#allowance = Math.min(this.#allowance, next);
  }

  /** Limits from now on how much runs at once. */
  limitAtOnce(most: number): void {
    this.#atOnce = most;
  }

  #refill(): void {
    const now = performance.now();
    const passedMs = now - this.#allowedAt;
    this.#allowedAt = now;
    if (this.#perSecond === Infinity) return; // times no time at all it is NaN
    const earned = passedMs * this.#perSecond / 1000;
    const most = Math.max(1, this.#perSecond);
    this.#allowance = Math.min(most, this.#allowance + earned);
  }

  /** Begins all waiting work that may begin now. */
  #next(): void {
    for (const begin of this.#waiting) {
      if (!this.tryBegin(true)) return this.#nextLater();
      this.#waiting.delete(begin);
      begin();
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #nextLater(): void {
    if (this.#running >= this.#atOnce) return; // `end` goes on
    const missing = 1 - this.#allowance;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#next();
    }, Math.ceil(missing * 1000 / this.#perSecond));
  }
}

/**
 * Limits a rate per second; after an idle second, a burst of the same number is allowed. The caller
 * provides the clock.
 */
export class TokenBucket {
  readonly #perSecond: number;
  #tokens: number;
  #filledAt: number;

  /**
   * @param perSecond at least 1; `Infinity` allows everything
   * @param now milliseconds of a monotonic clock
   */
  constructor(perSecond: number, now: number) {
    this.#perSecond = perSecond;
    this.#tokens = perSecond;
    this.#filledAt = now;
  }

  /** Takes a token; returns whether there was one. */
  take(now: number): boolean {
    if (this.#perSecond === Infinity) return true;
    const earned = (now - this.#filledAt) / 1000 * this.#perSecond;
    this.#tokens = Math.min(this.#perSecond, this.#tokens + earned);
    this.#filledAt = now;
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }
}
