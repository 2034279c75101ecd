/**
 * Decides when a person is woken because a question waits: not for one that is answered within seconds, at
 * most every 30 s, and 12 times an hour. One wake-up is for all that is open, so the latest replaces the
 * former. How a person is woken is the business of channels: `push.ts` and `notify.ts`.
 *
 * @module
 */
import { limitTime } from "../../shared/deadlines.ts";
import { log } from "../util/log.ts";
import { reasonOf } from "../util/values.ts";

/** A way to wake a person. */
export interface WakeChannel {
  /** What it is, for the log. */
  readonly name: string;
  /**
   * Wakes the person.
   *
   * @param leftMs how long an answer still counts
   * @throws {Error} when that fails, which is logged; it must be free of secrets
   */
  wake(leftMs: number): Promise<void>;
}

/** The time, for tests. */
export interface WakeClock {
  /** Returns milliseconds that never go back. */
  now(): number;
  /** Calls back later; returns what prevents that. */
  after(milliseconds: number, run: () => void): () => void;
}

/** Returns all that a person reads before the page is open: nothing of the call. */
export const wakeSentence = (computer: string): string =>
  `${computer}: a tool call waits for your answer`;

/** How a {@linkcode Waker} waits. */
export interface WakerOptions {
  /** How long a question is left to those at the Computer; default: 3 s. */
  readonly delayMs?: number;
  /** Default: that of this process, which it does not keep running. */
  readonly clock?: WakeClock;
}

/** The least time between two wake-ups. */
const PAUSE_MS = 30_000;
/** The most wake-ups in an hour. */
const MOST_AN_HOUR = 12;
const HOUR_MS = 3_600_000;
const DELAY_MS = 3_000;

const CLOCK: WakeClock = {
  now: () => performance.now(),
  after: (milliseconds, run) => limitTime(milliseconds, run, false),
};

/** A question that waits for its answer. */
interface Waiting {
  readonly since: number;
  readonly until: number;
  /** Whether a wake-up was for it. */
  isAnnounced: boolean;
}

/** Wakes the person for questions without an answer; no call waits for that, and no failure disturbs one. */
export class Waker implements Disposable {
  readonly #channels: WakeChannel[] = [];
  readonly #delayMs: number;
  readonly #clock: WakeClock;
  readonly #open = new Map<string, Waiting>();
  /** The times of the last wake-ups, the latest at the end. */
  #past: number[] = [];
  #disarm = () => {};

  constructor({ delayMs = DELAY_MS, clock = CLOCK }: WakerOptions = {}) {
    this.#delayMs = delayMs;
    this.#clock = clock;
  }

  /** Wakes by one more channel from now on. */
  use(channel: WakeChannel): void {
    this.#channels.push(channel);
  }

  /**
   * Notes a question that now waits for its answer.
   *
   * @param id any that no other open question has
   * @param leftMs how long its answer counts
   */
  asked(id: string, leftMs: number): void {
    const since = this.#clock.now();
    this.#open.set(id, {
      since,
      until: since + leftMs,
      isAnnounced: false,
    });
    this.#arm();
  }

  /** Notes that a question has ended, however that came. */
  answered(id: string): void {
    if (this.#open.delete(id)) this.#arm();
  }

  /** Ends it. */
  [Symbol.dispose](): void {
    this.#open.clear();
    this.#disarm();
  }

  /** Sets the timer for the next wake-up, if there is anything to wake for. */
  #arm(): void {
    this.#disarm();
    const due = this.#due();
    if (due === undefined) return;
    const wait = Math.max(0, due - this.#clock.now());
    this.#disarm = this.#clock.after(wait, () => this.#wake());
  }

  /** When the next wake-up is due; undefined without a question that it would still be for. */
  #due(): number | undefined {
    const earliest = Math.max(
      (this.#past.at(-1) ?? -Infinity) + PAUSE_MS,
      (this.#past.at(-MOST_AN_HOUR) ?? -Infinity) + HOUR_MS,
    );
    const times = [...this.#open.values()]
      .filter(({ isAnnounced }) => !isAnnounced)
      .map(({ since, until }) => ({
        due: Math.max(since + this.#delayMs, earliest),
        until,
      }))
      .filter(({ due, until }) => due < until)
      .map(({ due }) => due);
    return times.length === 0 ? undefined : Math.min(...times);
  }

  #wake(): void {
    const now = this.#clock.now();
    const open = [...this.#open.values()].filter(({ until }) => until > now);
    const due = this.#due();
    if (due === undefined || due > now) return this.#arm();
    this.#past = [...this.#past, now].slice(-MOST_AN_HOUR);
    for (const each of open) each.isAnnounced = true;
    const leftMs = Math.max(...open.map(({ until }) => until - now));
    for (const channel of this.#channels) void wakeBy(channel, leftMs);
    this.#arm();
  }
}

async function wakeBy(channel: WakeChannel, leftMs: number): Promise<void> {
  try {
    await channel.wake(leftMs);
  } catch (error) {
    log.warn("Waking a person by {channel} failed: {reason}", {
      channel: channel.name,
      reason: reasonOf(error),
    });
  }
}
