import { clearImmediate, setImmediate } from "node:timers";

/** Maximum number of packets of one connection, and of all that are behind, that are handled in one turn. */
const MAX_PACKETS_PER_TURN = 100;

/** Maximum number of queued packets. */
const MAX_QUEUED = 10_000;

/** Those with queued packets, in the order of their turns. */
const behind = new Set<PacketTurns>();
let immediate: ReturnType<typeof setImmediate> | undefined;

/** Handles packets of one connection after the other: the more are behind, the longer each has to wait. */
function turn(): void {
  immediate = undefined;
  let left = MAX_PACKETS_PER_TURN;
  for (const turns of behind) {
    if (left <= 0) break;
    behind.delete(turns);
    left -= turns.handle(left);
    if (turns.isBehind) behind.add(turns);
  }
  if (behind.size > 0) immediate ??= setImmediate(turn);
}

function schedule(turns: PacketTurns): void {
  behind.add(turns);
  immediate ??= setImmediate(turn);
}

function unschedule(turns: PacketTurns): void {
  if (!behind.delete(turns) || behind.size > 0) return;
  clearImmediate(immediate);
  immediate = undefined;
}

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
    schedule(this);
    return undefined;
  }

  /** Handles queued packets, at most so many; returns how many. */
  handle(most: number): number {
    const queue = this.#queue;
    if (queue === undefined) return 0;
    const begin = this.#next;
    const end = Math.min(begin + most, queue.length);
    for (let next = begin; next < end; next++) {
      this.#next = next + 1;
      this.#handle(queue[next]);
      if (this.#queue !== queue) return next + 1 - begin; // that packet ended the connection
    }
    if (end === queue.length) this.#clear();
    return end - begin;
  }

  /** Drops all queued packets. */
  end(): void {
    unschedule(this);
    if (this.isBehind) this.#clear();
  }

  readonly #rest = (): void => {
    this.#handled = 0;
  };

  #clear(): void {
    this.#queue = undefined;
    this.#next = 0;
    this.#hold(false);
  }
}
