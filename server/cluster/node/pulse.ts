import { Lease, type LeaseState } from "../directory/lease.ts";
import type { Clock } from "../directory/clock.ts";

/** A failed beat waits so long for the next one. */
const RETRY_MS = 500;

/** What a {@linkcode Pulse} does. */
export interface PulseActions {
  /** Sends a beat; resolves with whether it has renewed the lease, and rejects without an answer. */
  beat(): Promise<boolean>;
  /** The lease is over. */
  over(): void;
}

/** Renews a lease in time, one beat after the other, and calls back when it is over. */
export class Pulse {
  readonly #clock: Clock;
  readonly #actions: PulseActions;
  readonly #lease: Lease;
  #isStopped = false;
  #isBeating = false;
  #isWanted = false;
  #isHurried = false;
  #notBefore = -Infinity;
  #cancel = () => {};

  /** Does nothing before {@linkcode Pulse.start}. */
  constructor(clock: Clock, leaseMs: number, actions: PulseActions) {
    this.#clock = clock;
    this.#actions = actions;
    this.#lease = new Lease(leaseMs);
  }

  /** Sends the first beat; rejects without an answer. */
  async start(): Promise<void> {
    const sent = this.#clock.now();
    if (await this.#actions.beat()) this.#lease.renewed(sent);
    this.#arm();
  }

  /** What may be done by the lease. */
  get state(): LeaseState {
    return this.#lease.state(this.#clock.now());
  }

  /** Milliseconds until the lease is over, if no beat is answered. */
  get untilOverMs(): number {
    return this.#lease.untilOver(this.#clock.now());
  }

  /** Whether the last beat was answered. */
  get isAnswered(): boolean {
    return this.#notBefore === -Infinity;
  }

  /** Sends a beat now. */
  want(): void {
    this.#isWanted = true;
    this.#notBefore = -Infinity;
    this.#arm();
  }

  /** Looks at the lease soon: what has asked must not be ended while it asks. */
  hurry(): void {
    if (this.#isHurried) return;
    this.#isHurried = true;
    queueMicrotask(() => {
      this.#isHurried = false;
      this.#tick();
    });
  }

  /** Ends the lease, and beats no more. */
  stop(): void {
    this.#isStopped = true;
    this.#cancel();
    this.#lease.end();
  }

  #arm(): void {
    this.#cancel();
    if (this.#isStopped) return;
    const now = this.#clock.now();
    const over = this.#lease.untilOver(now);
    const delay = this.#isBeating ? over : Math.min(over, this.#untilBeat(now));
    this.#cancel = this.#clock.after(Math.max(0, delay), () => this.#tick());
  }

  #untilBeat(now: ReturnType<Clock["now"]>): number {
    const due = this.#isWanted ? 0 : this.#lease.untilBeat(now);
    return Math.max(due, this.#notBefore - now.steady);
  }

  #tick(): void {
    if (this.#isStopped) return;
    const now = this.#clock.now();
    if (this.#lease.state(now) === "over") return this.#actions.over();
    if (!this.#isBeating && this.#untilBeat(now) <= 0) void this.#beat();
    this.#arm();
  }

  async #beat(): Promise<void> {
    this.#isBeating = true;
    this.#isWanted = false;
    const sent = this.#clock.now();
    try {
      if (await this.#actions.beat() && !this.#isStopped) {
        this.#lease.renewed(sent);
        this.#notBefore = -Infinity;
      }
    } catch {
      const now = this.#clock.now();
      if (!this.#isStopped) this.#lease.failed(now);
      this.#notBefore = now.steady + RETRY_MS;
    } finally {
      this.#isBeating = false;
      this.#arm();
    }
  }
}
