/**
 * Why bytes could not be fetched from a Computer, or a file not be put there.
 *
 * - `unsupported`: the Server or the Computer does not know how, or gives no answer at all
 * - `changed`: the bytes are not the announced ones, or change during each attempt
 * - `invalid`: an answer breaks the protocol
 * - `too_large`: more than {@linkcode SmcpAgent.callTool} puts back into a result
 */
export type BlobErrorCode = "unsupported" | "changed" | "invalid" | "too_large";

/** Bytes could not be fetched from a Computer, or a file not be put there. */
export class BlobError extends Error {
  /** Always `"BlobError"`. */
  override readonly name = "BlobError";
  /** The kind of failure. */
  readonly code: BlobErrorCode;

  /** Creates an error from its kind and a message for people. */
  constructor(code: BlobErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
