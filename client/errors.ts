/**
 * Why a {@linkcode ConnectionError} happened:
 *
 * - `unreachable`: nothing answered at the URL, or it was not an A2C-SMCP server
 * - `proxy`: the HTTP proxy on the way to the Server failed; the message names it
 * - `tls`: the TLS handshake failed, or one side alone has TLS; the message says which side lacks what
 * - `offline`: not connected at the moment of the call
 * - `lost`: the connection ended before the answer; the request may have been executed
 * - `timeout`: no answer in time
 * - `refused`: the Server refused to let this client join or leave an office
 * - `closed`: this client was closed
 * - `too_large`: the request is larger, or nested deeper, than the Server accepts: nothing was sent; or
 *   its answer has more values than a client takes. The connection stays
 */
export type ConnectionErrorCode =
  | "unreachable"
  | "proxy"
  | "tls"
  | "offline"
  | "lost"
  | "timeout"
  | "refused"
  | "closed"
  | "too_large";

/** A failure on this side of the wire; unlike a `ProtocolError`, it is never sent. */
export class ConnectionError extends Error {
  /** Always `"ConnectionError"`. */
  override readonly name = "ConnectionError";
  /** The kind of failure. */
  readonly code: ConnectionErrorCode;

  /** Creates an error from a code and a message that says what to do. */
  constructor(
    code: ConnectionErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
  }
}

/** Returns the message of a thrown value; redacts nothing. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
