import { ErrorCode, ProtocolError } from "../../../protocol/mod.ts";

/** The error for what needs the directory while Redis is away; a join is answered with its text. */
export class RegistryUnavailableError extends ProtocolError {
  /** @param cause the error of Redis, which clients do not get */
  constructor(cause?: unknown) {
    super(
      ErrorCode.INTERNAL_ERROR,
      "The registry of offices cannot be reached: try again",
      { cause, fields: { reason: "registry unavailable" } },
    );
  }
}
