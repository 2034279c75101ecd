import { ProtocolVersionError } from "../connect_error.ts";
import { ErrorCode, ProtocolError } from "../errors.ts";
import { ConnectionError } from "./errors.ts";
import type { ConnectionState } from "./options.ts";

/** Refusals that another attempt with the same version and credentials can not change. */
const FINAL: readonly number[] = [
  ErrorCode.BAD_REQUEST,
  ErrorCode.UNAUTHORIZED,
  ErrorCode.FORBIDDEN,
];

/** Tells whether a refusal is for good: trying again would be answered the same. */
export const isFinal = (error: unknown): boolean =>
  error instanceof ProtocolVersionError ||
  error instanceof ProtocolError && FINAL.includes(error.code);

/** What a request fails with where there is no connection. */
export const offline = (state: ConnectionState): ConnectionError =>
  new ConnectionError(
    "offline",
    state === "reconnecting"
      ? "Not connected: the connection is being restored"
      : "Not connected: call connect() first",
  );

/** What the first attempt fails with when nobody answers. */
export const unreachable = (url: string, cause: unknown): ConnectionError =>
  new ConnectionError(
    "unreachable",
    `Cannot connect to ${url}: ${
      reasonOf(cause)
    }; is an A2C-SMCP server running there?`,
    { cause },
  );

/** What an error says, whatever was thrown. */
export const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
