/**
 * What both ways to a Server have in common: the interface of a {@linkcode Wire}, and the delays between
 * attempts to connect.
 *
 * @module
 */
import type { ConnectionError } from "./errors.ts";
import type {
  ProtocolError,
  ProtocolVersionError,
} from "../protocol/errors.ts";

/** How long leaving the office may take when closing, and again closing the connection. */
export const CLOSE_TIMEOUT_MS = 3_000;

/** The connection to a Server, which a client renews after each loss: a socket, or none in its process. */
export interface Wire {
  /** Whether there is a connection right now. */
  readonly isOpen: boolean;
  /** Whether it tries again by itself after an attempt that failed. */
  readonly isRetrying: boolean;
  /** Begins to connect, for the first time or again; never calls back synchronously. */
  connect(): void;
  /**
   * Sends an event; only while it is open.
   *
   * @param acked called with the arguments of the ack, if one comes
   */
  send(event: string, payload: object, acked?: Acked): void;
  /** Finds out why an attempt failed. */
  explain(cause: unknown): Promise<Refusal>;
  /** Lets the current attempt be the last one, unless `connect` is called. */
  stopRetrying(): void;
  /** Closes the connection, until `connect` is called. */
  pause(): void;
  /** Closes the connection permanently. */
  close(): void;
  /** Resolves when the connection is closed, immediately if there is none; limited in time. */
  whenClosed(): Promise<void>;
}

/** Receives the arguments of an ack. */
export type Acked = (...args: unknown[]) => void;

/** Callbacks of a {@linkcode Wire}. */
export interface WireListeners {
  /**
   * Called with each event of the Server.
   *
   * @param args the payload, then the ack callback if the Server expects an ack
   * @param isCurrent returns whether the event's session still exists: a late ack must be dropped,
   * since its id may be reused by the next session
   */
  receive(
    event: string,
    args: readonly unknown[],
    isCurrent: () => boolean,
  ): void;
  /** Called when the Server has accepted the client. */
  connected(): void;
  /**
   * Called when the connection is lost.
   *
   * @param isRetrying whether the wire connects again by itself
   */
  disconnected(reason: string, isRetrying: boolean): void;
  /** Called with what {@linkcode Wire.explain} takes when an attempt fails. */
  refused(cause: unknown): void;
  /** Called at each handshake with the maximum message size that the Server accepts, in bytes. */
  limited(maxPayload: number): void;
}

/** Why an attempt to connect failed. */
export interface Refusal {
  /** The Server's error, if there is one. */
  readonly known: ProtocolError | ProtocolVersionError | undefined;
  /** Whether another attempt is pointless. */
  readonly isFinal: boolean;
  /** Creates the error for a client that does not try again. */
  failure(): Promise<ProtocolError | ProtocolVersionError | ConnectionError>;
}

/** Limits of the delay between attempts. */
interface BackoffLimits {
  /** Milliseconds before the first attempt; doubles with each further one. */
  readonly minDelayMs: number;
  /** Maximum number of milliseconds before an attempt. */
  readonly maxDelayMs: number;
  /** Randomizes each delay by up to this fraction of it, 0 to 1. */
  readonly jitter: number;
}

/** The delays between attempts to reconnect (protocol §9). */
export const BACKOFF = {
  minDelayMs: 500,
  maxDelayMs: 30_000,
  jitter: 0.5,
} as const;

/**
 * Computes the delay before the next attempt, in milliseconds (protocol §9).
 *
 * @param attempt the number of failed attempts so far
 * @param random from 0 to 1, so that clients that failed together do not retry together
 */
export function backoff(
  attempt: number,
  random: number,
  { minDelayMs, maxDelayMs, jitter }: BackoffLimits = BACKOFF,
): number {
  const delay = Math.min(minDelayMs * 2 ** attempt, maxDelayMs);
  return Math.round(delay * (1 + jitter * (2 * random - 1)));
}

/** Schedules one attempt at a time, each after a longer delay than the last. */
export class Retry {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempts = 0;

  /** Whether an attempt is scheduled. */
  get isPending(): boolean {
    return this.#timer !== undefined;
  }

  /** Runs the work after the next delay, whose milliseconds it returns. */
  later(work: () => void): number {
    const delayMs = backoff(this.#attempts++, Math.random());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      work();
    }, delayMs);
    return delayMs;
  }

  /** Resets the delay, and cancels a scheduled attempt. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#attempts = 0;
  }
}
