/**
 * Why a {@linkcode ConnectionError} happened:
 *
 * - `unreachable`: nobody answered at the URL, or what answered is no A2C-SMCP server
 * - `tls`: the TLS handshake failed; the message says which side misses what
 * - `offline`: not connected at the moment of the call
 * - `lost`: the connection went away before the answer came; the request may have been carried out
 * - `timeout`: no answer in time
 * - `refused`: the Server declined to let this client join an office
 * - `closed`: this client was closed
 * - `too_large`: the request is larger, or nested deeper, than the Server takes: nothing was sent,
 *   and the connection stays
 */
export type ConnectionErrorCode =
  | "unreachable"
  | "tls"
  | "offline"
  | "lost"
  | "timeout"
  | "refused"
  | "closed"
  | "too_large";

/** A failure of this side of the wire; unlike a `ProtocolError` it never crosses it. */
export class ConnectionError extends Error {
  /** Always `"ConnectionError"`. */
  override readonly name = "ConnectionError";
  /** What kind of failure it is. */
  readonly code: ConnectionErrorCode;

  /** Makes an error of a code and a sentence that says what to do. */
  constructor(
    code: ConnectionErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
  }
}
