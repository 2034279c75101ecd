import { clearImmediate, setImmediate } from "node:timers";

/** So many packets of one connection are handled before others get their turn. */
const PER_TURN = 100;

/** So many packets may wait for their turn. */
const MAX_WAITING = 10_000;

/**
 * Lets a connection that sends many packets at once, which one POST or one segment of frames can
 * hold, handle them a few at a time.
 */
export class PacketTurns {
  readonly #handle: (packet: unknown) => void;
  /** Since this piece of synchronous work began. */
  #handled = 0;
  #queue: unknown[] | undefined;
  /** Index in the queue. */
  #next = 0;
  #immediate: ReturnType<typeof setImmediate> | undefined;

  readonly #hold: (held: boolean) => void;

  /**
   * @param handle gets what waited, in its order; must not throw
   * @param hold told that packets wait, and that none does any more
   */
  constructor(
    handle: (packet: unknown) => void,
    hold: (held: boolean) => void,
  ) {
    this.#handle = handle;
    this.#hold = hold;
  }

  /** Whether packets wait. */
  get isBehind(): boolean {
    return this.#queue !== undefined;
  }

  /** Whether the next packet may be handled at once; counts it if so. */
  take(): boolean {
    if (this.isBehind || this.#handled >= PER_TURN) return false;
    if (this.#handled++ === 0) queueMicrotask(this.#rest);
    return true;
  }

  /**
   * Puts a packet at the end of the queue.
   *
   * @returns why not, if so
   */
  wait(packet: unknown): string | undefined {
    if (this.#queue === undefined) this.#hold(true);
    const queue = this.#queue ??= [];
    if (queue.length - this.#next >= MAX_WAITING) {
      return `more than ${MAX_WAITING} packets at once`;
    }
    queue.push(packet);
    this.#immediate ??= setImmediate(this.#turn);
    return undefined;
  }

  /** Drops what waits. */
  end(): void {
    if (this.#immediate !== undefined) clearImmediate(this.#immediate);
    if (this.isBehind) this.#clear();
    this.#immediate = undefined;
  }

  readonly #rest = (): void => {
    this.#handled = 0;
  };

  readonly #turn = (): void => {
    this.#immediate = undefined;
    const queue = this.#queue;
    if (queue === undefined) return;
    const end = Math.min(this.#next + PER_TURN, queue.length);
    while (this.#next < end) {
      this.#handle(queue[this.#next++]);
      if (this.#queue !== queue) return; // that packet has ended the connection
    }
    if (this.#next < queue.length) {
      this.#immediate ??= setImmediate(this.#turn);
    } else this.#clear();
  };

  #clear(): void {
    this.#queue = undefined;
    this.#next = 0;
    this.#hold(false);
  }
}
