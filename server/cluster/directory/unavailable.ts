import { ErrorCode, ProtocolError } from "../../../protocol/mod.ts";

/** The error for what needs the registry while Redis is away; a join tells its text. */
export class RegistryUnavailableError extends ProtocolError {
  /** Whether it may have been done nevertheless: it was sent, and not answered. */
  readonly mayBeDone: boolean;

  /**
   * @param mayBeDone whether it was sent
   * @param cause what Redis said, which clients do not hear
   */
  constructor(mayBeDone: boolean, cause?: unknown) {
    super(
      ErrorCode.INTERNAL_ERROR,
      "The registry of offices cannot be reached: try again",
      { cause, fields: { reason: "registry unavailable" } },
    );
    this.mayBeDone = mayBeDone;
  }
}
