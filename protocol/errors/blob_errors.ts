import { ErrorCode, ProtocolError } from "./protocol_error.ts";

/** Why bytes cannot be read by their handle (0.4 §11); later versions may add others. */
export type BlobReason = "invalid_handle" | "forbidden" | "gone" | "range";

/** Why a Computer did not take a chunk of a file (0.4 §7.5); later versions may add others. */
export type BlobWriteReason =
  | "forbidden"
  | "invalid_declaration"
  | "too_large"
  | "busy"
  | "invalid_upload"
  | "range"
  | "integrity"
  | "io_error";

/** Creates the error of a handle whose bytes cannot be read (0.4 §7.2). */
export const blobNotAccessible = (reason: BlobReason): ProtocolError =>
  new ProtocolError(
    ErrorCode.BLOB_NOT_ACCESSIBLE,
    `Blob not accessible: ${BLOB_TEXTS[reason]}`,
    { details: { reason } },
  );

/**
 * Creates the error of a chunk that a Computer did not take (0.4 §7.5).
 *
 * @param why the problem and its fix, for people
 * @param uploadId the upload that it belongs to, once it has begun
 */
export const blobWriteFailed = (
  reason: BlobWriteReason,
  why: string,
  uploadId?: string,
): ProtocolError =>
  new ProtocolError(
    ErrorCode.BLOB_WRITE_FAILED,
    `Upload failed: ${why}`,
    {
      details: {
        reason,
        ...(uploadId !== undefined && { upload_id: uploadId }),
      },
    },
  );

const BLOB_TEXTS: Readonly<Record<BlobReason, string>> = {
  invalid_handle: "this Computer did not issue the handle",
  forbidden: "the owner no longer gives it out",
  gone:
    "the bytes are no longer there; ask for them again where the handle came from",
  range: "chunk_offset is beyond the end",
};
