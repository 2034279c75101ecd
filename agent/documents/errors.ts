/**
 * The cause of a {@linkcode DocumentError}:
 *
 * - `unsupported`: the URI's scheme has no handler, or a remote document refers to a local file
 * - `unreachable`: no answer, a failure, or a timeout
 * - `invalid`: the content is not JSON, or not a document
 */
export type DocumentErrorCode = "unsupported" | "unreachable" | "invalid";

/** Thrown when a document cannot be read; its message never contains the URI it was fetched from. */
export class DocumentError extends Error {
  /** Always `"DocumentError"`. */
  override readonly name = "DocumentError";
  /** The kind of failure. */
  readonly code: DocumentErrorCode;

  /**
   * Creates an error.
   *
   * @param message one sentence that names the problem
   */
  constructor(
    code: DocumentErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
  }
}
