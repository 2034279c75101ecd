import {
  ErrorCode,
  type ErrorPayload,
  ProtocolError,
} from "../../protocol/mod.ts";
import { failure, log } from "./log.ts";

/** Turns whatever was thrown into what the client hears; only a {@linkcode ProtocolError} shows its message. */
export function toAnswer(error: unknown): ErrorPayload {
  if (error instanceof ProtocolError) return error.toPayload();
  log.error("A handler failed", failure(error));
  return new ProtocolError(ErrorCode.INTERNAL_ERROR, "Internal error")
    .toPayload();
}

/** Turns whatever was thrown into what refuses a connection to a namespace; the client finds it as `error.data`. */
export function toConnectError(error: unknown): Error & { data: ErrorPayload } {
  const data = toAnswer(error);
  return Object.assign(new Error(data.message), { data });
}

/** What is refused while the server drains (spec §5: shutdown counts as leaving). */
export const shuttingDown = (): ProtocolError =>
  new ProtocolError(
    ErrorCode.INTERNAL_ERROR,
    "The server is shutting down: reconnect and try again",
    { fields: { reason: "server shutting down" } },
  );

/** Whatever was wrong, clients hear the same (spec §10). */
export const unauthorized = (): ProtocolError =>
  new ProtocolError(ErrorCode.UNAUTHORIZED, "Authentication failed");
