import {
  ErrorCode,
  type ErrorPayload,
  ProtocolError,
} from "../../protocol/mod.ts";
import { failure, log } from "./log.ts";

/** Converts a thrown value to the error sent to the client; only a {@linkcode ProtocolError} keeps its message. */
export function errorPayloadOf(error: unknown): ErrorPayload {
  if (error instanceof ProtocolError) return error.toPayload();
  log.error("A handler failed", failure(error));
  return new ProtocolError(ErrorCode.INTERNAL_ERROR, "Internal error")
    .toPayload();
}

/** Converts a thrown value to the error that refuses a namespace connection; the client finds it as `error.data`. */
export function toConnectError(error: unknown): Error & { data: ErrorPayload } {
  const data = errorPayloadOf(error);
  return Object.assign(new Error(data.message), { data });
}

/** The error for requests while the server drains (spec §5: shutdown counts as leaving). */
export const shuttingDown = (): ProtocolError =>
  new ProtocolError(
    ErrorCode.INTERNAL_ERROR,
    "The server is shutting down: reconnect and try again",
    { fields: { reason: "server shutting down" } },
  );

/** The error for requests to a node that may not serve now. */
export const notServing = (): ProtocolError =>
  new ProtocolError(
    ErrorCode.INTERNAL_ERROR,
    "This server has lost its cluster: reconnect and try again",
    { fields: { reason: "registry unavailable" } },
  );

/**
 * The error for refused credentials (spec §10).
 *
 * @param shown the reason, for the holder of the credentials alone; absent as a rule
 */
export const unauthorized = (
  { shown }: { readonly shown?: string } = {},
): ProtocolError =>
  new ProtocolError(
    ErrorCode.UNAUTHORIZED,
    `Authentication failed${shown === undefined ? "" : `: ${shown}`}`,
  );
