/**
 * Why a {@linkcode DocumentError} happened:
 *
 * - `unsupported`: the URI's scheme has no handler, or a document names a file that it may not
 * - `unreachable`: nobody answered, or with a failure, or not in time
 * - `invalid`: what is there is not JSON, or not a document
 */
export type DocumentErrorCode = "unsupported" | "unreachable" | "invalid";

/** A document that could not be read; its message never holds the URI that it was fetched from. */
export class DocumentError extends Error {
  /** Always `"DocumentError"`. */
  override readonly name = "DocumentError";
  /** What kind of failure it is. */
  readonly code: DocumentErrorCode;

  /** Makes an error of a code and a sentence that names the problem. */
  constructor(
    code: DocumentErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
  }
}
