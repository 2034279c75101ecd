import type { ProtocolVersionError } from "../protocol/connect_error.ts";
import type { ProtocolError } from "../protocol/errors/protocol_error.ts";
import type { ConnectionError } from "./errors/errors.ts";
import type { Receiver } from "./receive.ts";

/** How long leaving the office may take when closing, and again closing the connection. */
export const CLOSE_TIMEOUT_MS = 3_000;

/** The way to a Server, over which a client connects again after each loss: a socket, or none in its process. */
export interface Wire {
  /** Whether there is a connection right now. */
  readonly isOpen: boolean;
  /** Whether it tries again by itself after an attempt that failed. */
  readonly isRetrying: boolean;
  /** Begins to connect, for the first time or again; never calls back synchronously. */
  connect(): void;
  /** Sends an event; only while it is open. */
  send(event: string, payload: object): void;
  /**
   * Sends a request; only while it is open.
   *
   * @param settled called once with the arguments of the ack, or with `undefined` when the time is up or
   *   the connection lost
   */
  ask(
    event: string,
    payload: object,
    timeoutMs: number,
    settled: (args: unknown[] | undefined) => void,
  ): void;
  /** Finds out why an attempt failed. */
  explain(cause: unknown): Promise<Refusal>;
  /** Lets the current attempt be the last one, unless `connect` is called. */
  stopRetrying(): void;
  /** Closes the connection, until `connect` is called. */
  pause(): void;
  /** Closes the connection permanently; requests that wait are settled. */
  close(): void;
  /** Resolves when the connection is closed, immediately if there is none; limited in time. */
  whenClosed(): Promise<void>;
}

/** Callbacks of a {@linkcode Wire}. */
export interface WireListeners {
  /** Handles the Server's events. */
  readonly receiver: Receiver;
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
