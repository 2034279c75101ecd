import { ProtocolVersionError } from "../protocol/connect_error.ts";
import { ErrorCode, ProtocolError } from "../protocol/errors/protocol_error.ts";
import { ConnectionError } from "./errors.ts";
import type { ConnectionOptions, ConnectionState } from "./options.ts";
import { codeOf, describeFailure } from "./request_failure.ts";
import { tlsReason } from "./tls/tls_failure.ts";

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

/** Creates the error for a request without a connection. */
export const offline = (state: ConnectionState): ConnectionError =>
  new ConnectionError(
    "offline",
    state === "reconnecting"
      ? "Not connected: the connection is being restored"
      : "Not connected: call connect() first",
  );

/** Creates the error for a first attempt that reached no Server, or failed at TLS. */
export async function unreachable(
  { url, tls }: Pick<ConnectionOptions, "url" | "tls">,
  cause: unknown,
): Promise<ConnectionError> {
  const reason = await tlsReason(codeOf(cause), url, tls);
  if (reason !== undefined) {
    return new ConnectionError("tls", `Cannot connect to ${url}: ${reason}`, {
      cause,
    });
  }
  const { text, from } = describeFailure(cause);
  return new ConnectionError(
    "unreachable",
    `Cannot connect to ${url}: ${text}${
      from ? "" : "; is an A2C-SMCP server running there?"
    }`,
    { cause },
  );
}
