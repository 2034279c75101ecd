import { clearImmediate, setImmediate } from "node:timers";

/** Maximum number of packets of one connection that are handled in one turn. */
const MAX_PACKETS_PER_TURN = 100;

/** Maximum number of queued packets. */
const MAX_QUEUED = 10_000;

/**
 * Spreads many packets of one connection, such as those of one POST or one segment of frames, over
 * several turns of the event loop.
 */
export class PacketTurns {
  readonly #handle: (packet: unknown) => void;
  /** Packets handled in the current run of synchronous work. */
  #handled = 0;
  #queue: unknown[] | undefined;
  /** Index in the queue. */
  #next = 0;
  #immediate: ReturnType<typeof setImmediate> | undefined;

  readonly #hold: (held: boolean) => void;

  /**
   * @param handle called with each queued packet, in order; must not throw
   * @param hold called with whether packets are queued, on each change
   */
  constructor(
    handle: (packet: unknown) => void,
    hold: (held: boolean) => void,
  ) {
    this.#handle = handle;
    this.#hold = hold;
  }

  /** Whether packets are queued. */
  get isBehind(): boolean {
    return this.#queue !== undefined;
  }

  /** Returns whether the next packet may be handled immediately, and counts it if so. */
  take(): boolean {
    if (this.isBehind || this.#handled >= MAX_PACKETS_PER_TURN) return false;
    if (this.#handled++ === 0) queueMicrotask(this.#rest);
    return true;
  }

  /**
   * Puts a packet at the end of the queue.
   *
   * @returns why the packet is refused; `undefined` when it is not
   */
  wait(packet: unknown): string | undefined {
    if (this.#queue === undefined) this.#hold(true);
    const queue = this.#queue ??= [];
    if (queue.length - this.#next >= MAX_QUEUED) {
      return `more than ${MAX_QUEUED} packets at once`;
    }
    queue.push(packet);
    this.#immediate ??= setImmediate(this.#turn);
    return undefined;
  }

  /** Drops all queued packets. */
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
    const end = Math.min(this.#next + MAX_PACKETS_PER_TURN, queue.length);
    while (this.#next < end) {
      this.#handle(queue[this.#next++]);
      if (this.#queue !== queue) return; // that packet ended the connection
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
