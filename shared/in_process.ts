/**
 * The contract between a Server and the clients in its process, which need no socket.
 *
 * @module
 */

/** A connection that `SmcpServer.connect()` makes: an Agent or a Computer takes it in place of a URL. */
export interface InProcessConnection {
  /** The protocol version that its client speaks. */
  readonly protocol: "0.2" | "0.3" | "0.4";
  /** URL of the Server for people, or `in process` where it did not listen when this was made. */
  readonly url: string;
  /** Maximum message size in bytes that the Server accepts. */
  readonly maxPayload: number;
  /**
   * Opens it, for the first time or again.
   *
   * @throws {ProtocolError} 500 when the Server is shutting down, 401 when the identity has expired: both
   * are permanent
   */
  open(client: InProcessClient, end: ClientEnd): ServerEnd;
}

/** The client that opens a connection, as a handshake describes any other. */
export interface InProcessClient {
  /** The role that it must join with. */
  readonly role?: "agent" | "computer";
  /** Random per client instance, so that it can take its own seat over. */
  readonly instance?: string;
}

/** The direction from the Server to its client. No method may throw. */
export interface ClientEnd {
  /**
   * Handles a notification, or a request.
   *
   * @param answer sends the answer to a request; absent for a notification
   */
  receive(
    event: string,
    payload: unknown,
    answer?: (value?: unknown) => void,
  ): void;
  /**
   * Notes that the Server closed the connection; nothing follows.
   *
   * @param isFinal whether the client must not reconnect: it has another connection, or the Server is
   *   closed
   */
  closed(reason: string, isFinal: boolean): void;
}

/** The direction from a client to its Server. */
export interface ServerEnd {
  /** The id of the connection, as `list_room` shows it. */
  readonly id: string;
  /**
   * Sends an event.
   *
   * @param answered called with all arguments of the ack, unless the connection is closed before
   * @throws {TypeError} when the payload cannot be converted to JSON
   */
  send(
    event: string,
    payload: unknown,
    answered?: (args: readonly unknown[]) => void,
  ): void;
  /** Closes the connection after all that was sent has taken effect, and resolves then. */
  close(): Promise<void>;
}
