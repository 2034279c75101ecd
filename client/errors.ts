/**
 * The error of a connection, and the reason of a failed request in an error of Socket.IO, whose message
 * ("xhr poll error") hides it.
 *
 * @module
 */
import {
  ErrorCode,
  ProtocolError,
  ProtocolVersionError,
} from "../protocol/errors.ts";

/**
 * Why a {@linkcode ConnectionError} happened:
 *
 * - `unreachable`: nothing answered at the URL, or it was not an A2C-SMCP server
 * - `proxy`: the HTTP proxy before the Server failed; the message names it
 * - `tls`: the TLS handshake failed, or one side alone has TLS; the message names the side and its fault
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

  /** Creates an error from a code and a message with the remedy. */
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

/** Refusals that do not change with a retry with the same version and credentials. */
const FINAL_ERROR_CODES: readonly number[] = [
  ErrorCode.BAD_REQUEST,
  ErrorCode.UNAUTHORIZED,
  ErrorCode.FORBIDDEN,
];

/** Returns whether a refusal is final, so that a retry is pointless. */
export const isFinal = (error: unknown): boolean =>
  error instanceof ProtocolVersionError ||
  error instanceof ProtocolError && FINAL_ERROR_CODES.includes(error.code);

/** Returns the error of the system, of TLS or of the runtime below an error of either transport. */
export const systemError = (cause: unknown): unknown =>
  at(cause, "context", "statusText") ??
    at(cause, "description", "error") ??
    at(cause, "description");

/** Returns the underlying error code of the system or TLS, over either transport. */
export const codeOf = (cause: unknown): string | undefined =>
  text(at(systemError(cause), "code"));

/** Returns whether Deno lacks the permission for a request. */
export function isDenied(cause: unknown): boolean {
  const below = systemError(cause);
  return below instanceof Error && below.name === "NotCapable";
}

/**
 * Describes why a request failed, in short.
 *
 * @returns `from`: what answered instead of an A2C-SMCP server, if anything
 */
export function describeFailure(
  cause: unknown,
): { readonly text: string; readonly from?: "proxy" | "stranger" } {
  const status = Number(at(cause, "description"));
  if (status >= 502 && status <= 504) {
    const text = `HTTP ${status} from a proxy that cannot reach its Server`;
    return { text, from: "proxy" };
  }
  const message = text(at(cause, "message"));
  // Not of Engine.IO: its client has only these messages for that.
  const isUnreadable = /^(server|parse) error$/.test(message ?? "");
  if (status > 0 || isUnreadable || /^HPE_/.test(codeOf(cause) ?? "")) {
    const shown = status > 0 ? ` (HTTP ${status})` : "";
    const text = `not an A2C-SMCP server${shown}`;
    return { text, from: "stranger" };
  }
  const below = text(at(systemError(cause), "message"));
  return { text: below ?? message ?? String(cause) };
}

const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

const at = (value: unknown, ...keys: string[]): unknown =>
  keys.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null
        ? Reflect.get(inner, key)
        : undefined,
    value,
  );
